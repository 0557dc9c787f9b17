"""The loop: one turn of one agent, the same for the main agent and every subagent. Start reading here.

A turn is a list of messages that grows: ask the model, run the calls it made, repeat. What is not in this file stays
out of it: compaction and budgets are `before_step`, retries live in `models/`, approval in `gate.py`, telemetry reads
the events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field
from typing import assert_never

from ensign.models.base import CallChunk, Head, Reply, Restarted, TextChunk, ThinkingChunk
from ensign.protocol import events
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.messages import (
    AssistantMessage,
    Message,
    StopReason,
    ToolCall,
    ToolMessage,
    ToolResult,
)
from ensign.protocol.run import LeftOpen
from ensign.protocol.value import frozen
from ensign.runtime.billing import usage_reported
from ensign.runtime.conversation import Conversation
from ensign.runtime.gate import CallOutcome
from ensign.runtime.inbox import Inbox
from ensign.runtime.interrupt import Interrupt


@frozen
class Ending:
    """How a turn ended; `reason` names a limit or fault, and is empty for a natural end."""

    stop: StopReason
    reason: str = ""


@frozen
class Turn:
    """Everything one turn depends on, passed in by whoever starts it.

    Attributes:
        call: the gate: runs one call, always with a result.
        parallel: whether neighbouring calls of this tool may run side by side.
        before_step: budgets and compaction; returns the limit that was reached, or None.
        compact: shorten the conversation because the provider said it is too long; False when it cannot.
        report: what a wrap-up request says, given the reason; None for turns that end without one.
        max_misses: consecutive steps with only unknown or refused tools after which the turn ends (T4).
        partial: text of the running step, for whoever must keep it when the step breaks.
        leaving: why the process lets go of the session, empty while it does not. Calls that are then cut off stay
            without a result: what can be said of them, and which may still run, is read from the transcript (B10).
        left_open: calls of the conversation's last reply that an earlier process left like that; they come first.
    """

    turn_id: str
    who: events.Who
    conversation: Conversation
    call: Callable[[str, ToolCall], Awaitable[CallOutcome]]
    parallel: Callable[[str], bool]
    emit: Callable[[events.Event], None]
    inbox: Inbox
    interrupt: Interrupt
    before_step: Callable[[], Awaitable[str | None]]
    compact: Callable[[], Awaitable[bool]]
    report: Callable[[str], tuple[Head, Message]] | None
    max_steps: int
    max_misses: int
    wrap_up_s: float
    leaving: Callable[[], str]
    left_open: LeftOpen | None = None
    partial: list[str] = field(default_factory=list)


async def run_turn(turn: Turn, prompt: Sequence[Message]) -> Ending:
    """Run one turn to its end.

    Invariants, whatever happens: the conversation stays sendable (every call has one result) unless the process is
    leaving, which is the conversation's end; and the last event is one `TurnEnded` or one `TurnFailed`.

    Raises:
        ModelError: the provider failed and may not be retried.
        asyncio.CancelledError: the turn was cancelled; the conversation has been completed first.
    """
    turn.emit(events.TurnStarted(**turn.who, turn_id=turn.turn_id))
    try:
        ending = await take_steps_or_wrap_up(turn, prompt)
    except asyncio.CancelledError:
        emit_ended(turn, Ending(stop=StopReason.CANCELLED, reason=turn.leaving()))
        raise
    except Exception as error:
        # Whatever broke the turn is told to its readers here, once; the caller records the traceback.
        turn.emit(
            events.TurnFailed(
                **turn.who,
                turn_id=turn.turn_id,
                message=str(error) or type(error).__name__,
                partial_text="".join(turn.partial),
            )
        )
        raise
    emit_ended(turn, ending)
    return ending


async def take_steps_or_wrap_up(turn: Turn, prompt: Sequence[Message]) -> Ending:
    """Take steps; when a limit or a person ends them early, ask once more for a report, without tools (A10)."""
    try:
        turn.interrupt.arm()
        ending = await take_steps(turn, prompt)
        turn.interrupt.disarm()
    except asyncio.CancelledError:
        if not turn.interrupt.absorbs():
            raise
        ending = Ending(stop=StopReason.MAX_TURN_REQUESTS, reason=turn.interrupt.reason or "")
    if turn.report is not None and (ending.reason or not last_text(turn.conversation)):
        await wrap_up(turn, ending.reason)
    return ending


async def take_steps(turn: Turn, prompt: Sequence[Message]) -> Ending:
    """The loop itself."""
    if turn.left_open is not None:
        turn.conversation.take_back()
        await run_calls(turn, turn.left_open.calls, turn.left_open.results)
    for message in prompt:
        add(turn, message)
    take_inbox(turn)
    misses = 0
    for step in range(1, turn.max_steps + 1):
        if limit := await turn.before_step():
            return Ending(stop=StopReason.MAX_TURN_REQUESTS, reason=limit)
        reply = await ask_model(turn, step)
        add_reply(turn, reply.message)
        if not reply.message.calls:
            if not take_inbox(turn):
                return Ending(stop=reply.stop)
            continue
        misses = misses + 1 if await run_calls(turn, reply.message.calls) else 0
        if misses == turn.max_misses:
            return Ending(stop=StopReason.END_TURN, reason=f"{misses} steps in a row used only tools it does not have")
        take_inbox(turn)
    return Ending(stop=StopReason.MAX_TURN_REQUESTS, reason=f"limit of {turn.max_steps} steps reached")


def take_inbox(turn: Turn) -> int:
    """Add what arrived since the last step."""
    return turn.inbox.take(lambda message: add(turn, message))


async def ask_model(turn: Turn, step: int) -> Reply:
    """Send the conversation and return the whole reply; an overflow shortens the conversation once and asks again."""
    turn.emit(
        events.StepStarted(
            **turn.who,
            turn_id=turn.turn_id,
            step=step,
            model=turn.conversation.model.id,
        )
    )
    try:
        return await stream_reply(turn, step, None)
    except ModelError as error:
        if error.kind is not ModelErrorKind.OVERFLOW or not await turn.compact():
            raise
    return await stream_reply(turn, step, None)


async def stream_reply(turn: Turn, step: int, head: Head | None) -> Reply:
    """One request: pass on the deltas, keep them in `partial` until the message is whole."""
    turn.partial.clear()
    async with aclosing(turn.conversation.model.stream(turn.conversation.request(head))) as chunks:
        async for chunk in chunks:
            match chunk:
                case TextChunk(text=text):
                    turn.partial.append(text)
                    turn.emit(events.TextDelta(**turn.who, turn_id=turn.turn_id, text=text))
                case ThinkingChunk(text=text):
                    turn.emit(events.ThinkingDelta(**turn.who, turn_id=turn.turn_id, text=text))
                case CallChunk():
                    pass
                case Restarted(reason=reason):
                    turn.partial.clear()
                    turn.emit(events.StepRestarted(**turn.who, turn_id=turn.turn_id, step=step, reason=reason))
                case Reply():
                    emit_usage(turn, chunk, wrap_up=head is not None)
                    return chunk
                case _:
                    assert_never(chunk)
    raise AssertionError("a model stream must end with a Reply")


async def run_calls(turn: Turn, calls: Sequence[ToolCall], known: Mapping[str, ToolResult] | None = None) -> bool:
    """Run calls in order, neighbouring parallel ones side by side. One result per call, even when cancelled.

    Those in `known` have theirs already.

    Returns:
        Whether every call named a tool that this agent does not have.
    """
    done = {call_id: CallOutcome(result=result) for call_id, result in (known or {}).items()}
    to_run = [call for call in calls if call.call_id not in done]

    async def run(call: ToolCall) -> None:
        done[call.call_id] = await turn.call(turn.turn_id, call)

    try:
        for batch in batches(turn.parallel, to_run):
            if len(batch) == 1:
                await run(batch[0])
            else:
                async with asyncio.TaskGroup() as group:
                    for call in batch:
                        group.create_task(run(call))
    finally:
        if len(done) == len(calls) or not turn.leaving():
            for call in calls:
                if call.call_id not in done:
                    done[call.call_id] = unfinished(turn, call)
            add(turn, ToolMessage(results=tuple(done[call.call_id].result for call in calls)))
        turn.partial.clear()
    return all(outcome.missed for outcome in done.values())


def batches(parallel: Callable[[str], bool], calls: Sequence[ToolCall]) -> list[list[ToolCall]]:
    """Split calls into runs of neighbours that may go side by side, and single ones that may not."""
    result: list[list[ToolCall]] = []
    previous = False
    for call in calls:
        beside = parallel(call.name)
        if beside and previous:
            result[-1].append(call)
        else:
            result.append([call])
        previous = beside
    return result


def unfinished(turn: Turn, call: ToolCall) -> CallOutcome:
    """The result of a call that was cut off, or never came to its turn."""
    text = "The call did not finish: the turn was interrupted. Whether it had an effect is unknown."
    turn.emit(
        events.ToolFinished(
            **turn.who,
            turn_id=turn.turn_id,
            call_id=call.call_id,
            tool=call.name,
            text=text,
            is_error=True,
        )
    )
    return CallOutcome(result=ToolResult(call_id=call.call_id, text=text, is_error=True))


async def wrap_up(turn: Turn, reason: str) -> None:
    """Ask once, with tools off and a time limit, for what there is to report; failing that, there is just no report."""
    if turn.report is None:
        return
    head, question = turn.report(reason)
    add(turn, question)
    try:
        async with asyncio.timeout(turn.wrap_up_s):
            reply = await stream_reply(turn, turn.max_steps + 1, head)
    except (TimeoutError, ModelError) as error:
        turn.emit(
            events.Notice(
                **turn.who,
                level="warning",
                text=f"No closing report: {str(error) or 'the time for it ran out'}",
            )
        )
        return
    add_reply(turn, AssistantMessage(parts=tuple(p for p in reply.message.parts if p.kind != "tool_call")))


def last_text(conversation: Conversation) -> str:
    """The text of the last message, if that is the assistant's."""
    last = conversation.messages[-1] if conversation.messages else None
    return last.text.strip() if isinstance(last, AssistantMessage) else ""


def add(turn: Turn, message: Message) -> None:
    """Append a message and say so."""
    turn.conversation.add(message)
    turn.emit(events.MessageAdded(**turn.who, message=message))


def add_reply(turn: Turn, reply: AssistantMessage) -> None:
    """Append the assistant's message; one without words and calls is dropped, since no provider takes it back."""
    if reply.calls or reply.text.strip():
        add(turn, reply)
    turn.partial.clear()


def emit_usage(turn: Turn, reply: Reply, *, wrap_up: bool) -> None:
    """Report what a request used, exactly once for each request that was answered."""
    if reply.usage is not None:
        turn.conversation.billed(reply.usage)
    turn.emit(usage_reported(turn.who, turn.conversation.model.id, reply, "wrap_up" if wrap_up else "step"))


def emit_ended(turn: Turn, ending: Ending) -> None:
    """The turn's last event."""
    turn.emit(events.TurnEnded(**turn.who, turn_id=turn.turn_id, stop=ending.stop, reason=ending.reason))
