"""A program that is spoken with over its standard input and output, and that is ended with all that it started."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from ensign.workspace.child import Child

_ERROR_BYTES = 4000
_CHUNK = 1 << 16
_DRAINS = 100
"""What it had written is at most so many pipes full; what it left behind may write for ever."""
_LEAVE_S = 1.0
"""How long a program may take to end by itself once its input is closed."""
_GRACE_S = 0.5


class Peer:
    """A running program. Whoever opens it must await `end`.

    Its standard output goes to whoever opened it; the end of its standard error is kept for when it fails.
    """

    def __init__(self, child: Child, stdin: int, errors: int, forget: Callable[[], None]) -> None:
        self._child = child
        self._stdin: int | None = stdin
        self._errors: int | None = errors
        self._forget = forget
        self._said = bytearray()
        self._loop = asyncio.get_running_loop()
        self._full: asyncio.Future[None] | None = None
        self._ended = False
        self._code: int | None = None
        os.set_blocking(stdin, False)
        os.set_blocking(errors, False)
        self._loop.add_reader(errors, self._hear)

    @property
    def errors(self) -> str:
        """What it last wrote to standard error."""
        return self._said.decode("utf-8", "replace").strip()

    async def write(self, data: bytes) -> None:
        """Hand it `data`, all of it; waits while the program does not read. One writer at a time.

        Raises:
            OSError: it reads no more.
        """
        view = memoryview(data)
        while view:
            if self._stdin is None:
                raise BrokenPipeError
            try:
                view = view[os.write(self._stdin, view) :]
            except BlockingIOError:
                await self._room(self._stdin)

    def pause(self, seconds: float) -> None:
        """Read nothing from it for a moment."""
        self._child.pause(seconds)

    async def wait(self) -> None:
        """Wait until the program itself has ended, and hand on what it had still written."""
        await self._child.wait(None)
        for _ in range(_DRAINS):
            if not self._child.drain():
                break
            await asyncio.sleep(0)
        if self._errors is not None:
            self._hear()

    async def end(self) -> int | None:
        """End it: close its input, then ask, then make it. Returns its exit code, None when it was made to end.

        Nothing of it is left when this returns, also when the caller is cancelled meanwhile.
        """
        if self._ended:
            return self._code
        self._ended = True
        try:
            self._close_input()
            if await self._child.wait(_LEAVE_S) and not await self._child.survivors():
                self._code = self._child.finish()
            else:
                await self._child.end(_GRACE_S)
        finally:
            self._child.kill()
            self._close_input()
            if self._errors is not None:
                self._loop.remove_reader(self._errors)
                os.close(self._errors)
                self._errors = None
            self._forget()
        return self._code

    async def _room(self, descriptor: int) -> None:
        self._full = self._loop.create_future()
        self._loop.add_writer(descriptor, self._has_room)
        try:
            await self._full
        finally:
            if self._stdin is not None:
                self._loop.remove_writer(descriptor)
            self._full = None

    def _has_room(self) -> None:
        if self._full is not None and not self._full.done():
            self._full.set_result(None)

    def _close_input(self) -> None:
        if self._stdin is None:
            return
        self._loop.remove_writer(self._stdin)
        os.close(self._stdin)
        self._stdin = None
        self._has_room()

    def _hear(self) -> None:
        assert self._errors is not None
        with suppress(BlockingIOError):
            while chunk := os.read(self._errors, _CHUNK):
                self._said += chunk
                del self._said[:-_ERROR_BYTES]
                if len(chunk) < _CHUNK:
                    return
            self._loop.remove_reader(self._errors)
