"""What a person sees: a live tree in a terminal, short plain lines elsewhere, questions with `--ask`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ensign.testing.replies import Reply, calls
from tests.cli.shell import Screen, ended, shell

pytestmark = pytest.mark.slow

EXPLORE = ("Agent", {"prompt": "look", "description": "look at the gate", "subagent_type": "Explore"})


@pytest.fixture
async def screen() -> AsyncIterator[Screen]:
    one = Screen()
    yield one
    one.close()


async def test_a_terminal_shows_a_tree_that_is_redrawn_in_place(tmp_path: Path, screen: Screen) -> None:
    async with shell(tmp_path, calls(EXPLORE), Reply(text="The report.")) as sh:
        sh.environment["TERM"] = "xterm"
        sh.server.route("You are a subagent", Reply(text="found", gate="child"))
        process = await sh.start("run", "x", stderr=screen.theirs)
        await screen.shows("look at the gate: thinking")
        sh.server.release("child")
        done = await ended(process)
        assert (done.code, done.out) == (0, "The report.\n")
        await screen.shows("✓ main: done · 1 call, 220 tokens")
    last = screen.text.rpartition("\x1b[J")[2].splitlines()
    assert (len(last), "Explore" in last[1], "✓" in last[1]) == (2, True, True)
    assert "\x1b[2A\x1b[J" in screen.text
    assert "\x1b[34m  ✓ Explore\x1b[0m: look at the gate" in screen.text


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("NO_COLOR", "1")])
async def test_what_a_terminal_cannot_or_should_not_show_is_left_out(
    tmp_path: Path, screen: Screen, name: str, value: str
) -> None:
    async with shell(tmp_path, calls(EXPLORE), Reply(text="ok")) as sh:
        sh.environment.update({"TERM": "xterm", name: value})
        sh.server.route("You are a subagent", Reply(text="found"))
        assert (await ended(await sh.start("run", "x", stderr=screen.theirs))).code == 0
    await screen.shows("completed" if value == "dumb" else "✓ main")
    assert ("\x1b[34m" in screen.text, "\x1b[J" in screen.text) == (False, value != "dumb")


async def test_a_long_expression_does_not_flood_the_screen(tmp_path: Path) -> None:
    async with shell(tmp_path, calls(("Grep", {"pattern": "|".join("abc" * 100)})), Reply(text="ok")) as sh:
        done = await sh.run("run", "x")
    assert [(len(line), line[:22], line[-1]) for line in done.err.splitlines()] == [
        (160, "main: searching for 'a", "…")
    ]


async def test_nothing_that_a_model_says_steers_the_terminal(tmp_path: Path, screen: Screen) -> None:
    evil = "fine \x1b]0;owned\x07\x1b[2J \u202egnp.exe"
    async with shell(tmp_path, calls(("Glob", {"pattern": evil})), Reply(text=evil)) as sh:
        process = await sh.start("run", "x", stdout=screen.theirs, stderr=screen.theirs)
        assert (await ended(process)).code == 0
        await screen.shows("fine \\x1b]0;owned\\x07\\x1b[2J \\u202egnp.exe\n")
    assert [one for one in ("\x1b]0;", "\x07", "\x1b[2J", "\u202e") if one in screen.text] == []


@pytest.mark.parametrize(("key", "code"), [("y\n", 0), ("n\n", 4), ("\n", 4), ("\x04", 4)])
async def test_ask_puts_the_whole_question_and_takes_a_key(tmp_path: Path, screen: Screen, key: str, code: int) -> None:
    write = ("Write", {"file_path": "a.txt", "content": "one\ntwo\n"})
    async with shell(tmp_path, calls(write), Reply(text="ok")) as sh:
        sh.environment["TERM"] = "xterm"
        process = await sh.start("run", "x", "--ask", stdin=screen.theirs, stderr=screen.theirs)
        await screen.shows("y = allow once")
        assert "[main agent] Create a.txt\n" in screen.text
        assert "  +one\n  +two\n" in screen.text
        screen.type(key)
        done = await ended(process)
        assert (done.code, done.out, os.path.exists(sh.root / "a.txt")) == (code, "ok\n", code == 0)  # noqa: PTH110


@pytest.mark.parametrize(
    ("line", "told"),
    [("2\n", "Which? b"), ("neither\n", "Which? neither"), ("\n", "Which? [the person did not choose]")],
)
async def test_ask_takes_a_number_or_own_words_where_an_agent_asks(
    tmp_path: Path, screen: Screen, line: str, told: str
) -> None:
    options = [{"label": "a", "description": "the first"}, {"label": "b"}]
    question = ("AskUserQuestion", {"questions": [{"question": "Which?", "options": options}]})
    async with shell(tmp_path, calls(question), Reply(text="ok")) as sh:
        process = await sh.start("run", "x", "--ask", stdin=screen.theirs, stderr=screen.theirs)
        await screen.shows("a number, or your own words")
        assert "[main agent] Which?" in screen.text
        assert "1. a: the first" in screen.text
        screen.type(line)
        assert (await ended(process)).code == 0
        assert sh.server.requests[-1].json["messages"][-1]["content"] == told


async def test_an_open_question_does_not_keep_a_run_from_being_ended(tmp_path: Path, screen: Screen) -> None:
    write = ("Write", {"file_path": "a.txt", "content": "one\n"})
    async with shell(tmp_path, calls(write)) as sh:
        process = await sh.start("run", "x", "--ask", stdin=screen.theirs, stderr=screen.theirs)
        await screen.shows("y = allow once")
        process.terminate()
        assert ((await ended(process)).code, (sh.root / "a.txt").exists()) == (130, False)


async def test_without_a_terminal_ask_is_a_denial(tmp_path: Path) -> None:
    async with shell(tmp_path, calls(("Bash", {"command": "make"})), Reply(text="ok")) as sh:
        assert (await sh.run("run", "x", "--ask")).code == 4
