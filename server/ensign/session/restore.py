"""What a session had when its last process ended, put back: its tasks, and messages that were not delivered yet."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from ensign.protocol.codec import decode
from ensign.protocol.errors import UserError
from ensign.protocol.messages import UserMessage
from ensign.protocol.tasks import WINDOW_CLOSED, Envelope, TaskRecord, TaskState
from ensign.protocol.worktree import Worktree
from ensign.session.session import Session
from ensign.store.inbox import Letter
from ensign.store.replay import Replay
from ensign.store.session import SessionStore
from ensign.tasks.record import first_record
from ensign.tasks.report import as_notification
from ensign.tasks.task import BY_PERSON, Stop, Task


async def restore_tasks(session: Session, store: SessionStore) -> int:
    """Adopt every task of the session as it ended; return the highest event number that was ever given out."""
    pasts: list[Replay] = []
    for agent_id in store.agents():
        if agent_id == session.main.context.agent_id:
            continue
        try:
            pasts.append(await asyncio.to_thread(store.read, agent_id))
        except UserError as error:
            session.chat.note(session.main.who, f"A task's transcript cannot be read: {error}")
    session.manager.count(len(pasts))
    hidden = session.records.past.hidden if session.records.past is not None else frozenset[str]()
    for past in pasts:
        if past.head.spec is not None and past.head.spec.task_id not in hidden:
            adopt(session, past)
    last = max((past.last_seq for past in pasts), default=0)
    return max(last, session.records.past.last_seq if session.records.past is not None else 0)


def adopt(session: Session, past: Replay) -> None:
    """Make an ended task known again, with what its transcript says of it."""
    spec = past.head.spec
    if spec is None:
        return
    definition = session.services.definitions().get(spec.agent) if spec.agent is not None else None
    manager = session.manager
    record = past.record or first_record(
        spec,
        color=None,
        output_file=str(session.records.output_file(spec.task_id)),
        taken={one.short_id for one in manager.records()},
        now=past.ended_at or session.services.clock(),
    )
    task = Task(ended_record(record, past), spec, definition, emit=session.emit, clock=session.services.clock)
    task.born = past.head.born
    task.inbox.close()
    task.let_go()
    if record.background:
        task.detached.set()
    task.notification = past.notify or ""
    if task.record.reason == BY_PERSON:
        task.told_to_stop = Stop(state=TaskState.STOPPED, reason=BY_PERSON)
    manager.adopt(task)
    if waiting := len(past.inbox.pending()):
        text = f"{waiting} message(s) to task {task.record.short_id} wait; it reads them when it is resumed."
        session.chat.note(session.main.who, text)


def ended_record(record: TaskRecord, past: Replay) -> TaskRecord:
    """The record as the end that was written last makes it; the transcript is the truth (B7)."""
    envelope = past.envelope
    return replace(
        record,
        state=past.state,
        reason=envelope.reason if envelope is not None else record.reason,
        activity="",
        waiting_for=None,
        waiting_since=None,
        ended_at=past.ended_at or record.ended_at,
        usage=past.usage,
        steps=past.steps,
        tool_calls=past.tool_calls,
        worktree=still_there(record.worktree),
        resumable=past.head.born,
        envelope=envelope,
    )


def still_there(worktree: Worktree | None) -> Worktree | None:
    """What a record can say of a worktree after its process: whether it is on disk. The look at leftovers says more."""
    if worktree is None or not worktree.there:
        return worktree
    if not Path(worktree.path).is_dir():
        return replace(worktree, state="removed", reason="it is gone")
    return replace(worktree, state="kept", reason="its process ended") if worktree.state == "live" else worktree


def resume_after_reload(session: Session) -> None:
    """Let the runs go on that ended because their window closed a short while ago; a crash is no such end (B10).

    So does a turn of the main agent in which a person was being asked: the question is put again.
    """
    settings = session.services.settings().subagents
    since = session.services.clock() - settings.resume_after_reload_seconds
    for task in list(session.manager.tasks.values()):
        closed = task.state is TaskState.INTERRUPTED and task.record.reason == WINDOW_CLOSED
        if closed and (task.record.ended_at or 0) >= since:
            # It has not really ended, so there is nothing to tell.
            session.subagents.withdraw(task)
            session.manager.resume(task, None)
    past = session.records.past
    if past is None or past.left_open is None or past.turn_reason != WINDOW_CLOSED:
        return
    if (past.turn_ended_at or 0) >= since:
        # Its real results come when the calls have run.
        session.chat.withdraw(past.history[-1])
        session.turns.go_on(past.left_open)


def restore_inbox(session: Session, past: Replay) -> None:
    """Put back what the main agent has not seen: notifications into its inbox, a person's prompts into the queue.

    Neither sets anything going by itself (B10).
    """
    for letter in past.inbox.pending():
        if letter.what == "notification":
            session.main.inbox.put(notification(session, letter), rouses=False)
        else:
            session.turns.hold(UserMessage(text=str(letter.body["text"]), delivers=(letter.message_id,)))


def notification(session: Session, letter: Letter) -> UserMessage:
    """The block that a recorded notification is delivered as."""
    envelope = decode(Envelope, letter.body, what="notification")
    task = session.manager.find(envelope.task_id)
    description = task.record.description if task is not None else ""
    return UserMessage(text=as_notification(envelope, description), origin="runtime", delivers=(letter.message_id,))
