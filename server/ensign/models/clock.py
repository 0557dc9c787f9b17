"""The clock that retries and the watchdog go by, passed in so that tests own time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A callback that is due; what `Clock.call_later` returns."""

    def cancel(self) -> None:
        """Forget the callback; harmless when it has run."""
        ...


class Clock(Protocol):
    """Time as the models see it."""

    def now(self) -> float:
        """Monotonic seconds from an arbitrary start."""
        ...

    def wall(self) -> float:
        """Unix seconds; may jump, so it is used for nothing but reading dates that a server sent."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Run `callback` in the event loop after so many monotonic seconds."""
        ...


class SystemClock:
    """The machine's clocks and the running event loop."""

    __slots__ = ()

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, callback)


async def sleep(clock: Clock, seconds: float) -> None:
    """Wait by `clock`; cancelling ends the wait at once."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake() -> None:
        if not done.done():
            done.set_result(None)

    timer = clock.call_later(seconds, wake)
    try:
        await done
    finally:
        timer.cancel()
