"""How many subagents run at once: places taken in the order of asking, given back while a task waits for a person."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Places:
    """A first-come, first-served count of running tasks; the limit is read anew at each change (A8)."""

    __slots__ = ("_limit", "_queue", "taken")

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._queue: deque[asyncio.Future[None]] = deque()
        self.taken = 0

    @asynccontextmanager
    async def taken_one(self) -> AsyncIterator[None]:
        """Hold a place while inside; waits for one."""
        await self._take()
        try:
            yield
        finally:
            self._give_back()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Give the held place to others while inside (a task that waits for a person holds none, L1)."""
        self._give_back()
        try:
            yield
        finally:
            await self._take_shielded()

    async def _take(self) -> None:
        if self.taken < self._limit() and not self._queue:
            self.taken += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back()
            elif turn in self._queue:
                self._queue.remove(turn)
            raise

    async def _take_shielded(self) -> None:
        # The holder's own `finally` gives a place back, so one must be held again even when the task is being
        # cancelled: count it at once rather than wait in the queue.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            self.taken += 1
            return
        try:
            await self._take()
        except asyncio.CancelledError:
            self.taken += 1
            raise

    def _give_back(self) -> None:
        self.taken -= 1
        while self._queue and self.taken < self._limit():
            turn = self._queue.popleft()
            if not turn.done():
                self.taken += 1
                turn.set_result(None)
