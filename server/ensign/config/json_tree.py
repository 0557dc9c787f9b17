"""JSON as people write it (comments and trailing commas are fine), with the place of every piece."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ensign.definitions.nodes import Entry, FaultError, Items, Node, Note, Scalar, Table, mark_at
from ensign.definitions.sources import read_bytes

MAX_DEPTH = 64

_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?([eE][-+]?[0-9]{1,2})?(?![\w.])")
_STRING = json.JSONDecoder()
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"[A-Za-z]+")


class JsonText:
    """One text; `notes` has the keys that were given twice (the first holds).

    Raises (from the constructor):
        FaultError: not JSON, or not an object at the top.
    """

    def __init__(self, text: str, data: bytes = b"") -> None:
        """`data` is the content of the file that the text was read from."""
        self.text = text
        self.data = data
        self.notes: list[Note] = []
        self._at = 0
        self._skip()
        if self._at == len(text):
            self.table = Table((), mark_at(text, 0), (0, 0))
            return
        node = self._value(0)
        self._skip()
        if self._at != len(text):
            raise self._fault("there is more text after the end")
        if not isinstance(node, Table):
            raise FaultError("not-an-object", "settings must be an object: { ... }", node.mark)
        self.table = node

    def _fault(self, what: str) -> FaultError:
        return FaultError("json-syntax", f"not valid JSON: {what}", mark_at(self.text, self._at))

    def _skip(self) -> None:
        gap = _GAP.match(self.text, self._at)
        self._at = gap.end() if gap else self._at

    def _next(self) -> str:
        self._skip()
        return self.text[self._at : self._at + 1]

    def _value(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise self._fault(f"nested deeper than {MAX_DEPTH} levels")
        match self._next():
            case "{":
                return self._table(depth)
            case "[":
                return self._items(depth)
            case '"':
                start = self._at
                return Scalar(self._string(), mark_at(self.text, start), (start, self._at))
            case "":
                raise self._fault("the text ends too early")
            case _:
                return self._word()

    def _string(self) -> str:
        try:
            value: str
            value, end = _STRING.raw_decode(self.text, self._at)
        except json.JSONDecodeError as error:
            self._at = error.pos
            raise self._fault(error.msg[0].lower() + error.msg[1:]) from error
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise self._fault("a text has half of a surrogate pair")
        self._at = end
        return value

    def _word(self) -> Scalar:
        mark, start = mark_at(self.text, self._at), self._at
        if number := _NUMBER.match(self.text, start):
            self._at = number.end()
            whole = number.group(1) is None and number.group(2) is None
            return Scalar(int(number.group()) if whole else float(number.group()), mark, (start, self._at))
        word = _WORD.match(self.text, start)
        if word is None or word.group() not in _WORDS:
            raise self._fault("a value is expected here")
        self._at = word.end()
        return Scalar(_WORDS[word.group()], mark, (start, self._at))

    def _items(self, depth: int) -> Items:
        mark, start = mark_at(self.text, self._at), self._at
        self._at += 1
        items: list[Node] = []
        while self._next() != "]":
            items.append(self._value(depth + 1))
            self._separator("]")
        self._at += 1
        return Items(tuple(items), mark, (start, self._at))

    def _table(self, depth: int) -> Table:
        mark, start = mark_at(self.text, self._at), self._at
        self._at += 1
        entries: dict[str, Entry] = {}
        while (following := self._next()) != "}":
            if following != '"':
                raise self._fault("a key in double quotes is expected here")
            place = mark_at(self.text, self._at)
            key = self._string()
            if self._next() != ":":
                raise self._fault("':' is expected here")
            self._at += 1
            entry = Entry(key, place, self._value(depth + 1))
            if entries.setdefault(key, entry) is not entry:
                message = f"{key!r} is already given in line {entries[key].mark.line}, and that one holds"
                self.notes.append(Note(place, "error", "duplicate-key", message))
            self._separator("}")
        self._at += 1
        return Table(tuple(entries.values()), mark, (start, self._at))

    def _separator(self, close: str) -> None:
        following = self._next()
        if following == ",":
            self._at += 1
        elif following != close:
            raise self._fault(f"',' or {close!r} is expected here")


def read_json_file(path: Path) -> JsonText | None:
    """Return what a file says, None where there is none.

    Raises:
        FaultError: it cannot be read, or is not JSON.
    """
    if not path.exists():
        return None
    return parse_json(read_bytes(path))


def parse_json(data: bytes) -> JsonText:
    """Return what a file's content says.

    Raises:
        FaultError: it is not JSON.
    """
    content = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return JsonText(content.decode(), data)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode()
        raise FaultError("encoding", "not UTF-8; save the file as UTF-8", mark_at(before, len(before))) from error
