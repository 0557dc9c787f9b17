"""Make a recorded conversation one that every provider takes: whatever broke off, each call has exactly one result."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ensign.protocol.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from ensign.protocol.run import LeftOpen

NOT_STARTED = "Interrupted before this call ran; it had no effect."
UNFINISHED = "Interrupted while this call ran; it has no effects, so it may be made again."
OUTCOME_UNKNOWN = (
    "Interrupted, outcome unknown: this call had begun and may have taken effect, in part or in full. "
    "Find out what it did before making it again."
)
SPAWNED = (
    "Interrupted while this call ran. What it had started by then is a task: TaskList shows how it stands, and its end "
    "is announced. Look there before making this call again."
)
SPAWNING = frozenset({"Agent", "TaskCreate"})
LOST = "[A part of this conversation was damaged on disk and is lost.]"


@dataclass(slots=True)
class Step:
    """A message, and what was recorded of its calls after it.

    Attributes:
        finished: results that were recorded one by one, by call id.
        started, intended: ids of calls that began to run; the second had been announced as having effects.
    """

    message: Message
    finished: dict[str, ToolResult] = field(default_factory=dict[str, ToolResult])
    started: set[str] = field(default_factory=set[str])
    intended: set[str] = field(default_factory=set[str])

    def outcome(self, call: ToolCall) -> ToolResult:
        """The result of a call whose results never became a message."""
        if result := self.finished.get(call.call_id):
            return result
        if call.call_id in self.intended:
            text = OUTCOME_UNKNOWN
        elif call.call_id not in self.started:
            text = NOT_STARTED
        else:
            text = SPAWNED if call.name in SPAWNING else UNFINISHED
        return ToolResult(call_id=call.call_id, text=text, is_error=True)


def unknown_calls(steps: Sequence[Step]) -> tuple[ToolCall, ...]:
    """Return the calls at the end whose effect nobody knows; they are not run again unasked (B7)."""
    return tuple(call for call in open_calls(steps) if call.call_id in steps[-1].intended)


def open_calls(steps: Sequence[Step]) -> tuple[ToolCall, ...]:
    """Return the calls at the end whose result was not recorded."""
    if not steps or not isinstance(last := steps[-1].message, AssistantMessage):
        return ()
    return tuple(call for call in last.calls if call.call_id not in steps[-1].finished)


def left_open(steps: Sequence[Step], asked: Collection[str]) -> LeftOpen | None:
    """Return what goes on where a person was being asked: that call and its neighbours that had not begun run now.

    None where no question was open. The others keep their results; one of unknown outcome is not run again (B10), one
    without effects that asked while it ran is.
    """
    if not steps or not isinstance((last := steps[-1]).message, AssistantMessage):
        return None
    waiting = {call.call_id for call in open_calls(steps)} - last.intended - (last.started - set(asked))
    if not waiting & set(asked):
        return None
    calls = last.message.calls
    return LeftOpen(
        calls=calls, results={call.call_id: last.outcome(call) for call in calls if call.call_id not in waiting}
    )


def sendable(steps: Iterable[Step]) -> list[Message]:
    """Return the messages with their repairs; where nothing is wrong, the very same messages.

    Invariants: the first message is the user's; every call is answered once, in the message after it and in its
    order; nothing answers a call that was not made. The same steps give the same messages.
    """
    history: list[Message] = []
    open_step: Step | None = None
    for step in steps:
        message = _answers(step.message, open_step) if isinstance(step.message, ToolMessage) else step.message
        if message is None:
            continue
        if open_step is not None and not isinstance(message, ToolMessage):
            history.append(_answer({}, open_step, ""))
        if isinstance(message, AssistantMessage):
            if not message.parts:
                open_step = None
                continue
            if not history or isinstance(history[-1], AssistantMessage):
                history.append(UserMessage(text=LOST, origin="runtime"))
        history.append(message)
        open_step = step if isinstance(message, AssistantMessage) and message.calls else None
    if open_step is not None:
        history.append(_answer({}, open_step, ""))
    return history


def _answers(message: ToolMessage, step: Step | None) -> Message | None:
    """Return results as they fit the calls before them; a note outlives calls that were lost."""
    if step is None:
        return UserMessage(text=message.note, origin="runtime", delivers=message.delivers) if message.note else None
    assert isinstance(step.message, AssistantMessage)
    if tuple(result.call_id for result in message.results) == tuple(call.call_id for call in step.message.calls):
        return message
    given: dict[str, ToolResult] = {}
    for result in message.results:
        given.setdefault(result.call_id, result)
    return replace(_answer(given, step, message.note), delivers=message.delivers)


def _answer(given: Mapping[str, ToolResult], step: Step, note: str) -> ToolMessage:
    assert isinstance(step.message, AssistantMessage)
    calls = step.message.calls
    return ToolMessage(results=tuple(given.get(call.call_id) or step.outcome(call) for call in calls), note=note)
