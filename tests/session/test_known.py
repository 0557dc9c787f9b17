"""What is known of tasks later: after a failed start, after a restart, after a person cleared them (B7, B9)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ensign.protocol import wire
from ensign.protocol.errors import UserError
from ensign.protocol.tasks import TaskState
from ensign.testing.replies import Reply, calls
from tests.session.bench import CHILD, bench, delegate

QUIET = {"subagents": {"wakeOnNotification": False}}


async def test_a_task_whose_start_failed_is_known_after_a_restart_and_says_that_it_never_began(tmp_path: Path) -> None:
    root, home = tmp_path / "w", tmp_path / "home"
    (root / ".ensign" / "agents").mkdir(parents=True)
    (root / ".ensign" / "agents" / "bad.md").write_text(
        "---\nname: bad\ndescription: d\ntools: [mcp__none]\n---\nBe bad.\n"
    )
    launch = calls(delegate("bad", run_in_background=True))
    async with bench(root, launch, Reply(text="ok"), options=QUIET, home=home) as first:
        await first.turn("go")
        await first.settle()
        (failed,) = await first.tasks()
        assert (failed.state, failed.resumable) == (TaskState.FAILED, False)
        await first.app.close("the command ended")
        session_id = first.session_id
    async with bench(root, Reply(text="I see"), options=QUIET, home=home, open_session=False) as second:
        opened = await second.open(session_id)
        (known,) = opened.snapshot.tasks
        assert (known.id, known.state, known.reason) == (failed.id, TaskState.FAILED, failed.reason)
        assert (known.envelope, known.resumable) == (failed.envelope, False)
        with pytest.raises(UserError, match=r"never came to its first step .* start it anew"):
            await second.api.task_resume(wire.TaskSend(id=known.id, message="again"))
        await second.turn("and?")
        told = [one["content"] for one in second.main_requests()[-1].json["messages"] if one["role"] == "user"]
        (news,) = [text for text in told if "<task-notification" in text]
        assert json.loads(news.splitlines()[-2])["status"] == "failed"


async def test_cleared_tasks_stay_hidden_after_a_restart_and_on_disk(tmp_path: Path) -> None:
    root, home = tmp_path / "w", tmp_path / "home"
    launch = calls(*(delegate("Explore", f"job {n}", run_in_background=True) for n in range(2)))
    async with bench(root, launch, Reply(text="ok"), options=QUIET, home=home) as first:
        first.server.route(CHILD, Reply(text="report"), Reply(text="never", gate="never"))
        await first.turn("go")
        done = await first.task_in(TaskState.COMPLETED)
        await first.server.reached("never")
        await first.api.task_clear(wire.SessionRef(session_id=first.session_id))
        (left,) = await first.tasks()
        assert left.id != done.id
        await first.app.close("the command ended")
        session_id = first.session_id
    async with bench(root, options=QUIET, home=home, open_session=False) as second:
        opened = await second.open(session_id)
        assert [task.id for task in opened.snapshot.tasks] == [left.id]
        assert {task.id for task in await second.app.everywhere.tasks()} == {done.id, left.id}
