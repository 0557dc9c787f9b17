"""A window that closes and comes back: its runs are interrupted, and go on by themselves within the time set (B10)."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from ensign.protocol import events, wire
from ensign.protocol.approvals import Outcome
from ensign.protocol.tasks import WINDOW_CLOSED, TaskState
from ensign.testing.replies import Reply, calls
from tests.session.bench import CHILD, Bench, bench, delegate

QUIET = {"subagents": {"wakeOnNotification": False}}
WRITE = ("Write", {"file_path": "note.txt", "content": "hello\n"})
READ = ("Read", {"file_path": "a.txt"})


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


def results(built: Bench, number: int) -> list[str]:
    """The tool results in the body of the server's `number`-th request."""
    return [one["content"] for one in built.server.requests[number].json["messages"] if one["role"] == "tool"]


async def closed_while_asked(root: Path, home: Path, *, child: bool, reason: str = WINDOW_CLOSED) -> str:
    """A session whose window closed while a read was done, a write was asked about and another had not begun."""
    asks = calls(READ, WRITE, ("Write", {"file_path": "second.txt", "content": "2\n"}))
    script = (calls(delegate("general-purpose", run_in_background=True)), Reply(text="ok")) if child else (asks,)
    root.mkdir()
    (root / "a.txt").write_text("alpha\n")
    async with bench(root, *script, options=QUIET, home=home) as first:
        first.server.route(CHILD, asks)
        await first.say("go")
        request = await first.asked()
        assert (request.tool, request.task_id is not None) == ("Write", child)
        await first.until(events.ToolFinished, lambda event: event.tool == "Read")
        if child:
            await first.until(events.TurnEnded, lambda event: event.task_id is None)
        await first.app.close(reason)
        assert not any(isinstance(event, events.ApprovalResolved) for event in first.events)
        return first.session_id


@pytest.mark.parametrize("child", [False, True], ids=["main agent", "subagent"])
async def test_an_open_question_is_asked_again_and_its_call_runs_without_the_model_repeating_it(
    tmp_path: Path, child: bool
) -> None:
    root, home = tmp_path / "w", tmp_path / "home"
    session_id = await closed_while_asked(root, home, child=child)
    async with bench(root, Reply(text="main done"), options=QUIET, home=home, open_session=False) as second:
        second.server.route(CHILD, Reply(text="child done"))
        await second.open(session_id)
        for count in (1, 2):
            request = await second.asked(count)
            assert (await second.api.approval_list(wire.Empty())).approvals == (request,)
            assert second.server.requests == []
            assert await second.answer(request, Outcome.ALLOW_ONCE)
        await second.settle()
        assert ((root / "note.txt").read_text(), (root / "second.txt").read_text()) == ("hello\n", "2\n")
        (told,) = [results(second, number) for number in range(len(second.server.requests))]
        assert told[0] == "1\talpha"
        assert len(told) == 3
        assert "nterrupted" not in "".join(told)
        shown = [entry for entry in (await second.api.session_snapshot(ref(second))).snapshot.entries if entry.message]
        assert [entry.message.kind for entry in shown if entry.message] == (["user", "assistant", "tool", "assistant"])


def ref(built: Bench) -> wire.SessionRef:
    return wire.SessionRef(session_id=built.session_id)


async def test_a_question_outlives_one_reload_after_the_other(tmp_path: Path) -> None:
    root, home = tmp_path / "w", tmp_path / "home"
    session_id = await closed_while_asked(root, home, child=True)
    asked: list[str] = []
    for _ in range(2):
        async with bench(root, options=QUIET, home=home, open_session=False) as built:
            await built.open(session_id)
            asked.append((await built.asked()).id)
            await built.app.close(WINDOW_CLOSED)
            assert built.server.requests == []
    async with bench(root, options=QUIET, home=home, open_session=False) as last:
        last.server.route(CHILD, Reply(text="child done"))
        await last.open(session_id)
        request = await last.asked()
        assert request.id not in asked
        for old in asked:
            answer = wire.ApprovalAnswer(id=old, outcome=Outcome.ALLOW_ONCE)
            assert not (await last.api.approval_answer(answer)).accepted
        await last.answer(request, Outcome.DENY, "not now")
        await last.answer(await last.asked(2), Outcome.ALLOW_ONCE)
        await last.settle()
        assert "not now" in results(last, 0)[1]
        assert [(root / name).exists() for name in ("note.txt", "second.txt")] == [False, True]


@pytest.mark.parametrize("message", [None, "leave it"])
async def test_after_another_end_a_click_asks_again_and_a_message_speaks_to_the_model(
    tmp_path: Path, message: str | None
) -> None:
    root, home = tmp_path / "w", tmp_path / "home"
    session_id = await closed_while_asked(root, home, child=True, reason="the command ended")
    async with bench(root, options=QUIET, home=home, open_session=False) as second:
        second.server.route(CHILD, Reply(text="child done"))
        opened = await second.open(session_id)
        assert (opened.snapshot.approvals, second.server.requests) == ((), [])
        (task,) = opened.snapshot.tasks
        await second.api.task_resume(wire.TaskSend(id=task.id, message=message))
        if message is None:
            for count in (1, 2):
                await second.answer(await second.asked(count), Outcome.ALLOW_ONCE)
        await second.settle()
        assert (root / "note.txt").exists() == (message is None)
        assert ["had no effect" in text for text in results(second, 0)] == [
            False,
            message is not None,
            message is not None,
        ]


async def test_a_command_of_unknown_outcome_is_not_run_again_when_the_window_is_back(tmp_path: Path) -> None:
    root, home = tmp_path / "w", tmp_path / "home"
    command = "echo once >> ran.txt; sleep 60"
    options = {**QUIET, "permissions": {"allow": ["Bash(echo:*)", "Bash(sleep:*)", "Edit(./ran.txt)"]}}
    launch = calls(delegate("general-purpose", run_in_background=True))
    async with bench(root, launch, Reply(text="ok"), options=options, home=home) as first:
        first.server.route(CHILD, calls(("Bash", {"command": command}), WRITE))
        await first.turn("go")
        async with asyncio.timeout(20):
            while not (root / "ran.txt").exists():
                await asyncio.sleep(0)
        await first.app.close(WINDOW_CLOSED)
        session_id = first.session_id
    async with bench(root, options=options, home=home, open_session=False) as second:
        second.server.route(CHILD, Reply(text="child done"))
        await second.open(session_id)
        await second.settle()
        assert (root / "ran.txt").read_text() == "once\n"
        told = results(second, 0)
        assert ("outcome unknown" in told[0], "had no effect" in told[1]) == (True, True)
