"""`tasks`, `resume`, `stop`, `usage`, `export`: on disk, and through the process that owns the session (B10)."""

from __future__ import annotations

import asyncio
import json
import signal
import stat
from asyncio.subprocess import Process
from pathlib import Path
from typing import Any

import pytest

from ensign.protocol.messages import Usage
from ensign.testing.replies import Call, Reply, calls
from tests.cli.shell import Shell, ended, shell

pytestmark = pytest.mark.slow

CHILD = "You are a subagent"


def explore(**more: Any) -> tuple[str, dict[str, Any]]:
    return ("Agent", {"prompt": "look", "description": "look at it all", "subagent_type": "Explore", **more})


async def tasks(sh: Shell) -> list[dict[str, Any]]:
    """What `ensign tasks --json` lists."""
    done = await sh.run("tasks", "--json")
    assert (done.code, done.err) == (0, "")
    return list(done.last["tasks"])


async def working(sh: Shell, *replies: Reply) -> Process:
    """Start a run whose one background subagent has read a file and waits for the model."""
    sh.root.joinpath("a.txt").write_text("remember me\n")
    sh.server.add(calls(explore(run_in_background=True, name="scout")), Reply(text="I wait."))
    sh.server.route(CHILD, calls(("Read", {"file_path": "a.txt"})), Reply(text="never", gate="child"), *replies)
    process = await sh.start("run", "go")
    async with asyncio.timeout(30):
        await sh.server.reached("child")
        # Its last message has been answered too, so nothing but the child is left.
        await (await sh.server.request(2)).answered.wait()
    return process


async def test_before_anything_was_started_there_is_nothing(tmp_path: Path) -> None:
    async with shell(tmp_path) as sh:
        assert await tasks(sh) == []
        done = await sh.run("tasks")
        assert (done.code, done.out, done.err) == (0, "", "ensign: no task has been started yet\n")


@pytest.mark.parametrize(
    "arguments", [("resume", "nobody"), ("export", "nobody"), ("resume",), ("stop",), ("usage", "--by", "day")], ids=str
)
async def test_what_is_not_there_is_wrong_use(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    async with shell(tmp_path) as sh:
        done = await sh.run(*arguments)
        assert (done.code, done.out) == (2, "")


async def test_a_task_of_a_living_process_is_seen_and_stopped_there(tmp_path: Path) -> None:
    async with shell(tmp_path) as sh:
        process = await working(sh, Reply(text="not asked"))
        (running,) = await tasks(sh)
        assert (running["state"], running["name"]) == ("running", "scout")
        done = await sh.run("stop", "scout", "nobody")
        assert (done.code, done.out) == (1, f"{running['shortId']} was stopped\n")
        assert "there is no task 'nobody'" in done.err
        first = await ended(process)
        assert (first.code, first.out) == (0, "I wait.\n")
        assert [(one["state"], one["reason"]) for one in await tasks(sh)] == [("stopped", "stopped by a person")]
        again = await sh.run("stop", running["id"])
        assert (again.code, again.out) == (0, f"{running['shortId']} had ended already (stopped)\n")
        assert list((sh.state / "run").iterdir()) == []


async def test_only_the_user_can_reach_a_session(tmp_path: Path) -> None:
    async with shell(tmp_path) as sh:
        process = await working(sh)
        folder = sh.state / "run"
        (socket,) = folder.iterdir()
        assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(socket.stat().st_mode)) == (0o700, 0o600)
        process.terminate()
        assert (await ended(process)).code == 130


async def test_a_task_goes_on_in_the_process_that_owns_it(tmp_path: Path) -> None:
    """A second background task keeps the run, and so the owner, alive."""
    both = calls(explore(run_in_background=True, name="scout"), explore(run_in_background=True, prompt="stay"))
    async with shell(tmp_path, both, Reply(text="I wait."), Reply(text="Both are in.")) as sh:
        sh.server.route('"stay"', Reply(text="stayed", gate="stay"))
        sh.server.route(CHILD, Reply(text="never", gate="scout"), Reply(text="the report"))
        process = await sh.start("run", "go")
        await sh.server.reached("scout")
        await sh.server.reached("stay")
        refused = await sh.run("resume", "scout")
        assert (refused.code, "has not ended (running)" in refused.err) == (2, True)
        await sh.run("stop", "scout")
        done = await sh.run("resume", "scout", "go on")
        assert (done.code, done.out) == (0, "the report\n")
        assert "goes on in the process that has its session open" in done.err
        sh.server.release("stay")
        assert (await ended(process)).out == "Both are in.\n"


async def test_a_task_whose_process_was_killed_is_interrupted_and_goes_on_here(tmp_path: Path) -> None:
    async with shell(tmp_path) as sh:
        process = await working(sh, Reply(text="the whole report"))
        process.kill()
        await process.wait()
        (left,) = await tasks(sh)
        assert (left["state"], left["reason"]) == ("interrupted", "the process it ran in is gone")
        assert (await sh.run("stop", left["shortId"])).out == f"{left['shortId']} had ended already (interrupted)\n"
        done = await sh.run("resume", left["shortId"], "and say it briefly")
        assert (done.code, done.out) == (0, "the whole report\n")
        body = sh.server.requests[-1].body.decode()
        assert ("remember me" in body, "and say it briefly" in body) == (True, True)
        after = await tasks(sh)
        assert [(one["id"], one["state"]) for one in after] == [(left["id"], "completed")]


