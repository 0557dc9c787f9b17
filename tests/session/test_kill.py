"""The whole server under `kill -9` at random moments: nothing acknowledged is lost, doubled or left behind."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ensign.protocol import wire
from ensign.protocol.ids import new_id
from ensign.protocol.messages import ToolMessage, UserMessage
from ensign.protocol.tasks import TaskState
from ensign.store.ownership import owner_of
from ensign.store.replay import Replay
from ensign.store.store import Store
from ensign.testing.http_server import RecordedRequest
from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply, calls
from tests.session.bench import CHILD, MAIN, delegate
from tests.session.worker import app_for
from tests.store.test_transcript import environment


class Script:
    """A model that delegates, in the foreground and the background, and subagents that read, sleep and report."""

    def __init__(self, seed: int) -> None:
        self.die = random.Random(seed)  # noqa: S311 - moments, not secrets
        self.sleep_s = f"{10_000_000 + os.getpid()}.{seed}"
        self.final = ""

    def main(self, request: RecordedRequest) -> Reply:
        last = request.json["messages"][-1]
        if self.final or last["role"] == "tool" or "<task-notification>" in last["content"]:
            return Reply(text="noted")
        kinds = [delegate("Explore", "look", run_in_background=self.die.random() < 0.7) for _ in range(3)]
        kinds.append(delegate("general-purpose", "sleep", run_in_background=True))
        return calls(*kinds[: self.die.randrange(5)], text="on it")

    def child(self, request: RecordedRequest) -> Reply:
        messages = request.json["messages"]
        if self.final or any(message["role"] == "tool" for message in messages):
            return Reply(text=f"report-{new_id()}", latency_s=self.die.random() * 0.02)
        if str(messages[1]["content"]).startswith("sleep"):
            return calls(("Bash", {"command": f"sleep {self.sleep_s}"}))
        return calls(("Read", {"file_path": "a.txt"}))

    def leftovers(self) -> list[int]:
        """Processes that a command of a subagent left."""
        running = (int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit())
        return [pid for pid in running if self.sleep_s in line(pid)]


def line(pid: int) -> str:
    """The command line of a process, empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


