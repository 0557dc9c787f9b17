"""Glob patterns as people write them: `**/*.py`, `src/**/{a,b}.ts`, `[ab]?.txt`; with no slash at any depth."""

from __future__ import annotations

import re
from collections.abc import Callable

from ensign.protocol.errors import ToolError

_SPECIAL = re.compile(r"[*?\[{]")


def split(pattern: str) -> tuple[str, str]:
    """Return the folder that a pattern begins with, and the rest: `../a/b/*.py` is `../a/b` and `*.py`."""
    parts = pattern.split("/")
    plain = next((i for i, part in enumerate(parts) if _SPECIAL.search(part)), len(parts) - 1)
    folder = "/".join(parts[:plain])
    return folder or ("/" if pattern.startswith("/") else ""), "/".join(parts[plain:])


def matcher(pattern: str, *, anchored: bool = False) -> Callable[[str], object]:
    """Return a test for relative paths with `/`; a pattern without one matches at any depth unless `anchored`.

    Raises:
        ToolError: the pattern is not one.
    """
    anywhere = "" if anchored or "/" in pattern else "(?:.*/)?"
    try:
        return re.compile(f"{anywhere}{_translated(pattern.removeprefix('./'))}", re.DOTALL).fullmatch
    except (re.error, ValueError) as error:
        raise ToolError(f"{pattern!r} is not a glob pattern: {error}") from error


def _translated(pattern: str) -> str:
    result: list[str] = []
    depth = at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "*":
            stars = at
            while pattern[at : at + 1] == "*":
                at += 1
            result.append(_star(pattern, stars - 1, at))
            if result[-1] == "(?:[^/]+/)*":
                at += 1
        elif char == "?":
            result.append("[^/]")
        elif char == "[" and (end := pattern.find("]", at + 1)) > 0:
            inner = pattern[at:end].replace("\\", "\\\\")
            negated = inner[0] in "!^"
            result.append(f"(?!/)[{'^' if negated else ''}{inner[1:] if negated else inner}]")
            at = end + 1
        elif char == "{":
            depth += 1
            result.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            result.append(")")
        elif char == "," and depth:
            result.append("|")
        elif char == "\\" and at < len(pattern):
            result.append(re.escape(pattern[at]))
            at += 1
        else:
            result.append(re.escape(char))
    if depth:
        raise ValueError("a { is never closed")
    return "".join(result)


def _star(pattern: str, start: int, end: int) -> str:
    """Translate a run of stars: `**` alone between slashes crosses folders, anything else stays in one."""
    alone = end - start > 1 and (start == 0 or pattern[start - 1] in "/{,")
    if alone and pattern[end : end + 1] == "/":
        return "(?:[^/]+/)*"
    if alone and pattern[end : end + 1] in {"", "}", ","}:
        return ".*"
    return "[^/]*"
