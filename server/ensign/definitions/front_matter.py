"""The one reader of front matter, for agents and skills: found line by line, read strictly (D2)."""

from __future__ import annotations

import re

from ensign.definitions.characters import HIDDEN, UNPRINTABLE, code_point
from ensign.definitions.nodes import FaultError, Note, Table, mark_at
from ensign.definitions.yaml_tree import read_yaml
from ensign.protocol.value import frozen

MAX_FILE_BYTES = 1024 * 1024
MAX_BLOCK_CHARACTERS = 64 * 1024

_OPENING = re.compile(rb"---[ \t]*(?:\r|\n|\Z)")
_CLOSING = re.compile(r"^---[ \t]*$", re.MULTILINE)
_UTF8_BOM = b"\xef\xbb\xbf"
# The 32-bit marks first: the little-endian one starts with the 16-bit one.
_WIDE = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


@frozen
class FrontMatter:
    """A file that opened with front matter.

    Attributes:
        fields: every value is text, as written.
        body: what follows the closing line, with Unix line ends and without blank lines around it.
        notes: what was mended while reading.
    """

    fields: Table
    body: str
    notes: tuple[Note, ...] = ()


def read_front_matter(data: bytes) -> FrontMatter | None:
    """Return what the file says, or None for a document that does not open with front matter.

    Pass at most `MAX_FILE_BYTES` and one more byte: the extra byte tells that the file is too large.

    Raises:
        FaultError: it opens with front matter and cannot be read.
    """
    content = data.removeprefix(_UTF8_BOM)
    if not _OPENING.match(content):
        _refuse_wide(data)
        return None
    if len(data) > MAX_FILE_BYTES:
        raise FaultError("too-large", f"larger than {MAX_FILE_BYTES // 1024} KiB")
    text, notes = _mend(_decode(content))
    start = text.find("\n") + 1
    closing = _CLOSING.search(text, start) if start else None
    if closing is None:
        raise FaultError("not-closed", "the front matter that opens here has no closing line '---'")
    block = text[start : closing.start()]
    if len(block) > MAX_BLOCK_CHARACTERS:
        raise FaultError("too-large", f"the front matter is longer than {MAX_BLOCK_CHARACTERS // 1024} KiB")
    if bad := UNPRINTABLE.search(block):
        message = f"the character {code_point(bad.group())} is not allowed in front matter"
        raise FaultError("control-character", message, mark_at(text, start + bad.start()))
    return FrontMatter(fields=read_yaml(block, first_line=2), body=_trim(text[closing.end() :]), notes=notes)


def _refuse_wide(data: bytes) -> None:
    for mark, encoding in _WIDE:
        if data.startswith(mark):
            if data[len(mark) :].decode(encoding, "replace").startswith("---"):
                raise FaultError("encoding", f"the file is {encoding.upper()[:6]}; save it as UTF-8")
            return


def _decode(content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        before = _unix_lines(content[: error.start].decode())
        message = f"not UTF-8: byte 0x{content[error.start]:02x}; save the file as UTF-8"
        raise FaultError("encoding", message, mark_at(before, len(before))) from error
    text = _unix_lines(text)
    if (nul := text.find("\0")) >= 0:
        raise FaultError("nul-byte", "the file holds a NUL byte: it is no text, or damaged", mark_at(text, nul))
    return text


def _unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _mend(text: str) -> tuple[str, tuple[Note, ...]]:
    """Take out characters that a reader cannot see: a reviewed file must say to the model what it shows to people."""
    first = HIDDEN.search(text)
    if first is None:
        return text, ()
    mended, count = HIDDEN.subn("", text)
    message = f"{count} invisible or text-reordering characters were removed, the first {code_point(first.group())}"
    return mended, (Note(mark_at(text, first.start()), "warning", "hidden-characters", message),)


def _trim(body: str) -> str:
    lines = body.rstrip().split("\n")
    first = next((index for index, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[first:])
