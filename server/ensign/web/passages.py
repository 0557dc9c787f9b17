"""What to show of a page that is too long: its beginning, and the passages that speak of what is looked for."""

from __future__ import annotations

import math
import re
from collections import Counter

_WORD = re.compile(r"\w{2,}")
_PASSAGE = 1200
_HEAD_SHARE = 5


def select(text: str, limit: int, wanted: str) -> str:
    """Return at most about `limit` characters of `text`, in its order, with what was left out stated between.

    A passage counts by the words it shares with `wanted`, the rarer in the page the more; without any, the beginning
    is shown. Source: the weights of BM25, without its length term, as passages are of one size.
    """
    passages = _passages(text)
    words = set(_WORD.findall(wanted.casefold()))
    counts = [Counter(word for word in _WORD.findall(passage.casefold()) if word in words) for passage in passages]
    spread = Counter(word for count in counts for word in count)
    weight = {word: math.log(1 + (len(passages) - n + 0.5) / (n + 0.5)) for word, n in spread.items()}
    scores = [sum(weight[word] * n * 2.2 / (n + 1.2) for word, n in count.items()) for count in counts]
    first = limit // _HEAD_SHARE if any(scores) else limit
    ranked = sorted(range(len(passages)), key=lambda at: (-scores[at], at))
    head = _fitting(passages, range(len(passages)), first)
    room = limit - sum(len(passages[at]) for at in head)
    return _joined(passages, head | _fitting(passages, [at for at in ranked if at not in head], room))


def _passages(text: str) -> list[str]:
    """Cut at line ends into pieces of one size; a longer line is cut where it must be."""
    found: list[str] = [""]
    for line in text.splitlines(keepends=True):
        for start in range(0, len(line), _PASSAGE):
            piece = line[start : start + _PASSAGE]
            if found[-1] and len(found[-1]) + len(piece) > _PASSAGE:
                found.append("")
            found[-1] += piece
    return found


def _fitting(passages: list[str], order: range | list[int], room: int) -> set[int]:
    taken: set[int] = set()
    for at in order:
        room -= len(passages[at])
        if room < 0:
            break
        taken.add(at)
    return taken


def _joined(passages: list[str], shown: set[int]) -> str:
    parts: list[str] = []
    left_out = 0
    for at, passage in enumerate(passages):
        if at not in shown:
            left_out += len(passage)
            continue
        if left_out:
            parts.append(f"\n[... {left_out:,} characters left out here ...]\n")
            left_out = 0
        parts.append(passage)
    if left_out:
        parts.append(f"\n[... {left_out:,} characters left out here ...]")
    return "".join(parts)
