"""The main agent's turns, one after the other: a person's prompts in their order, and wake-ups by notifications."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from ensign.models.base import Model
from ensign.protocol.errors import EnsignError
from ensign.protocol.ids import new_id
from ensign.protocol.messages import Message, Usage, UserMessage
from ensign.protocol.run import LeftOpen, Limits
from ensign.protocol.settings import Settings
from ensign.protocol.value import frozen
from ensign.runtime.agent import Agent
from ensign.runtime.compaction import Compaction
from ensign.runtime.context import CURRENT
from ensign.runtime.interrupt import Interrupt
from ensign.runtime.limits import Meter, Stopwatch
from ensign.runtime.turn import Ending, Turn, run_turn
from ensign.tasks.run import wrap_up_request

MISSES = 3
"""Consecutive steps of only unknown or refused tools that end a main agent's turn (T4)."""

log = logging.getLogger(__name__)


@frozen
class Prompt:
    """A turn that waits to be run; without a message it goes on with open calls, or only takes what is in the inbox."""

    turn_id: str
    message: UserMessage | None
    left_open: LeftOpen | None = None


@frozen
class Terms:
    """What turns are run under, read at each start.

    Attributes:
        limits, wrap_up_s: from the settings and whoever started the server (A10).
        session_left: tokens of the session's budget, None without one.
        wake: whether a notification may start a turn.
        ready: waits, before a step, for what the conversation must have to begin with.
    """

    limits: Callable[[], Limits]
    wrap_up_s: Callable[[], float]
    session_left: Callable[[], int | None]
    wake: Callable[[], bool]
    ready: Callable[[], Awaitable[None]]


def main_limits(settings: Settings) -> Limits:
    """What a main agent's turn may use: the smallest of the settings and whoever started the server (A10)."""
    return Limits(
        max_turns=min(settings.max_turns, settings.limits_max_turns or settings.max_turns),
        max_tokens=settings.limits_max_tokens,
        timeout_s=settings.limits_timeout_s,
    )


class Running:
    """What a turn has used of its limits, and the way to end it early but in order."""

    def __init__(self, limits: Limits, session_left: Callable[[], int | None]) -> None:
        self.limits = limits
        self.interrupt = Interrupt()
        self.meter = Meter(limits, session_left)
        reason = f"limit of {limits.timeout_s:g} seconds reached" if limits.timeout_s is not None else ""
        self.stopwatch = Stopwatch(limits.timeout_s, lambda: self.interrupt.request(reason))


