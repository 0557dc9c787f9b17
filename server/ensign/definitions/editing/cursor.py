"""Where a cursor is in an agent file. Reads lines, not YAML: most of the time a text that is typed is not YAML yet."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ensign.definitions.nodes import Mark, column_of
from ensign.protocol.editing import Span
from ensign.protocol.value import frozen

_LINE_END = re.compile(r"\r\n|\n|\r")
_MARKER = re.compile(r"---[ \t]*")
_KEY = re.compile(r"(?P<indent>[ \t]*)(?:-[ \t]+)?(?P<key>[A-Za-z_][\w-]*)[ \t]*:(?=[ \t]|$)")
_BARE_KEY = re.compile(r"[ \t]*(?P<key>[A-Za-z_][\w-]*)?")
_FLOW_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:[ \t]*")
_YAML_LINE = re.compile(r"[ \t]*(?:$|#|- |-$|[A-Za-z_][\w-]*[ \t]*(?::|$))|[ \t]+\S|[\]}]")
_WORD = re.compile(r"""[^\s,\[\]{}"'()]+""")
_CALL = re.compile(r"(\w+)\(([^()]*)$")


@frozen(kw_only=False)
class Line:
    """A line without its end, and where it starts in the text."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """The offset of its end."""
        return self.start + len(self.text)


@frozen
class Front:
    """The lines between the markers. `closing` is None while the closing line is missing."""

    lines: tuple[Line, ...]
    opening: Line
    closing: Line | None

    @property
    def end(self) -> int:
        """Where the last line that belongs to it ends."""
        return (self.lines[-1] if self.lines else self.opening).end

    def key_line(self, key: str) -> tuple[Line, Span] | None:
        """The line of a field at the top, and where the field's name stands."""
        for line in self.lines:
            found = _KEY.match(line.text)
            if found and not found["indent"] and found["key"] == key and found.start("key") == 0:
                return line, Span(line.start, line.start + len(key))
        return None


@frozen
class Spot:
    """What stands at an offset.

    Attributes:
        keys: the keys around it from the outermost, with its own line's where it is in a value.
        at_key: whether a key stands, or could be written, here.
        word: the word that it touches; empty between words.
        call: the word before the parenthesis that it is in, such as `Agent`.
    """

    front: Front
    keys: tuple[str, ...]
    at_key: bool
    word: str
    span: Span
    call: str = ""


def lines_of(text: str) -> Iterator[Line]:
    """Yield the lines of a text."""
    start = 0
    for match in _LINE_END.finditer(text):
        yield Line(start, text[start : match.start()])
        start = match.end()
    yield Line(start, text[start:])


def front_of(text: str) -> Front | None:
    """Return the front matter; where its end is missing, what still looks like it."""
    lines = list(lines_of(text))
    if not _MARKER.fullmatch(lines[0].text.removeprefix("\ufeff")):
        return None
    for number, line in enumerate(lines[1:], 1):
        if _MARKER.fullmatch(line.text):
            return Front(lines=tuple(lines[1:number]), opening=lines[0], closing=line)
    inside: list[Line] = []
    for line in lines[1:]:
        if not _YAML_LINE.match(line.text):
            break
        inside.append(line)
    while inside and not inside[-1].text.strip():
        inside.pop()
    return Front(lines=tuple(inside), opening=lines[0], closing=None)


def spot_at(text: str, offset: int) -> Spot | None:
    """Return where an offset is, or None outside of the front matter."""
    front = front_of(text)
    if front is None:
        return None
    lines = front.lines
    if front.closing is None and offset > front.end:
        lines = tuple(line for line in lines_of(text) if front.opening.end < line.start <= offset)
    number = next((n for n, line in enumerate(lines) if line.start <= offset <= line.end), None)
    if number is None:
        return None
    line, column = lines[number], offset - lines[number].start
    found = _KEY.match(line.text)
    if found is not None and column <= found.end("key"):
        span = Span(line.start + found.start("key"), line.start + found.end("key"))
        return Spot(front=front, keys=_above(lines, number), at_key=True, word=found["key"], span=span)
    if found is None and (bare := _BARE_KEY.fullmatch(line.text)) and not _is_continued(lines, number):
        begin = bare.start("key") if bare["key"] else column
        span = Span(line.start + begin, line.start + (bare.end("key") if bare["key"] else column))
        return Spot(front=front, keys=_above(lines, number), at_key=True, word=bare["key"] or "", span=span)
    keys = (*_above(lines, number), found["key"]) if found else _above(lines, number)
    return _in_value(front, line, column, keys, found.end() if found else 0)


def _in_value(front: Front, line: Line, column: int, keys: tuple[str, ...], begin: int) -> Spot:
    before = line.text[begin:column]
    if before.lstrip().startswith("{") and (inner := _FLOW_KEY.findall(before)):
        keys = (*keys, inner[-1])
    call = _CALL.search(before)
    words = _WORD.finditer(line.text, begin)
    word = next((match for match in words if match.start() <= column <= match.end()), None)
    start, end = (word.start(), word.end()) if word else (column, column)
    return Spot(
        front=front,
        keys=keys,
        at_key=False,
        word=word[0] if word else "",
        span=Span(line.start + start, line.start + end),
        call=call[1] if call else "",
    )


def _above(lines: tuple[Line, ...], number: int) -> tuple[str, ...]:
    """The keys that a line stands under, from the outermost."""
    text = lines[number].text
    indent = len(text) - len(text.lstrip(" \t"))
    is_item = text.lstrip().startswith("-")
    keys: list[str] = []
    for line in reversed(lines[:number]):
        found = _KEY.match(line.text)
        if found is None:
            continue
        width = len(found["indent"])
        # The items of a list may stand as far left as its key.
        if width < indent or (is_item and width == indent and not line.text.lstrip().startswith("-")):
            keys.insert(0, found["key"])
            indent, is_item = width, False
        if width == 0 or indent == 0:
            break
    return tuple(keys)


def _is_continued(lines: tuple[Line, ...], number: int) -> bool:
    """Whether an indented word continues a text rather than begins a key: a key alone opens a mapping."""
    if not lines[number].text[:1].isspace():
        return False
    above = _above(lines, number)
    return bool(above) and above[-1] != "permissions"


def offset_of(text: str, mark: Mark) -> int:
    """Return where a mark is in a text."""
    line = next((line for n, line in enumerate(lines_of(text), 1) if n == mark.line), None)
    if line is None:
        return len(text)
    index = next((n for n in range(len(line.text) + 1) if column_of(line.text[:n]) >= mark.column), len(line.text))
    return line.start + index


def word_from(text: str, offset: int) -> Span:
    """Return the span of the word that begins at an offset: a whole quoted text, a word, or the rest of the line."""
    line = next(line for line in lines_of(text) if line.start <= offset <= line.end)
    rest = line.text[offset - line.start :]
    found = re.match(r"""'[^']*'|"[^"]*"|[\w*./-]+""", rest)
    return Span(offset, offset + (found.end() if found else len(rest.rstrip()) or 0))
