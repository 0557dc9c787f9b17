"""Path patterns of rules: from what a person writes to what is compared, in the manner of `.gitignore`.

`./src/**`, `src/*.py` and `/src` lie below a workspace folder, `~/x` below the home folder, `//x` is absolute. `*` and
`?` stay within one folder, `**` crosses. A trailing slash is the folder and everything in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from ensign.protocol.value import frozen


class Anchor(StrEnum):
    """What a pattern starts from."""

    ROOT = "root"
    HOME = "home"
    ABSOLUTE = "absolute"


@frozen
class PathPattern:
    """A parsed pattern: components below an anchor.

    Attributes:
        floating: a bare name; where it protects (deny, ask) it holds at any depth, as in `.gitignore`.
        single_slash: written `/x`: below the workspace for allow, in both readings where it protects.
    """

    anchor: Anchor
    parts: tuple[str, ...]
    floating: bool = False
    single_slash: bool = False


def parse(text: str) -> PathPattern:
    """Parse a path pattern.

    Raises:
        ValueError: it is empty, climbs with `..`, or names a user's home.
    """
    body = unicodedata.normalize("NFC", text.strip())
    if not body:
        raise ValueError("an empty path")
    anchor, single = Anchor.ROOT, False
    if body == "~" or body.startswith("~/"):
        anchor, body = Anchor.HOME, body[1:]
    elif body.startswith("~"):
        raise ValueError("another user's home cannot be named")
    elif body.startswith("//"):
        anchor, body = Anchor.ABSOLUTE, body[1:]
    elif body.startswith("/"):
        single = True
    parts = [part for part in body.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError("a pattern cannot climb with '..'")
    if body.endswith("/"):
        parts.append("**")
    floating = anchor is Anchor.ROOT and not single and len(parts) == 1 and not text.strip().startswith("./")
    return PathPattern(anchor=anchor, parts=tuple(parts), floating=floating, single_slash=single)


@frozen
class Bases:
    """The folders that patterns are held against, as spelled and as resolved."""

    roots: tuple[Path, ...]
    home: tuple[Path, ...]
    fold: bool = False


def matches(pattern: PathPattern, paths: Iterable[Path], bases: Bases, *, protecting: bool) -> bool:
    """Whether one of `paths` (absolute, normal) is meant.

    A protecting pattern that names a folder holds for everything in it; an allowing one only with `/**`.
    """
    expressions = [
        _regex(base, pattern.parts, protecting, pattern.floating, bases.fold)
        for base in _bases(pattern, bases, protecting)
    ]
    return any(expression.fullmatch(normal(path)) for path in paths for expression in expressions)


def below(pattern: PathPattern, folder: Path, bases: Bases) -> Iterator[str]:
    """What a denying pattern leaves out below `folder`, as `.gitignore` lines anchored there."""
    for base in _bases(pattern, bases, protecting=True):
        parts: tuple[str, ...] = pattern.parts
        if pattern.floating:
            parts = ("**", *parts)
        whole = [*map(_literal, base.parts[1:]), *parts]
        yield from sorted({_line(rest) for rest in _remainders(whole, folder.parts[1:])})


def _literal(part: str) -> str:
    return re.sub(r"([*?\[\\])", r"\\\1", part)


def _line(rest: tuple[str, ...]) -> str:
    return "/" + "/".join(rest)


def _remainders(parts: list[str], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """What is left of a pattern once `path` has been walked; nothing when it leads elsewhere."""
    if not path:
        if parts:
            yield tuple(parts)
        return
    if not parts:
        yield ("**",)
        return
    if parts[0] == "**":
        yield from _remainders(parts[1:], path)
        yield from _remainders(parts, path[1:])
    elif re.fullmatch(_component(parts[0]), path[0]):
        yield from _remainders(parts[1:], path[1:])


def _bases(pattern: PathPattern, bases: Bases, protecting: bool) -> tuple[Path, ...]:
    top = (Path("/"),)
    if pattern.anchor is Anchor.HOME:
        return bases.home
    if pattern.anchor is Anchor.ABSOLUTE:
        return top
    return bases.roots + (top if pattern.single_slash and protecting else ())


def normal(path: Path) -> str:
    """A path as it is compared."""
    text = str(path)
    return text if text.isascii() else unicodedata.normalize("NFC", text)


@lru_cache(maxsize=2048)
def _regex(base: Path, parts: tuple[str, ...], protecting: bool, floating: bool, fold: bool) -> re.Pattern[str]:
    out = [re.escape(normal(base).rstrip("/"))]
    if floating and protecting:
        parts = ("**", *parts)
    for at, part in enumerate(parts):
        if part != "**":
            out.append("/" + _component(part))
        elif at < len(parts) - 1:
            out.append("(?:/[^/]+)*")
        else:
            out.append("(?:/.*)?")
    if protecting and parts and parts[-1] != "**":
        out.append("(?:/.*)?")
    if not parts and protecting:
        out.append("(?:/.*)?")
    return re.compile("".join(out), re.DOTALL | (re.IGNORECASE if fold else 0))


@lru_cache(maxsize=2048)
def _component(part: str) -> str:
    out, at = list[str](), 0
    while at < len(part):
        char = part[at]
        if char == "\\" and at + 1 < len(part):
            out.append(re.escape(part[at + 1]))
            at += 1
        elif char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "[" and (end := part.find("]", at + 2)) > 0:
            inner = part[at + 1 : end].replace("\\", "\\\\")
            out.append("[" + ("^" + inner[1:] if inner[0] in "!^" else inner).replace("[", "\\[") + "]")
            at = end
        else:
            out.append(re.escape(char))
        at += 1
    return "".join(out)
