"""Replacing an exact piece of a text, and helping a model that did not quote it exactly."""

from __future__ import annotations

import difflib
import re

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen
from ensign.tools.textdiff import common
from ensign.workspace.textfile import NEWLINE, line_number, newline_of, showable

_LINE_NUMBERS = re.compile(r"^ *\d+\t", re.MULTILINE)
_CHARACTER = re.compile(f"{NEWLINE}|[^\\r\\n]")
_SHOWN_LINES = 10
_SHOWN_CHARS = 600
_MAX_COMPARED = 2000
_ALIKE = 0.6


@frozen
class Replaced:
    """The new text, and on which lines of the old one it differs."""

    text: str
    lines: tuple[int, ...]


def replace_exactly(text: str, old: str, new: str, *, every: bool) -> Replaced:
    """Replace `old`, which must be there once (or more often, if `every`), by `new`, written literally.

    A line feed in `old` stands for any line end. Line ends that `old` and `new` share stay as they are in the text;
    new ones become like those around, unless `new` brings carriage returns of its own. All other bytes are untouched.

    Raises:
        ToolError: not there, there several times, or the same text.
    """
    if old == new:
        raise ToolError("old_string and new_string are the same; nothing would change")
    spans = _spans(text, old)
    if not spans:
        raise ToolError(_not_found(text, old))
    lines = tuple(line_number(text, start) for start, _ in spans)
    if len(spans) > 1 and not every:
        shown = ", ".join(str(line) for line in lines[:_SHOWN_LINES])
        more = f" and {len(lines) - _SHOWN_LINES} more" if len(lines) > _SHOWN_LINES else ""
        raise ToolError(
            f"old_string is there {len(spans)} times (lines {shown}{more}); quote more around the one you mean, "
            "or set replace_all"
        )
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += (text[done:start], _fitted(text, start, end, old, new))
        done = end
    pieces.append(text[done:])
    return Replaced(text="".join(pieces), lines=lines)


def _spans(text: str, old: str) -> list[tuple[int, int]]:
    """Return where `old` is, without overlaps."""
    if "\n" in old and "\r" in text and "\r" not in old:
        pattern = NEWLINE.join(re.escape(line) for line in old.split("\n"))
        return [found.span() for found in re.finditer(pattern, text)]
    spans: list[tuple[int, int]] = []
    start = text.find(old)
    while start >= 0:
        spans.append((start, start + len(old)))
        start = text.find(old, start + len(old))
    return spans


def _fitted(text: str, start: int, end: int, old: str, new: str) -> str:
    """Return `new` as it is to stand at this place: what it shares with `old` at both ends stays as it is there."""
    if "\r" not in text or "\r" in new or "\r" in old:
        return new
    there = text[start:end]
    # Where each character of `old`, in which every line end is one character, begins in the text.
    offsets = [0, *(found.end() for found in _CHARACTER.finditer(there))]
    first = common(old, new)
    last = common(old[first:][::-1], new[first:][::-1])
    left, right = offsets[first], offsets[len(old) - last]
    between = there[left:right]
    around = between if re.search(NEWLINE, between) else text[start + right :]
    if not re.search(NEWLINE, around):
        around = next(reversed(re.findall(NEWLINE, text[: start + left])), "\n")
    middle = new[first : len(new) - last].replace("\n", newline_of(around))
    return there[:left] + middle + there[right:]


def _not_found(text: str, old: str) -> str:
    said = "old_string is not in the file"
    if (bare := _LINE_NUMBERS.sub("", old)) != old and _spans(text, bare):
        return f"{said}, but it is without the line numbers at the front; they are not part of the file"
    if old.endswith("\n") and text.endswith(old.rstrip("\n")) and not text.endswith("\n"):
        return f"{said}: the file has no final newline; leave out the one at the end of old_string"
    if "\ufffd" in old:
        return f"{said}: it holds '\ufffd', which stands for bytes that are no text; leave that part out"
    if near := _near(text, old):
        line, found = near
        same = "".join(found.split()) == "".join(old.split())
        why = "only white space differs" if same else "this is the most similar place"
        return f"{said} exactly. At line {line} {why}; the file has there:\n{_quoted(found)}"
    return f"{said}; read it again and quote it exactly"


def _near(text: str, old: str) -> tuple[int, str] | None:
    """Return the line and text of the place most like `old`, if any is alike enough."""
    lines = text.split("\n")
    wanted = old.strip("\n").split("\n")
    keys = ["".join(line.split()) for line in lines]
    target = ["".join(line.split()) for line in wanted]
    size = len(target)
    for at in range(len(keys) - size + 1):
        if keys[at] == target[0] and keys[at : at + size] == target:
            return at + 1, "\n".join(lines[at : at + size])
    anchor = max(target, key=len, default="")
    if not anchor:
        return None
    # The longest line is the most telling; few candidates keep this quick on a large file.
    candidates = difflib.get_close_matches(anchor, list(dict.fromkeys(keys))[:_MAX_COMPARED], n=1, cutoff=_ALIKE)
    if not candidates:
        return None
    at = max(keys.index(candidates[0]) - target.index(anchor), 0)
    return at + 1, "\n".join(lines[at : at + size])


def _quoted(text: str) -> str:
    shown = showable(text)
    return (
        shown
        if len(shown) <= _SHOWN_CHARS
        else f"{shown[:_SHOWN_CHARS]}[... {len(shown) - _SHOWN_CHARS:,} characters cut]"
    )