async def kill_once(script: Script, arguments: tuple[str, ...]) -> list[str]:
    """Let a server live until it has acknowledged so much, and a random time longer."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.session.worker", *arguments, stdout=asyncio.subprocess.PIPE, env=environment()
    )
    assert process.stdout is not None
    said = [await process.stdout.readline() for _ in range(script.die.randrange(1, 14))]
    await asyncio.sleep(script.die.random() * 0.05)
    process.kill()
    said += (await process.stdout.read()).splitlines(keepends=True)
    await process.wait()
    # A line without its end was being written: it acknowledges nothing.
    return [one.decode().strip() for one in said if one.endswith(b"\n")]


def notified(messages: list[dict[str, Any]]) -> Counter[str]:
    """How often the main agent was told of each end, by task."""
    told: Counter[str] = Counter()
    for message in messages:
        content = str(message["content"])
        if message["role"] == "user" and content.startswith("<task-notification>"):
            told[json.loads(content.splitlines()[-2])["taskId"]] += 1
    return told


def texts(found: Replay) -> Counter[str]:
    """Every word in a conversation that came from outside, and what waits to join it."""
    said: Counter[str] = Counter()
    for message in found.history:
        if isinstance(message, UserMessage):
            said.update(message.text.split())
        elif isinstance(message, ToolMessage):
            said.update(message.note.split())
    for letter in found.inbox.pending():
        said.update(str(letter.body.get("text", "")).split())
    return said


async def look(home: Path, session_id: str, acknowledged: list[str]) -> None:
    """Compare what is on disk with what was acknowledged."""
    store = Store(home / "ensign", report=lambda _: None)
    try:
        founds = {agent: await store.read(session_id, agent) for agent in await store.agents(session_id)}
    finally:
        await store.close()
    said: Counter[str] = Counter()
    for found in founds.values():
        said += texts(found)
    ended = {found.head.spec.task_id: found for found in founds.values() if found.head.spec is not None}
    for acknowledgement in acknowledged:
        what, _, identifier = acknowledgement.partition(" ")
        if what == "stopped":
            assert ended[identifier].state.terminal
        else:
            assert said[identifier] == 1, acknowledgement


async def settle_in_peace(home: Path, root: Path, url: str, session_id: str) -> None:
    """Open the session once more, prompt once, and wait for what comes of it."""
    app = app_for(home, root, url)
    try:
        opened = await app.api.session_open(wire.SessionOpen(cwd=str(root), id=session_id))
        assert {task.state for task in opened.snapshot.tasks} <= {
            TaskState.COMPLETED,
            TaskState.STOPPED,
            TaskState.INTERRUPTED,
        }
        await app.api.turn_start(wire.TurnStart(session_id=session_id, text="the-end"))
        await app.api.session_settle(wire.SessionRef(session_id=session_id))
    finally:
        await app.close("the test ended")


async def gone(script: Script, folder: Path) -> None:
    """Return once no process and no lock is left; what the server was just starting needs a moment."""
    async with asyncio.timeout(10):
        while script.leftovers() or ((owner := owner_of(folder)) is not None and owner.held):
            await asyncio.sleep(0.02)


async def kill_loop(folder: Path, runs: int, seed: int) -> None:
    home, root, session_id = folder / "home", folder / "w", new_id()
    home.mkdir()
    root.mkdir()
    (root / "a.txt").write_text("something\n")
    script, acknowledged = Script(seed), list[str]()
    async with ModelServer() as server:
        server.route(CHILD, script.child)
        server.route(MAIN, script.main)
        for _ in range(runs):
            acknowledged += await kill_once(script, (str(home), str(root), server.base_url, session_id))
            await gone(script, home / "ensign" / "sessions" / session_id)
            await look(home, session_id, acknowledged)
        script.final = "yes"
        await settle_in_peace(home, root, server.base_url, session_id)
        mains = [one.json["messages"] for one in server.requests if one.json["messages"][0]["content"].startswith(MAIN)]
        check_parent(mains[-1], acknowledged, runs_of(home / "ensign" / "sessions" / session_id))
        assert server.exhausted == []
    await look(home, session_id, acknowledged)
    assert [path.name for path in home.rglob("*") if path.name.endswith(".tmp")] == []


def runs_of(folder: Path) -> Counter[str]:
    """How many runs each task had: a message in the moment a run ends makes another one."""
    runs: Counter[str] = Counter()
    for path in folder.glob("*.jsonl"):
        records = [json.loads(one) for one in path.read_text().splitlines()]
        if spec := records[0]["body"]["spec"]:
            runs[spec["taskId"]] = 1 + sum(record["kind"] == "run" for record in records)
    return runs


def check_parent(messages: list[dict[str, Any]], acknowledged: list[str], runs: Counter[str]) -> None:
    """See in the parent's last request that each prompt and the end of each run reached it once."""
    prompts = Counter(str(message["content"]) for message in messages if message["role"] == "user")
    assert [one for one in acknowledged if one.startswith("prompted") and prompts[one.partition(" ")[2]] != 1] == []
    told = notified(messages)
    answered = Counter(
        found["taskId"]
        for message in messages
        if message["role"] == "tool" and message["content"].startswith("{")
        for found in [json.loads(message["content"])]
        if found["status"] not in {"async_launched", "moved_to_background"}
    )
    assert told + answered == runs


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
async def test_a_server_that_is_killed_loses_nothing_doubles_nothing_and_leaves_nothing(
    tmp_path: Path, seed: int
) -> None:
    await kill_loop(tmp_path, 4, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 32))
async def test_three_hundred_kills_of_a_server_lose_nothing_double_nothing_and_leave_nothing(
    tmp_path: Path, seed: int
) -> None:
    await kill_loop(tmp_path, 10, seed)
