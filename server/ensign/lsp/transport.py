"""A byte stream to one client: a thread that reads, a thread that writes, and nobody else near the wire.

The event loop never waits for a pipe. What a client does not read piles up here, up to `MAX_BACKLOG`; then that client
counts as gone. Deltas are never merged on the way: an event's `seq` has no gaps (docs/decisions/0041).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable

from ensign.lsp.framing import Frame, Frames, GarbageError, frame
from ensign.protocol.value import frozen

MAX_BACKLOG = 64 * 1024 * 1024
"""Bytes that may wait for a client that does not read."""

CLEAN_END = "the client closed the connection"

_CHUNK = 64 * 1024
_IN_FLIGHT = 4
"""Reads whose frames may wait for the event loop: a flood from the client stays in the pipe, not in memory."""


@frozen
class Stream:
    """Where bytes come from and go to; both calls block."""

    read: Callable[[int], bytes]
    write: Callable[[bytes | memoryview], int]
    close: Callable[[], None]


def take_stdio() -> Stream:
    """Take standard input and output away from the rest of the process.

    Afterwards descriptor 0 is empty and descriptor 1 is standard error, for us, our libraries and our children:
    a stray `print` or a child that reads its input cannot touch the protocol.
    """
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a standard error
        os.dup2(null, 1)
        os.dup2(null, 2)
    os.close(null)
    if sys.platform == "win32":
        import msvcrt

        for fd in (source, sink):
            msvcrt.setmode(fd, os.O_BINARY)

    def close() -> None:
        os.close(sink)

    return Stream(read=lambda size: os.read(source, size), write=lambda data: os.write(sink, data), close=close)


def of_socket(connection: socket.socket) -> Stream:
    """A connected socket as a stream."""
    connection.setblocking(True)

    def close() -> None:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()

    return Stream(read=connection.recv, write=connection.send, close=close)


class Transport:
    """Frames in and out of a `Stream`.

    `on_frames` and `on_end` are called on the event loop. `on_end` comes once, with the reason in words.
    """

    def __init__(
        self,
        stream: Stream,
        *,
        on_frames: Callable[[list[Frame]], None],
        on_end: Callable[[str], None],
        max_backlog: int = MAX_BACKLOG,
    ) -> None:
        self._stream = stream
        self._on_frames = on_frames
        self._on_end = on_end
        self._max_backlog = max_backlog
        self._loop = asyncio.get_running_loop()
        self._credits = threading.Semaphore(_IN_FLIGHT)
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._idle = asyncio.Event()
        self._idle.set()
        self._ended = False

    def start(self) -> None:
        """Begin to read and write. The threads are daemons: a blocked read cannot keep the process alive."""
        threading.Thread(target=self._read, name="lsp-read", daemon=True).start()
        threading.Thread(target=self._write, name="lsp-write", daemon=True).start()

    def send(self, body: bytes) -> None:
        """Queue a message; dropped when the client is gone. Called on the event loop."""
        if self._ended:
            return
        data = frame(body)
        with self._changed:
            full = self._bytes > 0 and self._bytes + len(data) > self._max_backlog
            if not full:
                self._waiting.append(data)
                self._bytes += len(data)
                self._idle.clear()
                self._changed.notify()
        if full:
            self._end("the client stopped reading")

    async def flush(self, timeout_s: float) -> None:
        """Wait until all is written, at most `timeout_s` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()

    def close(self) -> None:
        """End both directions; nothing is reported any more."""
        self._ended = True
        with self._changed:
            self._waiting.clear()
            self._changed.notify()
        with contextlib.suppress(OSError):
            self._stream.close()

    def _end(self, reason: str) -> None:
        if not self._ended:
            self._ended = True
            self._idle.set()
            self._on_end(reason)

    def _post(self, callback: Callable[..., None], *arguments: object) -> bool:
        """Run `callback` on the loop; False when there is no loop any more."""
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            return False
        return True

    def _deliver(self, frames: list[Frame]) -> None:
        try:
            if not self._ended:
                self._on_frames(frames)
        finally:
            self._credits.release()

    def _read(self) -> None:
        frames = Frames()
        reason = CLEAN_END
        while True:
            try:
                data = self._stream.read(_CHUNK)
            except OSError as error:
                reason = f"reading failed: {error.strerror or error}"
                break
            if not data:
                if frames.inside_frame:
                    reason = "the client closed the connection inside a frame"
                break
            try:
                complete = frames.feed(data)
            except GarbageError as error:
                reason = f"the input is not the Language Server Protocol: {error}"
                break
            if complete:
                self._credits.acquire()
                if not self._post(self._deliver, complete):
                    return
        self._post(self._end, reason)

    def _write(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    if self._ended:
                        return
                    self._changed.wait()
                data = self._waiting.popleft()
                while self._waiting and len(data) < _CHUNK:
                    data += self._waiting.popleft()
            view = memoryview(data)
            try:
                while view:
                    view = view[self._stream.write(view) :]
            except OSError as error:
                self._post(self._end, f"writing failed: {error.strerror or error}")
                return
            with self._changed:
                self._bytes -= len(data)
                empty = self._bytes == 0
            if empty and not self._post(self._now_idle):
                return

    def _now_idle(self) -> None:
        with self._changed:
            if self._bytes == 0:
                self._idle.set()
