"""A clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False)
class _Timer:
    due: float
    callback: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass
class ManualClock:
    """`now` and `wall` in seconds; `jump` moves what they say, and no timer, as a machine's sleep may."""

    time: float = 1000.0
    unix: float = 1_800_000_000.0
    waits: list[float] = field(default_factory=list[float])
    """Every delay that was asked for, in order."""
    _skew: float = 0.0
    _timers: list[_Timer] = field(default_factory=list[_Timer])

    def now(self) -> float:
        return self.time + self._skew

    def wall(self) -> float:
        return self.unix

    def call_later(self, seconds: float, callback: Callable[[], None]) -> _Timer:
        self.waits.append(seconds)
        timer = _Timer(self.time + seconds, callback)
        self._timers.append(timer)
        return timer

    def jump(self, seconds: float, *, wall: float | None = None) -> None:
        """Move the monotonic clock, and the wall clock by as much or by `wall`."""
        self._skew += seconds
        self.unix += seconds if wall is None else wall

    async def advance(self, seconds: float) -> None:
        """Let time pass: run what becomes due, in order, and after each let the tasks go as far as they can."""
        end = self.time + seconds
        await self._settle()
        while due := sorted((t for t in self._timers if not t.cancelled and t.due <= end), key=lambda t: t.due):
            timer = due[0]
            self._timers.remove(timer)
            self._pass(timer.due)
            timer.callback()
            await self._settle()
        self._timers = [timer for timer in self._timers if not timer.cancelled]
        self._pass(end)

    @property
    def pending(self) -> int:
        """How many timers wait."""
        return sum(not timer.cancelled for timer in self._timers)

    def _pass(self, until: float) -> None:
        passed = max(0.0, until - self.time)
        self.time += passed
        self.unix += passed

    async def _settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)
