"""A window that closes and comes back: its runs are interrupted, and go on by themselves within the time set (B10)."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from ensign.protocol.tasks import WINDOW_CLOSED, TaskState
from ensign.testing.replies import Reply, calls
from tests.session.bench import CHILD, bench, delegate


@pytest.mark.parametrize(("seconds", "state"), [(600, TaskState.COMPLETED), (0.01, TaskState.INTERRUPTED)])
async def test_runs_go_on_when_the_window_is_back_in_time(tmp_path: Path, seconds: float, state: TaskState) -> None:
    home = tmp_path / "home"
    options = {"subagents": {"wakeOnNotification": False, "resumeAfterReloadSeconds": seconds}}
    launch = calls(delegate("Explore", run_in_background=True))
    async with bench(tmp_path / "w", launch, Reply(text="ok"), options=options, home=home) as first:
        first.server.route(CHILD, Reply(text="never", gate="never"))
        await first.turn("go")
        await first.server.reached("never")
        task_id = (await first.tasks())[0].id
        await first.app.close(WINDOW_CLOSED)
        session_id = first.session_id
    closed_at = time.time()
    while time.time() < closed_at + 0.05:  # longer than the shorter of the two limits
        await asyncio.sleep(0)
    async with bench(tmp_path / "w", options=options, home=home, open_session=False) as second:
        second.server.route(CHILD, Reply(text="resumed report"))
        opened = await second.open(session_id)
        assert [task.id for task in opened.snapshot.tasks] == [task_id]
        await second.settle()
        assert [task.state for task in await second.tasks()] == [state]


async def test_after_a_session_that_was_just_closed_nothing_goes_on_by_itself(tmp_path: Path) -> None:
    home = tmp_path / "home"
    launch = calls(delegate("Explore", run_in_background=True))
    async with bench(tmp_path / "w", launch, Reply(text="ok"), home=home) as first:
        first.server.route(CHILD, Reply(text="never", gate="never"))
        await first.turn("go")
        await first.server.reached("never")
        await first.app.close("the command ended")
        session_id = first.session_id
    async with bench(tmp_path / "w", home=home, open_session=False) as second:
        await second.open(session_id)
        await second.settle()
        assert [task.state for task in await second.tasks()] == [TaskState.INTERRUPTED]
        assert second.server.requests == []
