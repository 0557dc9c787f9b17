"""What a command writes: the beginning and the end in memory, all of it in a file once it is too long or no text."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ensign.protocol.value import frozen

_NEAR = 2000
"""Bytes within which a line end is preferred to cutting in a line."""


@frozen
class Captured:
    """The output of a command.

    Attributes:
        text: for the model; what is cut out of its middle is stated there in bytes.
        size_bytes: how much was written altogether.
        path: the file with the original bytes, or None when `text` is all of it.
    """

    text: str
    size_bytes: int
    path: Path | None


class Output:
    """Collects output in bounded memory and bounded disk."""

    def __init__(self, path: Path, *, keep_bytes: int, file_bytes: int) -> None:
        self._path = path
        self._half = keep_bytes // 2
        self._file_bytes = file_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._file: BinaryIO | None = None
        self._on_disk = 0
        self._failed = False
        self.size_bytes = 0

    @property
    def full(self) -> bool:
        """Whether more output is only counted."""
        return self._file is not None and self._on_disk >= self._file_bytes

    def write(self, chunk: bytes) -> None:
        """Take a chunk. Never raises: a full disk loses the rest of the file, not the command."""
        self.size_bytes += len(chunk)
        if self._file is not None:
            self._spill(chunk)
        elif self.size_bytes > 2 * self._half and not self._failed:
            self._open()
            self._spill(chunk)
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        if len(self._tail) > 4 * self._half:
            del self._tail[: -self._half]

    def last_line(self) -> str:
        """Return the latest line that is not blank, for people who watch."""
        lines = (self._tail or self._head)[-400:].decode("utf-8", "replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def finish(self) -> Captured:
        """Close the file and return what came."""
        if self.size_bytes <= 2 * self._half:
            text, valid = _decoded(bytes(self._head + self._tail))
            if not valid and not self._failed:
                self._open()
        else:
            text = self._shortened()
        path = None if self._failed or self._file is None else self._path
        self.discard()
        return Captured(text=text, size_bytes=self.size_bytes, path=path)

    def _shortened(self) -> str:
        # Cut between lines where one ends near by.
        head = bytes(self._head)
        if (end := head.rfind(b"\n", -_NEAR) + 1) > 0:
            head = head[:end]
        tail = bytes(self._tail[-self._half :])
        if (start := tail.find(b"\n", 0, _NEAR) + 1) > 0:
            tail = tail[start:]
        cut = self.size_bytes - len(head) - len(tail)
        if self._failed:
            where = "the rest could not be kept: the disk is full or read-only"
        elif self._on_disk < self.size_bytes:
            where = f"the first {self._on_disk:,} bytes are in {self._path}"
        else:
            where = f"all of it is in {self._path}"
        note = f"[... {cut:,} of {self.size_bytes:,} bytes cut here; {where} ...]"
        return f"{_decoded(head)[0]}\n{note}\n{_decoded(tail)[0]}"

    def discard(self) -> None:
        """Close the file; harmless when there is none."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None

    def _open(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("wb", buffering=0)
        except OSError:
            self._failed = True
        else:
            self._spill(bytes(self._head + self._tail))

    def _spill(self, chunk: bytes) -> None:
        chunk = chunk[: max(self._file_bytes - self._on_disk, 0)]
        if self._file is None or not chunk:
            return
        try:
            self._on_disk += self._file.write(chunk)
        except OSError:
            self._file_bytes = self._on_disk


def _decoded(data: bytes) -> tuple[str, bool]:
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), False
