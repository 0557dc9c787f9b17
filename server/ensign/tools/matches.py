"""What ripgrep found, from its JSON to lines that a model reads."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from ensign.protocol.value import frozen
from ensign.workspace.textfile import showable

MAX_LINE_BYTES = 500
_BEFORE_BYTES = 150


@frozen
class Line:
    """A line of a file that matches, or stands beside one that does; long ones are cut around the match."""

    path: str
    number: int
    text: str
    match: bool
    cut_bytes: int = 0

    def shown(self, prefix: str) -> str:
        """Return it as `grep -n` prints it."""
        sign = ":" if self.match else "-"
        return showable(f"{prefix}{self.path}{sign}{self.number}{sign}{self.text}")


def lines_of(data: bytes, path: str | None = None) -> Iterator[Line]:
    """Yield the lines in ripgrep's `--json` output; `path` replaces the name where it searched a stream."""
    for event in data.split(b"\n"):
        if event.startswith((b'{"type":"match"', b'{"type":"context"')):
            try:
                found: dict[str, Any] = json.loads(event)
            except ValueError:
                continue  # cut off at the size limit
            yield from _lines(found["type"] == "match", found["data"], path)


def _lines(match: bool, data: dict[str, Any], path: str | None) -> Iterator[Line]:
    name = path if path is not None else _bytes(data["path"]).decode("utf-8", "surrogateescape").removeprefix("./")
    starts = [submatch["start"] for submatch in data["submatches"]]
    offset = 0
    # In multiline mode one match has several lines.
    for number, raw in enumerate(_bytes(data["lines"]).removesuffix(b"\n").split(b"\n"), data["line_number"]):
        inside = [start - offset for start in starts if offset <= start <= offset + len(raw)]
        offset += len(raw) + 1
        text, cut = _window(raw.removesuffix(b"\r"), inside[0] if inside else 0)
        yield Line(path=name, number=number, text=text, match=match, cut_bytes=cut)


def _window(raw: bytes, start: int) -> tuple[str, int]:
    if len(raw) <= MAX_LINE_BYTES:
        return raw.decode("utf-8", "replace"), 0
    left = min(max(start - _BEFORE_BYTES, 0), len(raw) - MAX_LINE_BYTES)
    right = left + MAX_LINE_BYTES
    while left > 0 and raw[left] & 0xC0 == 0x80:  # not within a character
        left -= 1
    while right < len(raw) and raw[right] & 0xC0 == 0x80:
        right += 1
    before = f"[... {left:,} bytes cut]" if left else ""
    after = f"[... {len(raw) - right:,} bytes cut]" if right < len(raw) else ""
    return before + raw[left:right].decode("utf-8", "replace") + after, len(raw) - (right - left)


def _bytes(value: dict[str, str]) -> bytes:
    """Return what ripgrep gives as text where it is text, else as base64."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])
