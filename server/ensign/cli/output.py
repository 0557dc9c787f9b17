"""A standard stream as a command writes to it: in order, without waiting, and it never breaks the command."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import TextIO


class Output:
    """Hands what is written to a thread, so that a paused reader (`less`, a full pipe) delays nothing but itself.

    When the reader has gone, `on_gone` is called once on the loop, and what is written later is dropped. Characters
    that the stream's encoding does not have are written as escapes. Usable on a running event loop.

    Attributes:
        terminal: whether a person looks at it.
    """

    def __init__(self, stream: TextIO | None, on_gone: Callable[[], None]) -> None:
        self._stream: TextIO | None = stream
        self.terminal = stream is not None and stream.isatty()
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._waiting: SimpleQueue[str | asyncio.Future[None]] = SimpleQueue()
        self._thread: Thread | None = None

    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal."""
        try:
            columns, rows = os.get_terminal_size(self._stream.fileno() if self._stream is not None else -1)
        except OSError:
            columns = rows = 0
        return columns or 80, rows or 24

    def write(self, text: str) -> None:
        """Have text written soon."""
        if self._stream is None:
            return
        self._waiting.put(text)
        if self._thread is None:
            self._thread = Thread(target=self._work, name="output", daemon=True)
            self._thread.start()

    async def drain(self) -> None:
        """Return once everything before is with the reader, or the reader has gone."""
        if self._thread is not None:
            written: asyncio.Future[None] = self._loop.create_future()
            self._waiting.put(written)
            await written

    def _work(self) -> None:
        stream = self._stream
        while True:
            item = self._waiting.get()
            if not isinstance(item, str):
                self._loop.call_soon_threadsafe(_settle, item)
            elif stream is not None:
                try:
                    stream.write(item)
                    if self._waiting.empty():
                        stream.flush()
                except (OSError, ValueError):
                    # A broken pipe, a full disk, a closed stream: there is nobody to tell it to.
                    stream = None
                    self._loop.call_soon_threadsafe(self._on_gone)


def _settle(written: asyncio.Future[None]) -> None:
    if not written.done():
        written.set_result(None)
