"""Brace expansion (one word as written may be several words) and the words of a simple command."""

from __future__ import annotations

import re
from itertools import pairwise

from ensign.permissions.shell_lexer import Lexer
from ensign.permissions.shell_tokens import LexError, Piece, to_word
from ensign.permissions.shell_words import Word

_SEQUENCE = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})(?:\.\.(-?\d{1,4}))?|([A-Za-z])\.\.([A-Za-z])")
_LIMIT = 64

_Char = tuple[str | None, bool]


def expand(pieces: list[Piece]) -> list[list[Piece]]:
    """Return the words that the shell makes of one.

    Raises:
        LexError: more than 64 words, or a form that is not known.
    """
    if not any(piece.text == "{" and not piece.quoted for piece in pieces):
        return [pieces]
    chars: list[_Char] = []
    for piece in pieces:
        if piece.text is None or piece.quoted:
            chars.append((piece.text, True) if piece.text is not None else (None, piece.quoted))
        else:
            chars.extend((char, False) for char in piece.text)
    return [[Piece(text, quoted=quoted) for text, quoted in word] for word in _expand(chars, 0)]


def _expand(chars: list[_Char], depth: int) -> list[list[_Char]]:
    if depth > 8:
        raise LexError("braces are nested too deeply")
    for start, char in enumerate(chars):
        if char != ("{", False):
            continue
        end, commas = _partner(chars, start)
        if end is None:
            continue
        middles = _alternatives(chars, start, end, commas)
        if middles is None:
            continue
        tails = _expand(chars[end + 1 :], depth + 1)
        heads = [inner for middle in middles for inner in (_expand(middle, depth + 1) if commas else [middle])]
        if len(heads) * len(tails) > _LIMIT:
            raise LexError("braces stand for too many words")
        return [chars[:start] + head + tail for head in heads for tail in tails]
    return [chars]


def _partner(chars: list[_Char], start: int) -> tuple[int | None, list[int]]:
    level, commas = 0, list[int]()
    for at in range(start, len(chars)):
        if chars[at] == ("{", False):
            level += 1
        elif chars[at] == ("}", False):
            level -= 1
            if level == 0:
                return at, commas
        elif chars[at] == (",", False) and level == 1:
            commas.append(at)
    return None, []


def _alternatives(chars: list[_Char], start: int, end: int, commas: list[int]) -> list[list[_Char]] | None:
    if commas:
        edges = [start, *commas, end]
        return [chars[a + 1 : b] for a, b in pairwise(edges)]
    inner = chars[start + 1 : end]
    if any(text is None or quoted for text, quoted in inner):
        if any(text is None for text, _ in inner):
            raise LexError("braces around a value that only the shell knows")
        return None
    found = _SEQUENCE.fullmatch("".join(text or "" for text, _ in inner))
    if not found:
        return None
    if found[4]:
        first, last, step = ord(found[4]), ord(found[5]), 1
    else:
        first, last, step = int(found[1]), int(found[2]), abs(int(found[3] or 1)) or 1
    if abs(last - first) // step >= _LIMIT or re.search(r"(^|\.)-?0\d", found[0]):
        raise LexError("braces stand for too many words")
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return [[(char, False) for char in (chr(n) if found[4] else str(n))] for n in numbers]


def words_of(text: str) -> list[Word]:
    """Split text as the shell does.

    Raises:
        ValueError: it is not one simple command.
    """
    lexer = Lexer(text.encode("utf-8", "replace").decode("latin-1"), {})
    try:
        tokens = lexer.run()
        words = [
            to_word(lexer.text[token.start : token.end], pieces)
            for token in tokens
            for pieces in expand(token.pieces)
            if pieces
        ]
    except LexError as error:
        raise ValueError(f"cannot be read: {error}") from error
    if any(token.operator for token in tokens) or any(word.text is None for word in words):
        raise ValueError("one rule is one simple command, without operators and variables")
    return words
