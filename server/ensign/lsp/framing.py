"""Bytes to frames and back, without I/O: what may arrive on a pipe that any program can write to.

A stream that is not ours at all (`GarbageError`) ends; a fault between two good frames is reported and skipped.
"""

from __future__ import annotations

import json
import re

from ensign.protocol.value import frozen

MAX_FRAME = 64 * 1024 * 1024
"""Bytes of a body that is still read (`contract.md`)."""

_MAX_GARBAGE = 64 * 1024
"""Bytes without a usable header after which a stream is given up."""

_KEPT = 16 * 1024
"""Bytes kept of each end of a refused body: enough to find its id and method."""

_END_OF_HEADER = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*(?=\r?\n|\Z)", re.IGNORECASE)
_HEADER_LINE = re.compile(rb"[!#-'*+.^_`|~0-9A-Za-z-]+[ \t]*:[^\r\n]*\Z")


@frozen
class Body:
    """The body of a frame, whole."""

    data: bytes


@frozen
class Refused:
    """A frame over `MAX_FRAME`: its size and both ends."""

    size: int
    head: bytes
    tail: bytes


@frozen
class Garbage:
    """Bytes where a header was expected; the stream goes on behind them. Once for all that lies between two frames."""

    data: bytes


Frame = Body | Refused | Garbage


class GarbageError(Exception):
    """The other side does not speak this protocol."""


class Frames:
    """Splits a byte stream; give it what arrives, in pieces of any size."""

    def __init__(self, *, max_frame: int = MAX_FRAME) -> None:
        self._max_frame = max_frame
        self._buffer = bytearray()
        self._need: int | None = None
        self._skipping: _Skipped | None = None
        self._garbage = 0

    @property
    def inside_frame(self) -> bool:
        """Whether the stream would be torn if it ended now."""
        return bool(self._buffer) or self._need is not None or self._skipping is not None

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that `data` completes, in order.

        Raises:
            GarbageError: nothing like a header came in the last 64 KiB.
        """
        self._buffer += data
        frames: list[Frame] = []
        while self._step(frames):
            pass
        return frames

    def _step(self, frames: list[Frame]) -> bool:
        """Take one header, body or piece of a refused body from the buffer; False when more bytes are needed."""
        if self._skipping is not None:
            done = self._skipping.take(self._buffer)
            if done is None:
                return False
            frames.append(done)
            self._skipping = None
            return True
        if self._need is None:
            return self._header(frames)
        if len(self._buffer) < self._need:
            return False
        frames.append(Body(data=bytes(self._buffer[: self._need])))
        del self._buffer[: self._need]
        self._need = None
        self._garbage = 0
        return True

    def _header(self, frames: list[Frame]) -> bool:
        end = _END_OF_HEADER.search(self._buffer)
        if end is None:
            if len(self._buffer) + self._garbage > _MAX_GARBAGE:
                raise GarbageError(f"no frame header in {len(self._buffer) + self._garbage} bytes")
            return False
        head = bytes(self._buffer[: end.start()])
        del self._buffer[: end.end()]
        lengths = list(_LENGTH.finditer(head))
        before = head[: lengths[-1].start()] if lengths else head
        if not lengths or not _header_lines(before):
            if not self._garbage:
                frames.append(Garbage(data=before))
            self._garbage += end.end()
            if self._garbage > _MAX_GARBAGE:
                raise GarbageError(f"no frame header in {self._garbage} bytes")
        if lengths:
            size = int(lengths[-1][1])
            if size > self._max_frame:
                self._skipping = _Skipped(size)
            else:
                self._need = size
        return True


class _Skipped:
    """Lets a body pass that is too large to keep."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._left = size
        self._head = bytearray()
        self._tail = bytearray()

    def take(self, buffer: bytearray) -> Refused | None:
        piece = buffer[: self._left]
        del buffer[: len(piece)]
        self._left -= len(piece)
        self._head += piece[: max(0, _KEPT - len(self._head))]
        self._tail = (self._tail + piece)[-_KEPT:]
        if self._left:
            return None
        return Refused(size=self._size, head=bytes(self._head), tail=bytes(self._tail))


def _header_lines(data: bytes) -> bool:
    return all(_HEADER_LINE.match(line) for line in data.splitlines())


def frame(body: bytes) -> bytes:
    """Return `body` with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


_ID = re.compile(rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")\s*[,}]')
_METHOD = re.compile(rb'"method"\s*:\s*("(?:[^"\\]|\\.)*")')
_ID_AT_END = re.compile(
    rb'[{,]\s*"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")\s*'
    rb'(?:,\s*"(?:jsonrpc|method)"\s*:\s*"(?:[^"\\]|\\.)*"\s*)*\}\s*\Z'
)
_METHOD_AT_END = re.compile(
    rb'[{,]\s*"method"\s*:\s*("(?:[^"\\]|\\.)*")\s*'
    rb'(?:,\s*"(?:jsonrpc|id)"\s*:\s*(?:-?\d+|"(?:[^"\\]|\\.)*")\s*)*\}\s*\Z'
)


def envelope(refused: Refused) -> tuple[int | str | None, str | None]:
    """Return the id and method of a refused message, each None when neither end shows it.

    Only the top level counts: an `id` inside `params` or inside a string is somebody else's.
    """
    level = _top_level(refused.head)
    found_id = _ID.search(level) or _ID_AT_END.search(refused.tail)
    found_method = _METHOD.search(level) or _METHOD_AT_END.search(refused.tail)
    identifier: int | str | None = json.loads(found_id[1]) if found_id else None
    method: str | None = json.loads(found_method[1]) if found_method else None
    return identifier, method


def _top_level(head: bytes) -> bytes:
    """Return `head` up to the end of its last whole member at depth one, with nested values left out."""
    out = bytearray()
    depth = 0
    position = 0
    for token in _TOKEN.finditer(head):
        if token.start() != position:
            break
        position = token.end()
        text = token[0]
        if text in b"]}":
            depth -= 1
        if depth <= 1:
            out += text
        if text in b"[{":
            depth += 1
    return bytes(out)


_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^\[\]{}"]+')
