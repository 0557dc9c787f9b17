"""Server-sent events out of bytes, however the network cuts them.

Only CR, LF and CRLF end a line: JSON text may hold U+2028 and its like unescaped. `bytes.splitlines` agrees, so the
hot path has no loop over bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ensign.protocol.value import frozen

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""A line or event beyond this is no model's answer; `feed` raises `EventTooLargeError` instead of filling memory."""

_BOM = b"\xef\xbb\xbf"


class EventTooLargeError(Exception):
    """The server sent more than `MAX_EVENT_BYTES` without ending the event."""


@frozen(kw_only=False)
class ServerEvent:
    """One event: its name, empty when the server gave none, and its data lines, joined by LF."""

    name: str
    data: str


@dataclass(slots=True)
class SseParser:
    """Feed it what arrives; it returns the events that are complete. Comments, ids and retry hints are dropped."""

    _pieces: list[bytes] = field(default_factory=list[bytes])
    _pieces_size: int = 0
    _data_size: int = 0
    _data: list[bytes] = field(default_factory=list[bytes])
    _name: bytes = b""
    _after_cr: bool = False
    _at_start: bool = True

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Return the events that `chunk` completes, in order.

        Raises:
            EventTooLargeError: the event being received has no end in sight.
        """
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk[0] == 0x0A:
                chunk = chunk[1:]
        if b"\n" not in chunk and b"\r" not in chunk:
            self._hold(chunk)
            return []
        lines = chunk.splitlines()
        if self._pieces:
            self._pieces.append(lines[0])
            lines[0] = b"".join(self._pieces)
            self._pieces.clear()
            self._pieces_size = 0
        self._after_cr = chunk.endswith(b"\r")
        if not chunk.endswith((b"\n", b"\r")):
            self._hold(lines.pop())
        if self._at_start:
            self._at_start = False
            lines[0] = lines[0].removeprefix(_BOM)
        return self._take(lines)

    def close(self) -> list[ServerEvent]:
        """Return what stood at the end without its blank line, as servers that hang up early leave it."""
        rest = b"".join(self._pieces)
        self._pieces.clear()
        return self._take([rest, b""] if rest else [b""])

    def _hold(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._pieces_size += len(piece)
        self._check()

    def _check(self) -> None:
        if self._pieces_size + self._data_size > MAX_EVENT_BYTES:
            raise EventTooLargeError

    def _take(self, lines: list[bytes]) -> list[ServerEvent]:
        events: list[ServerEvent] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
                self._data_size += len(line)
            elif not line:
                if self._data:
                    data = b"\n".join(self._data).decode("utf-8", "replace")
                    events.append(ServerEvent(self._name.decode("utf-8", "replace"), data))
                    self._data.clear()
                self._name = b""
                self._data_size = 0
            elif line.startswith(b"event:"):
                self._name = line[6:].removeprefix(b" ")
            elif line == b"data":
                self._data.append(b"")
        self._check()
        return events
