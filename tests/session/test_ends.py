"""The moment a task ends, and what people do in it: nothing is lost, doubled or taken back (B2, B3, B5, N2)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ensign.protocol import events, wire
from ensign.protocol.errors import UserError
from ensign.protocol.messages import UserMessage
from ensign.protocol.tasks import TaskState
from ensign.testing.replies import Reply, calls
from tests.session.bench import CHILD, Bench, bench, delegate
from tests.session.test_background import notifications

QUIET = {"subagents": {"wakeOnNotification": False}}


def main_turns(built: Bench) -> int:
    return sum(isinstance(event, events.TurnStarted) and event.task_id is None for event in built.events)


def statuses(built: Bench) -> list[str]:
    """What the notifications in the main agent's last request say, in order."""
    return [json.loads(text.splitlines()[-2])["status"] for text in notifications(built)]


async def test_two_that_end_in_one_tick_are_told_once_each_in_one_turn(tmp_path: Path) -> None:
    both = calls(*(delegate("Explore", f"job {n}", run_in_background=True) for n in range(2)))
    async with bench(tmp_path / "w", both, Reply(text="ok"), Reply(text="both"), Reply(text="all told")) as built:
        built.server.route(CHILD, Reply(text="r", gate="both"), Reply(text="r", gate="both"))
        await built.turn("go")
        await built.server.request(3)
        built.server.release("both")
        await built.settle()
        assert statuses(built) == ["completed", "completed"]


async def test_a_stopped_task_is_told_at_the_next_step_and_wakes_nobody(tmp_path: Path) -> None:
    launch = calls(delegate("Explore", name="scout", run_in_background=True))
    async with bench(tmp_path / "w", launch, Reply(text="ok"), Reply(text="I see")) as built:
        built.server.route(CHILD, Reply(text="so far", gate="never", gate_at=2))
        await built.turn("go")
        await built.server.reached("never")
        await built.api.task_stop(wire.TaskStop(ids=("scout",)))
        await built.settle()
        assert main_turns(built) == 1
        await built.turn("and now?")
        assert statuses(built) == ["stopped"]
        assert main_turns(built) == 2


async def test_after_everything_was_stopped_no_notification_starts_a_turn_until_a_person_speaks(tmp_path: Path) -> None:
    launch = calls(*(delegate("Explore", f"job {n}", run_in_background=True) for n in range(3)))
    async with bench(tmp_path / "w", launch, Reply(text="ok"), Reply(text="I see")) as built:
        built.server.route(CHILD, *(Reply(text=f"r{n}", gate="all") for n in range(3)))
        await built.turn("go")
        await built.server.request(4)
        ids = tuple(record.id for record in await built.tasks())
        # One of them may come to its own end in the very moment.
        built.server.release("all")
        await built.api.task_stop(wire.TaskStop(ids=ids))
        await built.settle()
        assert main_turns(built) == 1
        await built.turn("and now?")
        assert len(notifications(built)) == 3


async def test_a_persons_stop_stays_final_in_the_next_process(tmp_path: Path) -> None:
    home = tmp_path / "home"
    launch = calls(delegate("Explore", name="scout", run_in_background=True))
    async with bench(tmp_path / "w", launch, Reply(text="ok"), home=home) as first:
        first.server.route(CHILD, Reply(text="never", gate="never"))
        await first.turn("go")
        await first.server.reached("never")
        await first.api.task_stop(wire.TaskStop(ids=("scout",)))
        session_id = first.session_id
    again = calls(("SendMessage", {"to": "scout", "message": "go on"}))
    async with bench(tmp_path / "w", again, Reply(text="fine"), home=home, open_session=False) as second:
        await second.open(session_id)
        await second.turn("go on with it")
        assert "only a person can resume it" in second.tool_results(-1)[-1]


