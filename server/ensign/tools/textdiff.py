"""A change of a text as people read it: a unified diff and its two counts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from ensign.protocol.value import frozen
from ensign.workspace.textfile import showable

_CONTEXT = 3
_MAX_COMPARED = 4_000_000
"""Pairs of lines beyond which the changed middle counts as replaced whole: comparing is quadratic."""
_MAX_BYTES = 200_000
_HUNK = re.compile(r"^@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@")


@frozen
class Diff:
    """A unified diff; `text` is cut, and says so, where it would be too long to show."""

    text: str
    added: int
    removed: int


def diff(before: str, after: str, name: str) -> Diff:
    """Compare two texts; what is equal at both ends is set aside first, as most edits are small and some files not."""
    old, new = _lines(before), _lines(after)
    start = common(old, new)
    end = common(old[start:][::-1], new[start:][::-1])
    skip = max(start - _CONTEXT, 0)
    keep = max(end - _CONTEXT, 0)
    old, new = old[skip : len(old) - keep], new[skip : len(new) - keep]
    if (len(old) * len(new)) > _MAX_COMPARED:
        lines = [f"@@ -{skip + 1},{len(old)} +{skip + 1},{len(new)} @@\n"]
        lines += [f"-{line}" for line in old] + [f"+{line}" for line in new]
    else:
        lines = [_moved(line, skip) for line in difflib.unified_diff(old, new, n=_CONTEXT)][2:]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    body = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    if len(body) > _MAX_BYTES:
        cut = len(body) - _MAX_BYTES
        body = f"{body[:_MAX_BYTES]}\n[... {cut:,} characters of this diff cut ...]\n"
    return Diff(text=showable(f"--- a/{name}\n+++ b/{name}\n{body}"), added=added, removed=removed)


def _lines(text: str) -> list[str]:
    """Split at line feeds alone, as every other tool that counts lines."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many items (or characters) two sequences begin with alike."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _moved(line: str, lines: int) -> str:
    if lines and (found := _HUNK.match(line)):
        old, old_count, new, new_count = found.groups()
        return f"@@ -{int(old) + lines}{old_count} +{int(new) + lines}{new_count} @@\n"
    return line