async def test_a_completed_task_needs_a_message_to_go_on(tmp_path: Path) -> None:
    async with shell(tmp_path, calls(explore()), Reply(text="done")) as sh:
        sh.server.route(CHILD, Reply(text="first"), Reply(text="second"))
        await sh.run("run", "go")
        (task,) = await tasks(sh)
        refused = await sh.run("resume", task["id"])
        assert (refused.code, "resuming it needs a message" in refused.err) == (2, True)
        # From another folder: a task goes on where it was.
        sh.root = tmp_path
        done = await sh.run("resume", task["id"], "more")
        assert (done.code, done.out) == (0, "second\n")
        assert len(sh.main_requests()) == 2


async def test_a_resumed_run_ends_with_its_command(tmp_path: Path) -> None:
    async with shell(tmp_path, calls(explore()), Reply(text="done")) as sh:
        sh.server.route(CHILD, Reply(text="first"), Reply(text="half of", gate="more", gate_at=2))
        await sh.run("run", "go")
        (task,) = await tasks(sh)
        process = await sh.start("resume", task["id"], "more")
        await sh.server.reached("more")
        process.send_signal(signal.SIGINT)
        done = await ended(process)
        assert (done.code, [one["state"] for one in await tasks(sh)]) == (130, ["interrupted"])


async def test_sockets_of_the_dead_are_cleared_away(tmp_path: Path) -> None:
    async with shell(tmp_path) as sh:
        process = await working(sh)
        process.kill()
        await process.wait()
        folder = sh.state / "run"
        assert len(list(folder.iterdir())) == 1
        sh.server.add(Reply(text="ok"))
        await sh.run("run", "another")
        assert list(folder.iterdir()) == []


async def test_a_home_with_a_long_path_works_as_well(tmp_path: Path) -> None:
    async with shell(tmp_path) as sh:
        sh.environment["ENSIGN_HOME"] = str(tmp_path / ("long" * 20) / "home")
        sh.environment["TMPDIR"] = "/tmp"
        process = await working(sh)
        assert (await sh.run("stop", "scout")).code == 0
        done = await ended(process)
        assert (done.code, done.err.count("warning")) == (0, 0)


async def test_usage_adds_up_to_what_was_asked(tmp_path: Path) -> None:
    async with shell(
        tmp_path,
        Reply(calls=(Call(name="Agent", arguments=explore()[1]),), usage=Usage(input=7, output=3)),
        Reply(text="done", usage=Usage(input=20, output=5, cache_read=60)),
    ) as sh:
        sh.server.route(CHILD, Reply(text="found", usage=Usage(input=11, output=2)))
        await sh.run("run", "what is here?")
        listed = {by: (await sh.run("usage", "--by", by, "--json")).last for by in ("agent", "task", "turn", "session")}
        table = await sh.run("usage")
    total = {"input": 38, "output": 10, "cacheWrite": 0, "cacheRead": 60}
    assert [(one["total"]["usage"], one["total"]["requests"]) for one in listed.values()] == [(total, 3)] * 4
    assert [(one["key"], one["requests"]) for one in listed["agent"]["sums"]] == [("main", 2), ("Explore", 1)]
    assert "what is here?" in table.out


async def test_transcripts_come_out_as_text_records_and_trace(tmp_path: Path) -> None:
    both = calls(explore(), explore(prompt="twice"))
    async with shell(tmp_path, both, Reply(text="both are done")) as sh:
        sh.server.route(CHILD, calls(("Glob", {"pattern": "*"})), Reply(text="found"), Reply(text="found"))
        await sh.run("run", "go")
        one = (await tasks(sh))[0]
        text = await sh.run("export", one["shortId"])
        records = await sh.run("export", one["sessionId"], "--format", "json")
        trace = json.loads((await sh.run("export", one["sessionId"], "--format", "trace")).out)
    assert text.out.startswith("# Explore: look at it all\n")
    assert "both are done" in records.out
    assert json.loads(records.out)[0]["kind"] == "head"
    events = trace["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    assert set(names) == {"main", "Explore: look at it all"}
    arrows = [event["id"] for event in events if event["ph"] == "s"]
    assert sorted(arrows) == sorted(event["id"] for event in events if event["ph"] == "f")
    assert len(arrows) == 2
    assert nested(events)


def nested(events: list[dict[str, Any]]) -> bool:
    """Whether the slices of each row lie inside or beside each other, which is all that viewers can draw."""
    for thread in {event["tid"] for event in events if event["ph"] == "X"}:
        open_until: list[int] = []
        for event in (one for one in events if one["ph"] == "X" and one["tid"] == thread):
            while open_until and open_until[-1] <= event["ts"]:
                open_until.pop()
            if open_until and event["ts"] + event["dur"] > open_until[-1]:
                return False
            open_until.append(event["ts"] + event["dur"])
    return True
