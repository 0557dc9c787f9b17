"""`ensign run` as scripts and people see it: streams, exit codes, flags, background work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ensign.protocol.messages import Usage
from ensign.testing.replies import Call, Reply, calls, error
from tests.cli.shell import Done, ended, shell

pytestmark = pytest.mark.slow

WRITE = ("Write", {"file_path": "a.txt", "content": "hello\n"})
BASH = ("Bash", {"command": "echo hi > b.txt"})
CHILD = "You are a subagent"


def explore(**more: Any) -> tuple[str, dict[str, Any]]:
    return ("Agent", {"prompt": "look", "description": "look at it all", "subagent_type": "Explore", **more})


async def test_standard_output_has_the_report_and_nothing_else(tmp_path: Path) -> None:
    async with shell(
        tmp_path, calls(("Glob", {"pattern": "*"}), text="Let me look."), Reply(text="It is *there*.")
    ) as sh:
        done = await sh.run("run", "where?")
    assert done == Done(code=0, out="It is *there*.\n", err="main: looking for files *\n")


async def test_json_has_an_object_a_line_and_the_end_last(tmp_path: Path) -> None:
    async with shell(
        tmp_path,
        Reply(text="", calls=(Call(name="Agent", arguments=explore()[1]),), usage=Usage(input=7, output=3)),
        Reply(text="done", usage=Usage(input=20, output=5, cache_read=60)),
    ) as sh:
        sh.server.route(CHILD, Reply(text="found", usage=Usage(input=11, output=2)))
        done = await sh.run("run", "look", "--json")
    assert done.code == 0
    assert [line["kind"] for line in done.lines if line["kind"].startswith(("turn", "run"))] == [
        *("turn_started", "turn_started", "turn_ended", "turn_ended", "run_ended")
    ]
    last = done.last
    assert {name: last[name] for name in ("status", "report", "usage")} == {
        "status": "completed",
        "report": "done",
        "usage": {"input": 38, "output": 10, "cacheWrite": 0, "cacheRead": 60},
    }
    assert [(task["agent"], task["state"], task["envelope"]["report"]) for task in last["tasks"]] == [
        ("Explore", "completed", "found")
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "required: TASK"),
        (("",), "TASK: is blank"),
        (("x", "--agent", "Exlpore"), "--agent: no subagent named 'Exlpore'; did you mean 'Explore'?"),
        (("x", "--model", "nope/nope"), "no model 'nope/nope'"),
        (("x", "--mode", "yolo"), "invalid choice: 'yolo'"),
        (("x", "--allow", "Bash("), "--allow 'Bash('"),
        (("x", "--deny", "NoSuchTool(x)"), "--deny 'NoSuchTool(x)'"),
        (("x", "--tools", "Read,Rad"), "--tools: there is no tool 'Rad'"),
        (("x", "--max-turns", "0"), "'0' is not a whole number above 0"),
        (("x", "--max-tokens", "many"), "'many' is not a whole number above 0"),
        (("x", "--timeout", "nan"), "'nan' is not a number of seconds above 0"),
        (("x", "--cwd", "nowhere"), "'nowhere' is not a folder"),
        (("x", "--verbose"), "unrecognized arguments: --verbose"),
    ],
    ids=str,
)
async def test_wrong_use_is_2_says_what_is_wrong_and_starts_nothing(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    async with shell(tmp_path, Reply(text="never")) as sh:
        done = await sh.run("run", *arguments)
        assert (done.code, done.out, sh.server.requests) == (2, "", [])
        assert words in done.err


async def test_a_failed_run_is_1_and_says_why_once(tmp_path: Path) -> None:
    async with shell(tmp_path, error(401, {"error": {"message": "no such key"}})) as sh:
        done = await sh.run("run", "x", "--json")
    assert (done.code, done.last["status"]) == (1, "failed")
    assert done.err.count("no such key") == 1


async def test_the_limit_of_steps_gives_one_closing_report_and_3(tmp_path: Path) -> None:
    again = calls(("Glob", {"pattern": "*"}))
    async with shell(tmp_path, again, again, Reply(text="so far")) as sh:
        done = await sh.run("run", "x", "--max-turns", "2")
        assert (done.code, done.out, len(sh.server.requests)) == (3, "so far\n", 3)
        assert done.err.endswith("ensign: limit of 2 steps reached\n")


async def test_the_limit_of_tokens_gives_one_closing_report_and_3(tmp_path: Path) -> None:
    again = calls(("Glob", {"pattern": "*"}))
    async with shell(tmp_path, again, again, Reply(text="so far")) as sh:
        done = await sh.run("run", "x", "--max-tokens", "150")
        assert (done.code, done.out, len(sh.server.requests)) == (3, "so far\n", 3)
        assert done.err.endswith("ensign: limit of 150 tokens reached\n")


@pytest.mark.parametrize("agent", [(), ("--agent", "Explore")], ids=["main", "alone"])
async def test_the_limit_of_time_cuts_a_step_short_gives_one_closing_report_and_3(
    tmp_path: Path, agent: tuple[str, ...]
) -> None:
    async with shell(tmp_path, Reply(text="never", gate="never"), Reply(text="so far")) as sh:
        done = await sh.run("run", "x", "--timeout", "0.7", *agent)
        assert (done.code, done.out, len(sh.server.requests)) == (3, "so far\n", 2)
        assert done.err.endswith("ensign: limit of 0.7 seconds reached\n")


async def test_the_limit_of_time_holds_for_background_work_too(tmp_path: Path) -> None:
    launch = calls(explore(run_in_background=True))
    async with shell(tmp_path, launch, Reply(text="It works on it.")) as sh:
        sh.server.route(CHILD, Reply(text="never", gate="never"), Reply(text="half of it"))
        done = await sh.run("run", "x", "--timeout", "1", "--json")
    assert (done.code, done.last["status"], done.last["report"]) == (3, "partial", "It works on it.")
    assert [(one["state"], one["reason"], one["envelope"]["report"]) for one in done.last["tasks"]] == [
        ("partial", "limit of 1 seconds reached", "half of it")
    ]


async def test_a_run_that_ended_by_denials_is_4_and_says_what_was_not_allowed(tmp_path: Path) -> None:
    async with shell(tmp_path, calls(WRITE), Reply(text="I could not write it.")) as sh:
        done = await sh.run("run", "x", "--json")
        assert not (sh.root / "a.txt").exists()
    assert (done.code, done.last["status"]) == (4, "denied")
    assert done.err.endswith("ensign: not allowed: Write a.txt (see --allow and --mode)\n")


async def test_a_denial_that_was_made_up_for_is_not_4(tmp_path: Path) -> None:
    async with shell(tmp_path, calls(BASH), calls(WRITE), Reply(text="done another way")) as sh:
        done = await sh.run("run", "x", "--allow", "Write(./**)")
        assert (done.code, (sh.root / "a.txt").read_text()) == (0, "hello\n")


async def test_what_was_done_before_does_not_make_up_for_a_denial(tmp_path: Path) -> None:
    async with shell(tmp_path, calls(WRITE), calls(BASH), Reply(text="half done")) as sh:
        assert (await sh.run("run", "x", "--allow", "Edit(./**)")).code == 4


async def test_one_subagent_does_not_make_up_for_what_another_was_not_allowed(tmp_path: Path) -> None:
    def work(prompt: str) -> Reply:
        return calls(explore(subagent_type="general-purpose", prompt=prompt))

    async with shell(tmp_path, work("alpha"), work("beta"), Reply(text="All done!")) as sh:
        sh.server.route(
            "You are a subagent", calls(WRITE), Reply(text="no"), calls(("Bash", {"command": "ls"})), Reply(text="yes")
        )
        done = await sh.run("run", "x", "--allow", "Bash(ls:*)")
        assert (done.code, done.out) == (4, "All done!\n")


async def test_a_deny_rule_beats_an_allow_rule(tmp_path: Path) -> None:
    async with shell(tmp_path, calls(WRITE), Reply(text="no")) as sh:
        done = await sh.run("run", "x", "--mode", "bypassPermissions", "--allow", "Edit", "--deny", "Edit(./a.txt)")
        assert (done.code, (sh.root / "a.txt").exists()) == (4, False)


async def test_a_mode_is_taken(tmp_path: Path) -> None:
    async with shell(tmp_path, calls(WRITE), Reply(text="ok")) as sh:
        done = await sh.run("run", "x", "--mode", "acceptEdits")
        assert (done.code, (sh.root / "a.txt").read_text()) == (0, "hello\n")


async def test_tools_are_the_only_ones_there_are(tmp_path: Path) -> None:
    async with shell(tmp_path, Reply(text="ok")) as sh:
        assert (await sh.run("run", "x", "--tools", "Grep, Read")).code == 0
        tools = [tool["function"]["name"] for tool in sh.server.requests[0].json["tools"]]
    assert sorted(tools) == ["Grep", "Read"]


async def test_model_and_folder_are_taken(tmp_path: Path) -> None:
    async with shell(tmp_path, calls(("Read", {"file_path": "here.txt"})), Reply(text="ok")) as sh:
        folder = tmp_path / "other folder"
        folder.mkdir()
        (folder / "here.txt").write_text("found me\n")
        done = await sh.run("run", "x", "--model", "openai/another", "--cwd", "../other folder")
        assert (done.code, sh.server.requests[0].json["model"]) == (0, "another")
        assert "found me" in sh.server.requests[1].json["messages"][-1]["content"]


async def test_an_agent_runs_alone_and_its_whole_report_comes_out(tmp_path: Path) -> None:
    report = "\n".join(f"line {number} of a report that an envelope would cut" for number in range(400))
    async with shell(tmp_path, Reply(text=report)) as sh:
        done = await sh.run("run", "look", "--agent", "explore")
        assert (done.code, done.out) == (0, f"{report}\n")
        assert sh.main_requests() == []


@pytest.mark.parametrize(
    ("report", "code"),
    [
        ("fine\n\nVERDICT: PASS", 0),
        ("broken\n\nVERDICT: FAIL", 1),
        ("could not build\n\nVERDICT: PARTIAL", 3),
        ("It said `VERDICT: PASS` but it is not so.\n\n**VERDICT: FAIL**\n", 1),
        ("I looked at it.", 3),
    ],
)
async def test_a_verification_exits_by_its_verdict(tmp_path: Path, report: str, code: int) -> None:
    async with shell(tmp_path, Reply(text=report)) as sh:
        assert (await sh.run("run", "check it", "--agent", "Verification")).code == code


async def test_a_pass_after_a_limit_is_no_pass(tmp_path: Path) -> None:
    again = calls(("Glob", {"pattern": "*"}))
    async with shell(tmp_path, again, Reply(text="VERDICT: PASS")) as sh:
        assert (await sh.run("run", "check it", "--agent", "Verification", "--max-turns", "1")).code == 3


async def test_a_run_does_not_exit_while_its_children_run(tmp_path: Path) -> None:
    """A headless run that exits while children run loses their work: it gives the main agent a turn for each (B8)."""
    launch = calls(explore(run_in_background=True, prompt="one"), explore(run_in_background=True, prompt="two"))
    # The two may end so far apart that each gets a turn of its own.
    both = (Reply(text="Both are in."), Reply(text="Both are in."))
    async with shell(tmp_path, launch, Reply(text="I wait."), *both) as sh:
        settings = {"subagents": {"wakeOnNotification": False}}
        (sh.state / "settings.json").write_text(json.dumps(settings))
        sh.server.route(CHILD, Reply(text="first", gate="child"), Reply(text="second", gate="child"))
        process = await sh.start("run", "go")
        await sh.server.request(3)
        assert process.returncode is None
        sh.server.release("child")
        done = await ended(process)
        assert (done.code, done.out) == (0, "Both are in.\n")
        last = sh.main_requests()[-1].body.decode()
        assert ("first" in last, "second" in last) == (True, True)


async def test_without_a_model_the_work_is_done_all_the_same(tmp_path: Path) -> None:
    async with shell(tmp_path) as sh:
        del sh.environment["ENSIGN_MODEL"]
        (sh.root / "gate.py").write_text("def open_gate() -> None:\n    pass\n")
        done = await sh.run("run", "where is the gate opened?")
        assert (done.code, "gate.py:1" in done.out, sh.server.requests) == (0, True, [])
