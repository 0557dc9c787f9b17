"""The end of a run (L2): whatever one step of it does, the later ones run, the task ends and its parent is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ensign.permissions.grants import Grants
from ensign.protocol.ids import new_id
from ensign.protocol.tasks import Envelope, TaskState
from ensign.session.records import Records
from ensign.session.session import Session
from ensign.tasks.death import die
from ensign.tasks.task import Task
from ensign.testing.replies import Reply, calls
from ensign.workspace.processes import Processes
from ensign.workspace.view import FileView
from tests.session.bench import CHILD, Bench, bench, delegate

STEPS = ["processes", "transcript", "partial", "report", "grants", "files", "changes", "end", "closed"]


class Faults:
    """Says which steps ran, and breaks one of them."""

    def __init__(self, broken: str) -> None:
        self.broken = broken
        self.ran: list[str] = []

    def step(self, name: str) -> None:
        self.ran.append(name)
        if name == self.broken:
            raise OSError(f"{name} is broken")


class FaultyRecords(Records):
    faults: Faults

    async def at_hand(self, task: Task) -> None:
        self.faults.step("transcript")
        await super().at_hand(task)

    def partial(self, agent_id: str, turn_id: str, text: str) -> None:
        self.faults.step("partial")
        super().partial(agent_id, turn_id, text)

    async def write_report(self, task_id: str, text: str) -> None:
        self.faults.step("report")
        await super().write_report(task_id, text)

    def end(self, task: Task, state: TaskState, envelope: Envelope, *, notify: str | None) -> None:
        self.faults.step("end")
        super().end(task, state, envelope, notify=notify)

    def finish(self, task: Task) -> None:
        self.faults.step("closed")
        super().finish(task)


class FaultyProcesses(Processes):
    faults: Faults

    async def kill_all(self, agent_id: str) -> None:
        self.faults.step("processes")
        await super().kill_all(agent_id)


class FaultyGrants(Grants):
    faults: Faults

    def forget(self, agent_id: str) -> None:
        self.faults.step("grants")
        super().forget(agent_id)


class FaultyView(FileView):
    faults: Faults

    def clear(self) -> None:
        self.faults.step("files")
        super().clear()

    async def changed_by_others(self) -> list[tuple[Path, str]]:
        self.faults.step("changes")
        return await super().changed_by_others()


@asynccontextmanager
async def faulty_session(built: Bench, faults: Faults) -> AsyncIterator[Session]:
    """A session whose parts break where `faults` says."""
    services = built.api.sessions.get(built.session_id).services
    store, _ = await services.store.open_session(new_id())
    processes = FaultyProcesses({})
    records = FaultyRecords(store, built.root, None)
    session = Session(replace(services, processes=processes), records, built.root, created_at=0)
    processes.faults = records.faults = faults
    grants = FaultyGrants()
    grants.faults = faults
    session.authority.grants = grants
    await session.begin()
    view = FaultyView(agent_id=session.main.context.agent_id, agent_name="main", registry=services.registry)
    view.faults = faults
    session.main.files = view
    try:
        yield session
    finally:
        await session.close("the test ended")
        await processes.close()


@pytest.mark.parametrize("broken", ["nothing", *STEPS])
async def test_each_step_of_a_death_may_fail_and_the_others_still_run(tmp_path: Path, broken: str) -> None:
    launch = calls(delegate("Explore", run_in_background=True))
    faults = Faults(broken)
    options = {"subagents": {"wakeOnNotification": False}}
    async with bench(tmp_path / "w", launch, Reply(text="ok"), options=options) as built:
        built.server.route(CHILD, Reply(text="report", gate="child"))
        async with faulty_session(built, faults) as session:
            session.prompt("go")
            await session.turns.idle.wait()
            await built.server.reached("child")
            (task,) = session.manager.tasks.values()
            assert task.agent is not None
            task.agent.files = FaultyView(agent_id="x", agent_name="x", registry=session.services.registry)
            task.agent.files.faults = faults
            built.server.release("child")
            async with asyncio.timeout(10):
                await task.ended.wait()
            assert faults.ran == STEPS
            assert task.state is TaskState.COMPLETED
            assert session.main.inbox.holds(task.notification)
            assert task.record.envelope is not None
            assert task.record.envelope.report == "report"
            told = [error for error in task.record.envelope.facts.errors if "is broken" in error]
            assert len(told) == (broken in STEPS[:7])
            assert session.manager.places.taken == 0
            assert not any((task.agent, task.run))


async def test_a_step_that_hangs_or_will_not_be_cancelled_is_left_behind() -> None:
    ran: list[str] = []
    forever = asyncio.Event()

    async def hang() -> None:
        await forever.wait()

    async def stubborn() -> None:
        for _ in range(2):
            try:
                await forever.wait()
            except asyncio.CancelledError:
                ran.append("refused")

    async def cancelled() -> None:
        raise asyncio.CancelledError

    async def last() -> None:
        ran.append("last")

    steps = [("hanging", hang), ("stubborn", stubborn), ("cancelled", cancelled), ("last", last)]
    faults = await die(steps, step_s=0.01)
    forever.set()
    assert ran[-1] == "last"
    assert faults == [
        "hanging: not finished within 0.01 s",
        "stubborn: not finished within 0.01 s",
        "cancelled: cancelled",
    ]
