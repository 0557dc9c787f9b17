"""Words on their way to a terminal: nothing that steers it, nothing wider than it."""

from __future__ import annotations

import unicodedata

_KEPT = frozenset("\n\t")
_STEERING = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Control characters, half surrogate pairs, line and paragraph separators."""
_REORDERING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def harmless(text: str) -> str:
    """Show what would steer a terminal or reorder a line as escapes: a file or a model may have written it."""
    return text if text.isascii() and text.isprintable() else "".join(map(_shown, text))


def _shown(one: str) -> str:
    steers = unicodedata.category(one) in _STEERING or unicodedata.bidirectional(one) in _REORDERING
    return one.encode("unicode_escape").decode() if steers and one not in _KEPT else one


def one_line(text: str) -> str:
    """The same on a single line."""
    return harmless(" ".join(text.split()))


def cut(text: str, width: int) -> str:
    """At most `width` columns of a line, an ellipsis in place of the rest; wide characters take two."""
    used = 0
    for index, one in enumerate(text):
        used += 0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1
        if used > width:
            return _shorter(text[:index], width - 1) + "…"
    return text


def _shorter(text: str, width: int) -> str:
    """`text`, which is one character too long at most, in `width` columns."""
    while text and sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text) > width:
        text = text[:-1]
    return text
