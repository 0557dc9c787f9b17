"""After a crash: give every run that was cut off its end, once, and see that its parent will hear of it, once (B7)."""

from __future__ import annotations

from dataclasses import replace

from ensign.protocol.codec import to_wire
from ensign.protocol.errors import UserError
from ensign.protocol.ids import new_id
from ensign.protocol.messages import AssistantMessage, ToolCall
from ensign.protocol.run import RunSpec, spawn_key
from ensign.protocol.tasks import Envelope, Facts, TaskState
from ensign.protocol.value import frozen
from ensign.store.inbox import Letter
from ensign.store.journal import write_whole
from ensign.store.replay import Replay
from ensign.store.session import SessionStore

REASON = "the process that ran it ended without warning"
REPORT_CHARS = 8_000


@frozen
class CutOff:
    """A run that recovery ended.

    Attributes:
        unknown: calls with effects whose outcome nobody knows.
    """

    task_id: str
    agent_id: str
    unknown: tuple[ToolCall, ...]


@frozen
class Recovered:
    """What was found in a session whose owner had died.

    Attributes:
        interrupted: the runs that were ended as `interrupted` now; told here once.
        open_turn: the main agent's turn that had not ended.
        removed: half-made files that were removed.
        notices: what could not be read, in words for people.
    """

    session_id: str
    interrupted: tuple[CutOff, ...]
    open_turn: str | None
    removed: tuple[str, ...]
    notices: tuple[str, ...]


def recover_session(session: SessionStore, removed: list[str]) -> Recovered:
    """Bring a session to order. Blocks; may itself be cut off at any point and called again."""
    interrupted: list[CutOff] = []
    notices: list[str] = []
    replays: dict[str, Replay] = {}
    for agent_id in session.agents():
        try:
            replays[agent_id] = session.read(agent_id)
        except UserError as error:
            notices.append(str(error))
    for agent_id, found in list(replays.items()):
        spec = found.head.spec
        if spec is not None and found.state is TaskState.RUNNING:
            replays[agent_id] = _end(session, spec, found)
            interrupted.append(CutOff(task_id=spec.task_id, agent_id=agent_id, unknown=found.unknown))
        elif spec is not None and found.notify is None and _unheard(spec, replays):
            replays[agent_id] = _end_again(session, found)
    for found in replays.values():
        _tell(session, found, replays)
    mains = [found for found in replays.values() if found.head.spec is None]
    return Recovered(
        session_id=session.session_id,
        interrupted=tuple(interrupted),
        open_turn=mains[0].open_turn if mains else None,
        removed=tuple(removed),
        notices=(*notices, *(notice for found in replays.values() for notice in found.notices)),
    )


def _end(session: SessionStore, spec: RunSpec, found: Replay) -> Replay:
    """Write the end of a run that has none. Its parent is to be told: a call that waited for it is gone as well."""
    notify = new_id() if spec.parent_agent_id is not None else None
    envelope = _envelope(session, spec, found)
    transcript, _ = session.reopen_blocking(found.head.agent_id)
    try:
        transcript.append_end(TaskState.INTERRUPTED, envelope, notify=notify)
    finally:
        transcript.close()
    return replace(found, state=TaskState.INTERRUPTED, envelope=envelope, notify=notify)


def _unheard(spec: RunSpec, replays: dict[str, Replay]) -> bool:
    """Whether a run's end was on disk, and the result of the call that waited for it was not."""
    parent = replays.get(spec.parent_agent_id or "")
    if parent is None or spec.call_id not in {call.call_id for call in parent.open_calls}:
        return False
    # The last message is the answer that `history` gives to open calls.
    return spec.spawn_key == spawn_key(spec.session_id, len(parent.history) - 1, spec.call_id or "")


def _end_again(session: SessionStore, found: Replay) -> Replay:
    """Write an end once more, as one that the parent is to be told of."""
    notify = new_id()
    transcript, _ = session.reopen_blocking(found.head.agent_id)
    try:
        transcript.append_end(found.state, found.envelope, notify=notify)
    finally:
        transcript.close()
    return replace(found, notify=notify)


def _tell(session: SessionStore, child: Replay, replays: dict[str, Replay]) -> None:
    """Put the notification of an end into the parent's inbox, unless it was there before."""
    spec = child.head.spec
    parent = replays.get(spec.parent_agent_id or "") if spec else None
    if child.notify is None or child.envelope is None or parent is None or parent.inbox.knows(child.notify):
        return
    transcript, _ = session.reopen_blocking(parent.head.agent_id)
    try:
        transcript.accept(Letter(message_id=child.notify, what="notification", body=to_wire(child.envelope)))
    finally:
        transcript.close()


def _envelope(session: SessionStore, spec: RunSpec, found: Replay) -> Envelope:
    """What can be said for a run that cannot speak for itself."""
    text = found.partial or next(
        (message.text for message in reversed(found.history) if isinstance(message, AssistantMessage) and message.text),
        "",
    )
    changed = found.record.files_changed if found.record is not None else ()
    output_file = ""
    if session.output_dir is not None:
        path = session.output_dir / f"{spec.task_id}.md"
        write_whole(path, text.encode("utf-8", "backslashreplace"))
        output_file = str(path)
    return Envelope(
        status="interrupted",
        reason=REASON,
        agent_id=spec.agent_id,
        task_id=spec.task_id,
        report=text[:REPORT_CHARS],
        cut=len(text) > REPORT_CHARS,
        facts=Facts(
            files_changed=changed[:20],
            files_changed_total=len(changed),
            tool_calls=found.tool_calls,
            tool_failures=found.tool_failures,
        ),
        usage=found.usage,
        output_file=output_file,
        can_read_output_file=False,
    )
