"""Small helpers that several tools share for what they say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count as count_from
from pathlib import Path

_OUR_TAGS = re.compile(
    r"<(?=\s*(?:/\s*)?(?:conversation-summary|runtime-state|task-notification|fork-boilerplate)\b)", re.IGNORECASE
)
_CALL_ID = re.compile(r"[^A-Za-z0-9_-]+")


def words_of(module: str) -> str:
    """Return what the model reads of a tool: the `.md` file beside its module."""
    return Path(module).with_suffix(".md").read_text(encoding="utf-8").strip()


def harmless(text: str) -> str:
    """Return text of others so that nothing in it opens or closes one of our tags (N3)."""
    return _OUR_TAGS.sub("&lt;", text)


def named(names: Sequence[str]) -> str:
    """Return names quoted and joined for a sentence."""
    return " or ".join(repr(name) for name in names)


def count(number: int, noun: str) -> str:
    """Return `1 line`, `2 lines`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def output_path(folder: Path, call_id: str) -> Path:
    """Return a file for the output of a call; ids are chosen by providers, who may reuse them."""
    name = _CALL_ID.sub("_", call_id)[:80] or "call"
    numbered = (folder / f"{name}{'' if number == 1 else f'-{number}'}.txt" for number in count_from(1))
    return next(path for path in numbered if not path.exists())
