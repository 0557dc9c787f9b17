"""Tokens of a shell line and how the pieces of one become a word."""

from __future__ import annotations

from dataclasses import dataclass, field

from ensign.permissions.shell_words import Word
from ensign.protocol.value import frozen

_GLOBS = frozenset("*?[")


class LexError(Exception):
    """The text is no complete shell line."""


@frozen(kw_only=False)
class Piece:
    """Part of a word: literal text, or None for what only the shell knows."""

    text: str | None
    quoted: bool
    variable: str = ""


@dataclass(slots=True, kw_only=True)
class Token:
    """A word or an operator with its span; `operator` is empty for a word.

    Attributes:
        inner: the token lists of the substitutions inside the word (or here-document).
        body: a here-document's text, on its operator.
        pattern: the word is a pattern of `case`.
    """

    start: int
    end: int
    operator: str = ""
    pieces: list[Piece] = field(default_factory=list[Piece])
    inner: list[list[Token]] = field(default_factory=list["list[Token]"])
    body: Word | None = None
    pattern: bool = False


def readable(text: str) -> str:
    """Turn bytes held as characters back into text."""
    return text.encode("latin-1", "replace").decode("utf-8", "replace")


def to_word(raw: str, pieces: list[Piece]) -> Word:
    """Join the pieces of one word, after brace expansion."""
    prefix: list[str] = []
    for piece in pieces:
        if piece.text is None:
            break
        prefix.append(piece.text)
    known = len(prefix) == len(pieces)
    text = readable("".join(prefix))
    first = pieces[0] if pieces else Piece("", quoted=True)
    return Word(
        raw=readable(raw),
        text=text if known else None,
        prefix=text,
        quoted=any(piece.quoted for piece in pieces),
        glob=_is_glob(pieces),
        splits=any(piece.text is None and not piece.quoted for piece in pieces),
        tilde=not first.quoted and first.text == "~",
        variable=_variable(pieces),
    )


def _variable(pieces: list[Piece]) -> str:
    """The variable that is the whole of a quoted word."""
    full = [piece for piece in pieces if piece.text != ""]
    return full[0].variable if len(full) == 1 and full[0].quoted else ""


def _is_glob(pieces: list[Piece]) -> bool:
    marks = [piece.text for piece in pieces if not piece.quoted and piece.text in _GLOBS]
    return bool(marks) and (marks != ["["] or any("]" in (piece.text or "") for piece in pieces))