async def test_a_message_in_the_moment_a_task_ends_makes_it_go_on_and_each_end_is_told_once(tmp_path: Path) -> None:
    launch = calls(delegate("Explore", name="scout", run_in_background=True))
    async with bench(tmp_path / "w", launch, Reply(text="ok"), options=QUIET) as built:
        built.server.route(CHILD, Reply(text="report-one", gate="child"), Reply(text="report-two"))
        await built.turn("go")
        session = built.api.sessions.get(built.session_id)
        (task,) = session.manager.tasks.values()
        sent: list[str] = []

        def send_late(_seq: int, event: events.Event) -> None:
            # The run's last event: its loop is over, its death is not.
            if isinstance(event, events.TurnEnded) and event.task_id == task.id and not sent:
                sent.append(event.kind)
                sending.append(asyncio.ensure_future(session.manager.send(task, UserMessage(text="one more thing"))))

        sending: list[asyncio.Future[str]] = []
        session.log.read(send_late)
        built.server.release("child")
        await built.until(events.TaskChanged, lambda e: e.record.state is TaskState.COMPLETED, count=2)
        await built.settle()
        await asyncio.gather(*sending)
        built.server.add(Reply(text="thanks"))
        await built.turn("well?")
        last = built.child_requests()[-1].body.decode()
        assert [last.count(word) for word in ("report-one", "one more thing")] == [1, 1]
        assert statuses(built) == ["completed", "completed"]


async def test_an_accepted_message_to_a_run_that_was_cut_off_is_read_when_it_goes_on(tmp_path: Path) -> None:
    home = tmp_path / "home"
    launch = calls(delegate("Explore", name="scout", run_in_background=True))
    async with bench(tmp_path / "w", launch, Reply(text="ok"), home=home) as first:
        first.server.route(CHILD, Reply(text="never", gate="never"))
        await first.turn("go")
        await first.server.reached("never")
        await first.api.task_send(wire.TaskSend(id="scout", message="mind the gap"))
        session_id = first.session_id
    async with bench(tmp_path / "w", Reply(text="ok"), home=home, open_session=False) as second:
        second.server.route(CHILD, Reply(text="done"))
        await second.open(session_id)
        await second.api.task_resume(wire.TaskSend(id="scout"))
        await second.settle()
        assert second.child_requests()[-1].body.decode().count("mind the gap") == 1


async def test_a_run_that_has_ended_cannot_be_moved_any_more(tmp_path: Path) -> None:
    async with bench(tmp_path / "w", calls(delegate("Explore")), Reply(text="ok", gate="main")) as built:
        built.server.route(CHILD, Reply(text="report"))
        await built.say("go")
        await built.server.reached("main")
        with pytest.raises(UserError, match="has ended"):
            await built.api.task_background(wire.TaskRef(id=(await built.tasks())[0].id))
        built.server.release("main")
        await built.settle()


async def test_a_cancelled_turn_hears_later_of_the_foreground_child_it_took_along(tmp_path: Path) -> None:
    async with bench(tmp_path / "w", calls(delegate("Explore")), Reply(text="I see")) as built:
        built.server.route(CHILD, Reply(text="half a report", gate="never", gate_at=3))
        await built.say("go")
        await built.until(events.TextDelta, lambda e: e.task_id is not None)
        await built.api.turn_cancel(wire.SessionRef(session_id=built.session_id))
        await built.settle()
        assert main_turns(built) == 1
        await built.turn("what was that?")
        assert statuses(built) == ["stopped"]


async def test_a_name_goes_to_the_newer_task_and_that_is_said(tmp_path: Path) -> None:
    async with bench(
        tmp_path / "w",
        calls(delegate("Explore", "old", name="scout")),
        calls(delegate("Explore", "new", name="scout", run_in_background=True), delegate("Explore", "x", name="scout")),
        calls(("SendMessage", {"to": "scout", "message": "hello"})),
        Reply(text="ok"),
        options=QUIET,
    ) as built:
        built.server.route(CHILD, Reply(text="r"), Reply(text="r", gate="new"), Reply(text="r"))
        await built.turn("go")
        built.server.release("new")
        await built.settle()
        results = built.tool_results(-1)
        older = (await built.tasks())[0]
        assert "which has not ended" in results[2]
        assert f"means this task now; the earlier one is reached by its id: {older.short_id}" in results[-1]


async def test_a_start_that_failed_leaves_its_name_free(tmp_path: Path) -> None:
    root = tmp_path / "w"
    (root / ".ensign" / "agents").mkdir(parents=True)
    (root / ".ensign" / "agents" / "bad.md").write_text(
        "---\nname: bad\ndescription: d\ntools: [mcp__none]\n---\nBe bad.\n"
    )
    again = calls(("SendMessage", {"to": "scout", "message": "hello"}))
    async with bench(root, calls(delegate("bad", name="scout")), again, Reply(text="ok")) as built:
        await built.turn("go")
        failed, unknown = built.tool_results(-1)
        if "no subagent named" not in failed:
            assert json.loads(failed)["status"] == "failed"
            assert "'bad' needs the MCP server 'none'" in json.loads(failed)["reason"]
        assert "there is no task 'scout'" in unknown
