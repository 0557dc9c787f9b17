"""One run of a task: wait for a place, be born, take the turn, and say how it ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from ensign.models.base import Head
from ensign.protocol.errors import EnsignError, ModelError, ModelErrorKind
from ensign.protocol.ids import new_id
from ensign.protocol.messages import Message, StopReason, UserMessage
from ensign.protocol.run import LeftOpen
from ensign.protocol.settings import SubagentSettings
from ensign.protocol.tasks import TaskState
from ensign.protocol.value import frozen
from ensign.runtime.agent import Agent
from ensign.runtime.compaction import Compaction
from ensign.runtime.context import CURRENT
from ensign.runtime.limits import Meter, Stopwatch
from ensign.runtime.turn import Ending, Turn, last_text, run_turn
from ensign.tasks.places import Places
from ensign.tasks.task import Task, TaskEnd

MISSES = 2
"""Consecutive steps of only unknown or refused tools that end a subagent (T4)."""

log = logging.getLogger(__name__)


@frozen
class Birth:
    """A subagent that is ready to run its first step: after calls that were left open, with these messages."""

    agent: Agent
    prompt: tuple[Message, ...]
    compaction: Compaction
    left_open: LeftOpen | None = None


@frozen
class Conditions:
    """What a run depends on beside its task."""

    places: Places
    born: Callable[[], Awaitable[Birth]]
    settings: SubagentSettings
    session_left: Callable[[], int | None]
    clock: Callable[[], float]


async def live(task: Task, conditions: Conditions) -> TaskEnd:
    """Run the task once; whatever goes wrong gets out as an exception and is read by `end_of`."""
    # Before there is a place: a task that waits for one is on disk, and survives a crash like any other.
    birth = await conditions.born()
    task.agent = birth.agent
    task.born = True
    task.ready.set()
    async with conditions.places.taken_one():
        task.move(TaskState.RUNNING, started_at=conditions.clock(), activity="starting")
        CURRENT.set(birth.agent.context)
        limits = task.spec.limits
        task.meter = Meter(limits, conditions.session_left)
        task.stopwatch = Stopwatch(
            limits.timeout_s, lambda: task.interrupt.request(f"limit of {limits.timeout_s:g} seconds reached")
        )
        try:
            ending = await run_turn(turn_of(task, birth, conditions.settings), birth.prompt)
        finally:
            task.stopwatch.stop()
    return natural_end(ending, has_report=bool(last_text(birth.agent.conversation)))


def turn_of(task: Task, birth: Birth, settings: SubagentSettings) -> Turn:
    """The turn that a run is."""
    meter = task.meter
    agent, compaction = birth.agent, birth.compaction

    async def before_step() -> str | None:
        if meter is not None and (limit := meter.reached()):
            # Before compaction too: a summary is a request of its own.
            return limit
        await compaction.before_step()
        return (meter.reached() if meter is not None else None) or compaction.stuck

    return Turn(
        turn_id=new_id(),
        who=agent.who,
        conversation=agent.conversation,
        call=agent.gate().run,
        parallel=agent.parallel,
        emit=agent.emit,
        inbox=task.inbox,
        interrupt=task.interrupt,
        before_step=before_step,
        compact=compaction.shorten,
        report=lambda reason: wrap_up_request(agent, reason),
        max_steps=task.spec.limits.max_turns,
        max_misses=MISSES,
        wrap_up_s=settings.wrap_up_seconds,
        leaving=lambda: leaving(task),
        left_open=birth.left_open,
        partial=task.partial,
    )


def leaving(task: Task) -> str:
    """Why the process lets go of a run that it would otherwise go on with; empty while it does not."""
    stop = task.told_to_stop
    return stop.reason if stop is not None and stop.state is TaskState.INTERRUPTED else ""


def wrap_up_request(agent: Agent, reason: str) -> tuple[Head, Message]:
    """The one request beyond a limit: tools off, report now (A10)."""
    why = f"This run ends now: {reason}." if reason else "Your last message had no text."
    text = (
        f"{why} This message comes from the Ensign runtime. You have no tools any more. Write your report now, from "
        "what you know: what was asked, what you found with evidence, what you changed, what remains open."
    )
    return agent.head(tools_off=True), UserMessage(text=text, origin="runtime")


def natural_end(ending: Ending, *, has_report: bool) -> TaskEnd:
    """The state a run reached by itself; one without a final text is never `completed` (A6)."""
    if ending.reason:
        return TaskState.PARTIAL, ending.reason
    match ending.stop:
        case StopReason.MAX_TOKENS:
            return TaskState.PARTIAL, "the model's limit of output tokens was reached"
        case StopReason.REFUSAL:
            return TaskState.PARTIAL, "the model refused to go on"
        case _:
            return (TaskState.COMPLETED, "") if has_report else (TaskState.PARTIAL, "it ended without a report")


def end_of(task: Task, run: asyncio.Task[TaskEnd]) -> TaskEnd:
    """Read how the run's asyncio task ended; any exception is a `failed` run and nobody else's (A9)."""
    if run.cancelled():
        stop = task.told_to_stop
        return (stop.state, stop.reason) if stop is not None else (TaskState.FAILED, "its run was cancelled")
    error = run.exception()
    if error is None:
        return run.result()
    if isinstance(error, ModelError) and error.kind is ModelErrorKind.STALLED:
        reason = "stalled"
    elif isinstance(error, EnsignError):
        reason = str(error)
    else:
        log.error("subagent %s failed", task.record.short_id, exc_info=error)
        reason = f"internal error: {describe(error)}"
    task.facts.error(reason)
    return TaskState.FAILED, reason


def describe(error: BaseException) -> str:
    """Name the first cause of an error, looking into groups."""
    causes: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return describe(causes[0]) if causes else f"{type(error).__name__}: {error}"
