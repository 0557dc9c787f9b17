"""Silence is told from work (A11): a stream without a byte for too long is given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from ensign.models.base import Chunk, TextChunk
from ensign.models.clock import Clock, Timer
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.value import frozen

Attempt = Callable[[Callable[[], None]], AsyncGenerator[Chunk, None]]
"""Starts one request; the argument is to be called whenever bytes arrive, be they only a keep-alive comment."""


@frozen
class StreamLimits:
    """How long a stream may be silent.

    Attributes:
        stall_s: without a byte, once a token has come.
        first_token_s: without a byte, before that.
        kept_alive_s: altogether in one request, during which nothing but keep-alives came.
    """

    stall_s: float = 120
    first_token_s: float = 300
    kept_alive_s: float = 1800


async def watched(attempt: Attempt, limits: StreamLimits, clock: Clock) -> AsyncGenerator[Chunk, None]:
    """Yield what `attempt` yields.

    Time counts only while we wait for the server, in ticks; a tick that took far longer than it should (the machine
    slept, the clock jumped) counts as one, and a clock that goes back counts as nothing.

    Raises:
        ModelError: `STALLED`, with the text so far.
    """
    watch = _Watch(limits, clock)
    said: list[str] = []
    try:
        async with aclosing(attempt(watch.heard)) as chunks:
            while True:
                watch.begin()
                try:
                    chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
                except asyncio.CancelledError:
                    if not watch.gave_up():
                        raise
                    raise watch.error("".join(said)) from None
                finally:
                    watch.waiting = None
                watch.spoke()
                if isinstance(chunk, TextChunk):
                    said.append(chunk.text)
                yield chunk
    finally:
        watch.stop()


class _Watch:
    """Counts silence in ticks and cancels the waiting task when there was too much, as `asyncio.timeout` does."""

    def __init__(self, limits: StreamLimits, clock: Clock) -> None:
        self.waiting: asyncio.Task[object] | None = None
        self._limits = limits
        self._clock = clock
        self._tick_s = max(0.01, min(5.0, limits.stall_s / 8, limits.first_token_s / 8, limits.kept_alive_s / 8))
        self._last = clock.now()
        self._silent_s = 0.0
        self._kept_alive_s = 0.0
        self._bytes = False
        self._token = False
        self._any_token = False
        self._cancelling = 0
        self._fired = False
        self._timer: Timer | None = clock.call_later(self._tick_s, self._tick)

    def heard(self) -> None:
        self._bytes = True

    def spoke(self) -> None:
        self._token = self._any_token = True

    def begin(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "a stream is read in a task"
        self.waiting = task
        self._cancelling = task.cancelling()

    def gave_up(self) -> bool:
        """Whether the cancellation that has just arrived is ours alone; it is taken back then."""
        return self._fired and self.waiting is not None and self.waiting.uncancel() <= self._cancelling

    def error(self, text: str) -> ModelError:
        limit = self._limits.stall_s if self._any_token else self._limits.first_token_s
        what = f"sent nothing for {limit:g} s"
        if self._silent_s < limit:
            what = f"sent only keep-alives for {self._limits.kept_alive_s:g} s"
        return ModelError(f"the model's server {what}", kind=ModelErrorKind.STALLED, retryable=True, partial_text=text)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        now = self._clock.now()
        passed = min(max(now - self._last, 0.0), 2 * self._tick_s)
        self._last = now
        if self._token or self.waiting is None:
            self._silent_s = 0.0
        elif self._bytes:
            self._kept_alive_s += self._silent_s + passed
            self._silent_s = 0.0
        else:
            self._silent_s += passed
        self._token = self._bytes = False
        limit = self._limits.stall_s if self._any_token else self._limits.first_token_s
        too_long = self._silent_s >= limit or self._kept_alive_s >= self._limits.kept_alive_s
        if too_long and self.waiting is not None:
            self._fired = True
            self._timer = None
            self.waiting.cancel()
            return
        self._timer = self._clock.call_later(self._tick_s, self._tick)
