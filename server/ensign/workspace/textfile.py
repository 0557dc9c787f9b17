"""Text as it stands in a file: decoded so that encoding it again gives the same bytes, whatever they were."""

from __future__ import annotations

import codecs
import hashlib
import re

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen

_BOMS = (
    # Longest first: the UTF-32 mark begins with the UTF-16 one.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
MAX_TEXT_BYTES = 32 << 20
"""Larger files are not held as one text; `Read` still shows parts of them, commands can change them."""
_SNIFFED_BYTES = 8192
NEWLINE = r"(?:\r\n|\r(?!\n)|(?<!\r)\n)"
"""One line end of any kind, never half of a CRLF."""
_NEWLINE = re.compile(NEWLINE)
_UNDECODABLE = re.compile("[\udc80-\udcff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@frozen(kw_only=False)
class Encoding:
    """How a file spells its text. `bom` is the byte order mark it begins with, or nothing."""

    codec: str = "utf-8"
    bom: bytes = b""


UTF8 = Encoding()


def is_binary(data: bytes) -> bool:
    """Whether these bytes are no text: a zero byte early on, and no mark of an encoding that has them."""
    return b"\0" in data[:_SNIFFED_BYTES] and not data.startswith(tuple(bom for bom, _ in _BOMS))


def decode(data: bytes) -> tuple[str, Encoding]:
    """Return text and encoding; `encode` of these is `data` again.

    Bytes that are not UTF-8 become lone surrogates (PEP 383) and go back as they were; line ends stay as they are.

    Raises:
        ToolError: UTF-16 or UTF-32 by its mark, but not valid.
    """
    for bom, codec in _BOMS:
        if data.startswith(bom):
            try:
                text = data[len(bom) :].decode(codec, "surrogateescape" if codec == "utf-8" else "surrogatepass")
            except UnicodeDecodeError as error:
                raise ToolError(f"the file begins like {codec.upper()} but is not valid: {error.reason}") from error
            return text, Encoding(codec, bom)
    return data.decode("utf-8", "surrogateescape"), UTF8


def encode(text: str, encoding: Encoding) -> bytes:
    """Return the bytes of `text`.

    Raises:
        ToolError: the text has a lone surrogate that stands for no byte.
    """
    try:
        errors = "surrogateescape" if encoding.codec == "utf-8" else "surrogatepass"
        return encoding.bom + text.encode(encoding.codec, errors)
    except UnicodeEncodeError as error:
        raise ToolError(f"the text holds {text[error.start]!r}, half of a character, which no file can hold") from error


def refuse_surrogates(text: str, what: str) -> None:
    """Raise `ToolError` if a model's text has lone surrogates: written out, some would become arbitrary bytes."""
    if found := _SURROGATE.search(text):
        raise ToolError(f"{what} holds {found.group()!r}, half of a character, which no file can hold")


def showable(text: str) -> str:
    """Return `text` with what cannot be sent to a model or a client replaced by U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def undecodable(text: str) -> re.Match[str] | None:
    """Return where the first byte stands that is not valid in the file's encoding."""
    return None if text.isascii() else _UNDECODABLE.search(text)


def version_of(text: str) -> bytes:
    """Return the name of a content: 16 bytes of its hash.

    Line ends do not count, because editors unify them when they open a file and every edit keeps those that are there.
    """
    if "\r" in text:
        text = _NEWLINE.sub("\n", text)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def same_text(one: str, other: str) -> bool:
    """Whether two texts are equal but for the kind of their line ends."""
    return one == other or (("\r" in one or "\r" in other) and _NEWLINE.sub("\n", one) == _NEWLINE.sub("\n", other))


def newline_of(text: str) -> str:
    """Return the kind of line end that `text` has first, or a line feed."""
    found = _NEWLINE.search(text)
    return found.group() if found else "\n"


def with_newlines(text: str, like: str) -> str:
    """Return `text` with the line ends of `like`, if `text` has only line feeds and `like` only one other kind."""
    if "\r" in text or "\r" not in like:
        return text
    kinds = {found.group() for found in _NEWLINE.finditer(like)}
    return text.replace("\n", kinds.pop()) if len(kinds) == 1 else text


def line_number(text: str, offset: int) -> int:
    """Return the line, from 1, that `offset` stands in, as editors and `grep -n` count."""
    return text.count("\n", 0, offset) + 1
