"""What the rest of the product knows by name, handed in, so that this layer needs nobody above it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ensign.protocol.value import frozen


@frozen
class Vocabulary:
    """The names that a definition may use.

    Attributes:
        tools: tools that exist.
        later_tools: tools that the product names but does not serve yet.
        unserved: fields that are read and kept but that nothing serves yet.
        check_model: returns what is wrong with a reference to a model, or None; `inherit` never gets there.
        check_rule: returns what is wrong with a permission rule, or None.
    """

    tools: frozenset[str]
    later_tools: frozenset[str]
    unserved: frozenset[str]
    check_model: Callable[[str], str | None]
    check_rule: Callable[[str], str | None]


def closest(word: str, known: Collection[str]) -> str | None:
    """Return the known word that was probably meant; case does not count."""
    from difflib import get_close_matches  # needed for mistakes alone

    by_fold = {name.casefold(): name for name in sorted(known)}
    close = get_close_matches(word.casefold()[:100], list(by_fold), n=1, cutoff=0.6)
    return by_fold[close[0]] if close else None


def did_you_mean(word: str, known: Collection[str]) -> str:
    """Return `"; did you mean 'Read'?"`, or nothing when no known word is close."""
    close = closest(word, known)
    return f"; did you mean {close!r}?" if close else ""
