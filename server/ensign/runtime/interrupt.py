"""Ending a turn early but in order: cut the running step short, so that the agent can still report."""

from __future__ import annotations

import asyncio


class Interrupt:
    """A request to wrap up, from a limit or a person.

    It cancels the turn's asyncio task once; the turn recognizes the cancellation as its own by `reason`, completes
    the history and asks for the report. A plain cancellation (stop) has no reason and is passed on.
    """

    __slots__ = ("_task", "reason")

    def __init__(self) -> None:
        self.reason: str | None = None
        self._task: asyncio.Task[object] | None = None

    def arm(self) -> None:
        """Watch the current asyncio task; a request made before takes effect at once."""
        self._task = asyncio.current_task()
        if self.reason is not None and self._task is not None:
            self._task.cancel()

    def disarm(self) -> None:
        """The turn is past the point where it could be cut short."""
        self._task = None

    def request(self, reason: str) -> None:
        """Ask the turn to wrap up; the first reason stays."""
        if self.reason is not None:
            return
        self.reason = reason
        if self._task is not None:
            self._task.cancel()

    def absorbs(self) -> bool:
        """Whether the cancellation that was just caught is ours alone; if so it is taken back."""
        task = asyncio.current_task()
        if self.reason is None or task is None or task is not self._task:
            return False
        self._task = None
        return task.uncancel() == 0
