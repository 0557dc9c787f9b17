"""Where the pieces of a JSON text stand, so that one can be replaced and all others stay as they are."""

from __future__ import annotations

import json
import re
from typing import Any

from ensign.protocol.value import frozen

_DECODER = json.JSONDecoder()
_GAP = re.compile(r"[ \t\r\n]*")


@frozen
class Span:
    """A value of a JSON text: `text[start:end]` is how it is written."""

    start: int
    end: int
    value: Any


def members(text: str, start: int) -> dict[str, Span]:
    """The members of the object that begins at `start`; of a key that is there twice, the last.

    Raises:
        ValueError: there is none, or it is broken.
    """
    found: dict[str, Span] = {}
    at = _opened(text, start, "{")
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _after(text, at, ":")
        found[str(key)] = span = _span(text, at)
        at = _next(text, span.end, "}")
    return found


def items(text: str, start: int) -> list[Span]:
    """The items of the array that begins at `start`.

    Raises:
        ValueError: there is none, or it is broken.
    """
    found: list[Span] = []
    at = _opened(text, start, "[")
    while text[at] != "]":
        found.append(_span(text, at))
        at = _next(text, found[-1].end, "]")
    return found


def root(text: str) -> int:
    """Where the text's value begins."""
    return _skip(text, 0)


def _span(text: str, at: int) -> Span:
    value, end = _DECODER.raw_decode(text, at)
    return Span(start=at, end=end, value=value)


def _skip(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    at = gap.end() if gap else at
    if at >= len(text):
        raise ValueError("it ends too early")
    return at


def _opened(text: str, start: int, mark: str) -> int:
    if text[start : start + 1] != mark:
        raise ValueError(f"there is no {mark!r} at {start}")
    return _skip(text, start + 1)


def _after(text: str, at: int, mark: str) -> int:
    at = _skip(text, at)
    if text[at] != mark:
        raise ValueError(f"there is no {mark!r} at {at}")
    return _skip(text, at + 1)


def _next(text: str, at: int, closing: str) -> int:
    at = _skip(text, at)
    return at if text[at] == closing else _after(text, at, ",")
