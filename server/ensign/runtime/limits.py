"""What a run may use, measured on clocks that stand still while it waits for a person or a place (A10)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ensign.protocol.messages import Usage
from ensign.protocol.run import Limits


class Stopwatch:
    """Counts running time in seconds; several overlapping pauses count once. Calls `on_limit` when time is up."""

    __slots__ = ("_clock", "_limit_s", "_on_limit", "_pauses", "_since", "_spent", "_timer")

    def __init__(
        self, limit_s: float | None, on_limit: Callable[[], None], clock: Callable[[], float] | None = None
    ) -> None:
        self._clock = clock or asyncio.get_running_loop().time
        self._limit_s = limit_s
        self._on_limit = on_limit
        self._spent = 0.0
        self._pauses = 0
        self._since = self._clock()
        self._timer: asyncio.TimerHandle | None = None
        self._start()

    @property
    def elapsed_s(self) -> float:
        """Seconds that counted so far."""
        return self._spent + (0.0 if self._pauses else self._clock() - self._since)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stand still while inside."""
        if self._pauses == 0:
            self._spent += self._clock() - self._since
            self.stop()
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if self._pauses == 0:
                self._since = self._clock()
                self._start()

    def stop(self) -> None:
        """Let the limit never fire."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self) -> None:
        if self._limit_s is not None:
            left = max(0.0, self._limit_s - self._spent)
            self._timer = asyncio.get_running_loop().call_later(left, self._on_limit)


class Meter:
    """Tokens of a run against its limit, and of the session against the session's."""

    __slots__ = ("_limits", "_session_left", "used")

    def __init__(self, limits: Limits, session_left: Callable[[], int | None]) -> None:
        self._limits = limits
        self._session_left = session_left
        self.used = Usage()

    def add(self, usage: Usage) -> None:
        """Count one request."""
        self.used += usage

    def reached(self) -> str | None:
        """Name the limit that forbids a further request, or None. Asked before each request."""
        limit = self._limits.max_tokens
        if limit is not None and self.used.total >= limit:
            return f"limit of {limit:,} tokens reached"
        left = self._session_left()
        if left is not None and left <= 0:
            return "the session's token budget (subagents.sessionTokens) is used up"
        return None
