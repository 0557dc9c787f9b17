"""Positions of the protocol in our strings: lines end at LF, CRLF and CR alone, characters count in UTF-16 units.

pygls' own documents also break lines at form feeds and U+2028 and put text at wrong places; this module replaces them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Protocol

from ensign.protocol.wire import Position, Range

_LINE_END = re.compile(r"\r\n|\n|\r")
_WORD = re.compile(r"\w+")
_MANY_LINES = 2_000
"""Above this a line-by-line comparison costs more than a larger edit does."""


class Place(Protocol):
    """A position, ours or lsprotocol's."""

    @property
    def line(self) -> int: ...
    @property
    def character(self) -> int: ...


class Text:
    """A document's text and where its lines start."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def offset(self, position: Place) -> int:
        """Return the index of a position; beyond the end of a line means its end, beyond the last line the very end."""
        if position.line >= len(self._starts):
            return len(self.text)
        start, end = self._line(max(position.line, 0))
        return start + _units_to_index(self.text[start:end], position.character)

    def position(self, offset: int) -> Position:
        """Return the position of an index that does not stand inside a line end."""
        line = bisect_right(self._starts, offset) - 1
        return Position(line=line, character=_units(self.text[self._starts[line] : offset]))

    def slice(self, start: Place, end: Place) -> str:
        """Return the text between two positions."""
        return self.text[self.offset(start) : self.offset(end)]

    def replaced(self, first: Place, last: Place, new: str) -> Text:
        """Return the text after an incremental change of what lies between two positions."""
        start, end = self.offset(first), self.offset(last)
        return Text(f"{self.text[:start]}{new}{self.text[max(start, end) :]}")

    def word(self, position: Place) -> str:
        """Return the word under or just before a position, or an empty string."""
        if position.line >= len(self._starts):
            return ""
        start, end = self._line(position.line)
        at = self.offset(position) - start
        return next((m[0] for m in _WORD.finditer(self.text[start:end]) if m.start() <= at <= m.end()), "")

    def _line(self, line: int) -> tuple[int, int]:
        """Return start and end of a line, without its line end."""
        start = self._starts[line]
        if line + 1 == len(self._starts):
            return start, len(self.text)
        end = self._starts[line + 1] - 1
        return start, end - 1 if end > start and self.text[end - 1 : end + 1] == "\r\n" else end


def minimal_edits(before: str, after: str) -> list[tuple[Range, str]]:
    """Return edits that turn `before` into `after`, in order and apart from each other.

    Few and small, so that cursors, folds and marks elsewhere in the document stay where they are.
    """
    text = Text(before)
    edits: list[tuple[Range, str]] = []
    for start, old, new in _hunks(_lines(before), _lines(after)):
        head, tail = _common(old, new)
        where = Range(start=text.position(start + head), end=text.position(start + len(old) - tail))
        edits.append((where, new[head : len(new) - tail]))
    return edits


def _hunks(old: list[str], new: list[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the lines that differ: where they start in the old text, as they are there, as they become."""
    limit = min(len(old), len(new))
    head = next((n for n in range(limit) if old[n] != new[n]), limit)
    tail = next((n for n in range(limit - head) if old[-1 - n] != new[-1 - n]), limit - head)
    old, new, start = old[head : len(old) - tail], new[head : len(new) - tail], sum(map(len, old[:head]))
    if max(len(old), len(new)) > _MANY_LINES:
        yield start, "".join(old), "".join(new)
        return
    at = 0
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        piece = "".join(old[i1:i2])
        if tag != "equal":
            yield start + at, piece, "".join(new[j1:j2])
        at += len(piece)


def _common(before: str, after: str) -> tuple[int, int]:
    """Return the lengths of the common start and end, neither of which splits a CRLF."""
    limit = min(len(before), len(after))
    head = _common_prefix(before, after, limit)
    if before[head - 1 : head] == "\r" and "\n" in (before[head : head + 1], after[head : head + 1]):
        head -= 1
    tail = _common_prefix(before[::-1], after[::-1], limit - head)
    b, a = len(before) - tail, len(after) - tail
    if before[b : b + 1] == "\n" and "\r" in (before[b - 1 : b], after[a - 1 : a]):
        tail -= 1
    return head, tail


def _common_prefix(one: str, other: str, limit: int) -> int:
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _lines(text: str) -> list[str]:
    ends = [match.end() for match in _LINE_END.finditer(text)]
    pieces = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    return [piece for piece in pieces if piece]


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def _units_to_index(line: str, units: int) -> int:
    """Return the index of a UTF-16 offset; one inside a surrogate pair means the start of its character."""
    if line.isascii() or units <= 0:
        return max(0, min(units, len(line)))
    seen = 0
    for index, char in enumerate(line):
        seen += 2 if char > "\uffff" else 1
        if seen > units:
            return index
    return len(line)