class Turns:
    """Runs turns of one agent. `turn_id` is that of the running turn, None when idle."""

    def __init__(self, agent: Agent, compaction: Compaction, terms: Terms) -> None:
        self._agent = agent
        self._terms = terms
        self._queue: deque[Prompt] = deque()
        self._held: list[Prompt] = []
        self._running: asyncio.Task[Ending] | None = None
        self._use: Running | None = None
        self._compaction = compaction
        self._closed = ""
        self._quiet = False
        self._next_model: Model | None = None
        self.turn_id: str | None = None
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def queued(self) -> tuple[str, ...]:
        """The texts that wait, oldest first."""
        return tuple(prompt.message.text for prompt in (*self._held, *self._queue) if prompt.message is not None)

    @property
    def model_id(self) -> str:
        """The model of the next turn."""
        return (self._next_model or self._agent.conversation.model).id

    def start(self, message: UserMessage, turn_id: str | None = None) -> str:
        """Run a turn for this message as soon as the ones before it are over; return its id."""
        prompt = Prompt(turn_id=turn_id or new_id(), message=message)
        self._queue += [*self._held, prompt]
        self._held.clear()
        self._quiet = False
        self._next()
        return prompt.turn_id

    def hold(self, message: UserMessage) -> None:
        """Queue a prompt of an earlier process; it runs with the next one a person starts (B10: nothing by itself)."""
        self._held.append(Prompt(turn_id=new_id(), message=message))

    def go_on(self, left_open: LeftOpen) -> None:
        """Run the turn on that an earlier process left while a person was asked (B10)."""
        self._queue.append(Prompt(turn_id=new_id(), message=None, left_open=left_open))
        self._next()

    def wake(self) -> None:
        """Start a turn for what is in the inbox, unless one runs (which takes it) or nobody wants that."""
        wanted = self._agent.inbox.rousing and not self._quiet and self._terms.wake()
        if wanted and self._running is None and not self._queue:
            self._queue.append(Prompt(turn_id=new_id(), message=None))
            self._next()

    def hush(self, *, quiet: bool = True) -> None:
        """Let no notification start a turn until a person sets something going again (B3: after "stop all")."""
        self._quiet = quiet

    def retarget(self, model: Model) -> None:
        """Go on with another model from the next turn."""
        self._next_model = model

    def wrap_up(self, reason: str) -> None:
        """Have the running turn, if there is one, report now with tools off."""
        if self._use is not None:
            self._use.interrupt.request(reason)

    def count(self, usage: Usage) -> None:
        """The agent sent a request that used this."""
        if self._use is not None:
            self._use.meter.add(usage)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the running turn's clock stand still while inside: it waits for a person (A10)."""
        if self._use is None:
            yield
            return
        with self._use.stopwatch.paused():
            yield

    async def cancel(self) -> bool:
        """Cancel the running turn and return once it is over; False when none runs."""
        running = self._running
        if running is None:
            return False
        running.cancel()
        await asyncio.wait({running})
        return True

    async def close(self, reason: str) -> None:
        """Cancel what runs and run nothing more."""
        self._closed = reason
        self._queue.clear()
        await self.cancel()

    def _next(self) -> None:
        if self._running is not None or not self._queue or self._closed:
            return
        prompt = self._queue.popleft()
        self.turn_id = prompt.turn_id
        self.idle.clear()
        self._running = asyncio.create_task(self._run(prompt), name=f"turn {prompt.turn_id[-6:]}")
        self._running.add_done_callback(self._done)

    async def _run(self, prompt: Prompt) -> Ending:
        agent = self._agent
        CURRENT.set(agent.context)
        if self._next_model is not None:
            agent.conversation.retarget(self._next_model, agent.head_for(self._next_model))
            self._next_model = None
        messages: tuple[Message, ...] = (prompt.message,) if prompt.message is not None else ()
        use = self._use = Running(self._terms.limits(), self._terms.session_left)
        try:
            return await run_turn(self._turn(prompt, use), messages)
        finally:
            use.stopwatch.stop()
            self._use = None

    def _turn(self, prompt: Prompt, use: Running) -> Turn:
        agent = self._agent

        async def before_step() -> str | None:
            await self._terms.ready()
            # A summary is a request too: the limits are asked before it and after it.
            if limit := use.meter.reached():
                return limit
            await self._compaction.before_step()
            return use.meter.reached() or self._compaction.stuck

        return Turn(
            turn_id=prompt.turn_id,
            who=agent.who,
            conversation=agent.conversation,
            call=agent.gate().run,
            parallel=agent.parallel,
            emit=agent.emit,
            inbox=agent.inbox,
            interrupt=use.interrupt,
            before_step=before_step,
            compact=self._compaction.shorten,
            report=lambda reason: wrap_up_request(agent, reason),
            max_steps=use.limits.max_turns,
            max_misses=MISSES,
            wrap_up_s=self._terms.wrap_up_s(),
            leaving=lambda: self._closed,
            left_open=prompt.left_open,
        )

    def _done(self, running: asyncio.Task[Ending]) -> None:
        self._running = None
        self.turn_id = None
        error = None if running.cancelled() else running.exception()
        if error is not None and not isinstance(error, EnsignError):
            # The person has been told by `turn_failed`; a bug's traceback is for the log.
            log.error("a turn broke", exc_info=error)
        self._next()
        if self._running is None:
            self.wake()
        if self._running is None:
            self.idle.set()
