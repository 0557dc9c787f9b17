"""Many subagents in one session leave nothing behind: descriptors, threads, tasks, processes, memory (L3)."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from ensign.protocol import wire
from ensign.testing.http_server import RecordedRequest
from ensign.testing.replies import Reply, calls
from tests.session.bench import CHILD, Bench, bench

AT_ONCE = 32
FLAT_MB = 10


@dataclass(frozen=True, kw_only=True)
class Held:
    """What the process holds."""

    descriptors: int
    threads: int
    tasks: int
    children: int
    memory_mb: float

    @classmethod
    def now(cls) -> Held:
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(
            descriptors=len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - the names are numbers, not paths
            threads=threading.active_count(),
            tasks=len(asyncio.all_tasks()),
            children=len(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()),
            memory_mb=pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        )


def child(request: RecordedRequest) -> Reply:
    """Read, run a command, report."""
    results = sum(message["role"] == "tool" for message in request.json["messages"])
    steps = (calls(("Read", {"file_path": "a.txt"})), calls(("Bash", {"command": "true"})))
    return steps[results] if results < len(steps) else Reply(text="report " * 500)


async def run_one(built: Bench, session_id: str) -> None:
    run = wire.AgentRun(session_id=session_id, agent="general-purpose", prompt="work")
    started = await built.api.agent_run(run)
    await built.api.sessions.task(started.task_id)[1].ended.wait()


async def run_batch(built: Bench, session_id: str, count: int) -> None:
    """Run so many, `AT_ONCE` at a time."""
    places = asyncio.Semaphore(AT_ONCE)

    async def placed() -> None:
        async with places:
            await run_one(built, session_id)

    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(placed())
    # What the test's own server keeps of the requests is no concern of the product's.
    built.server.requests.clear()


async def run_many(root: Path, count: int) -> list[Held]:
    root.mkdir()
    (root / "a.txt").write_text("x\n" * 1000)
    options = {"subagents": {"maxRunning": AT_ONCE, "maxSpawns": count}}
    async with bench(root, options=options, command_line={"allow": ("Bash(true)",)}) as built:
        built.server.route(CHILD, child)
        session_id, built.session_id = built.session_id, "events are not kept"
        held: list[Held] = []
        for _ in range(count // 100):
            await run_batch(built, session_id, 100)
            held.append(Held.now())
        records = (await built.api.task_list(wire.TaskList(session_id=session_id))).tasks
        assert len(records) == 100
        assert {(one.state.value, one.tool_calls) for one in records} == {("completed", 2)}
    return held


def assert_flat(held: list[Held]) -> None:
    first, last = held[0], held[-1]
    assert last.descriptors <= first.descriptors + 2
    assert last.threads <= first.threads + 2
    assert last.tasks <= first.tasks + 1
    assert last.children <= first.children
    assert last.memory_mb <= first.memory_mb + FLAT_MB


@pytest.mark.slow
async def test_two_hundred_subagents_leave_nothing_behind(tmp_path: Path) -> None:
    held = await run_many(tmp_path / "w", 200)
    assert_flat(held)


@pytest.mark.soak
async def test_a_thousand_subagents_leave_nothing_behind(tmp_path: Path) -> None:
    held = await run_many(tmp_path / "w", 1000)
    assert_flat(held)
