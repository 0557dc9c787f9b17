"""A file that only grows, a record at a time: one write each, taken back whole when it could not be made whole."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ensign.store.errors import StoreError

_flush: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)
"""macOS has no fdatasync."""


class Fence(Protocol):
    """The claim under which a session is written."""

    @property
    def epoch(self) -> int:
        """The claim's number; every later claim's is higher."""
        ...

    def check(self) -> None:
        """Raise `FencedError` once a later claim has been made."""
        ...


class Journal(Protocol):
    """Where a transcript's lines go."""

    def append(self, line: bytes) -> None:
        """Add a line whole, or raise `StoreError` and leave what was there."""
        ...

    async def sync(self) -> None:
        """Return when all lines would survive a loss of power."""
        ...

    def close(self) -> None:
        """Let go of the file; closing twice is nothing."""
        ...


class FileJournal:
    """A journal in a file, written by its one owner."""

    __slots__ = ("_fd", "_fence", "_folder_synced", "_good_bytes", "_path")

    def __init__(self, path: Path, fence: Fence) -> None:
        self._path = path
        self._fence = fence
        self._folder_synced = False
        self._good_bytes: int | None = None
        """Where the file must be cut before anything is appended; None when its end is whole."""
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(f"cannot open {str(path)!r}: {error.strerror}") from error

    def append(self, line: bytes) -> None:
        """Add a line with one write.

        Raises:
            StoreError: it could not be written whole; nothing of it is left in the file.
            FencedError: the session has a later owner.
        """
        if self._fd < 0:
            raise StoreError(f"{str(self._path)!r} is closed")
        try:
            self._fence.check()
            if self._good_bytes is not None:
                self._cut(self._good_bytes)
            written = os.write(self._fd, line)
            if written != len(line):
                self._cut(os.fstat(self._fd).st_size - written)
        except OSError as error:
            raise StoreError(f"cannot write {str(self._path)!r}: {error.strerror}") from error
        if written != len(line):
            raise StoreError(
                f"cannot write {str(self._path)!r}: the disk took {written} of {len(line)} bytes, "
                "which were taken back; make room and try again"
            )

    def _cut(self, size: int) -> None:
        self._good_bytes = size
        os.ftruncate(self._fd, size)
        self._good_bytes = None

    async def sync(self) -> None:
        """Return when all lines would survive a loss of power.

        Raises:
            StoreError: the disk reported that it cannot keep them.
        """
        if self._fd < 0:
            return
        # A descriptor of its own: closing the journal meanwhile must not make the thread flush another file.
        await asyncio.to_thread(self._sync, os.dup(self._fd))

    def _sync(self, fd: int) -> None:
        try:
            _flush(fd)
            if not self._folder_synced:
                sync_folder(self._path.parent)
                self._folder_synced = True
        except OSError as error:
            raise StoreError(f"cannot secure {str(self._path)!r}: {error.strerror}") from error
        finally:
            os.close(fd)

    def mend(self, whole_bytes: int, *, unterminated: bool) -> None:
        """Cut a torn tail, or close the last line, before the next append."""
        try:
            if os.fstat(self._fd).st_size > whole_bytes:
                self._cut(whole_bytes)
        except OSError as error:
            raise StoreError(f"cannot write {str(self._path)!r}: {error.strerror}") from error
        if unterminated:
            self.append(b"\n")

    def close(self) -> None:
        """Let go of the file; closing twice is nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class MemoryJournal:
    """A journal for when there is no disk: it lives as long as the process."""

    __slots__ = ("data",)

    def __init__(self, data: bytearray) -> None:
        self.data = data

    def append(self, line: bytes) -> None:
        """Add a line."""
        self.data += line

    async def sync(self) -> None:
        """Nothing survives anyway."""

    def close(self) -> None:
        """Nothing is held."""


def sync_folder(folder: Path) -> None:
    """Make a folder's entries survive a loss of power."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in place in one move: readers see the old one or all of the new one.

    Raises:
        StoreError: it could not be written; what was there stays.
    """
    temporary = path.with_name(f".{path.name}{TEMPORARY}")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(fd, rest) :]
        finally:
            os.close(fd)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(f"cannot write {str(path)!r}: {error.strerror}") from error


TEMPORARY = ".tmp"
"""What a file ends with that is not in place yet; the next owner removes what a crash left."""
