"""What a person wrote in a YAML or JSON file, with the place of every piece, before anyone gives it a meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ensign.protocol.definition import Diagnostic, Severity
from ensign.protocol.value import frozen


@frozen(kw_only=False)
class Mark:
    """A place in a text; both count from 1, columns in UTF-16 units."""

    line: int
    column: int


START = Mark(1, 1)


@frozen(kw_only=False)
class Scalar:
    """A single value. From YAML it is always text, as written; JSON brings its own types.

    `span`, here and below, is where JSON text has the node: offsets of its start and of what follows it.
    """

    value: str | int | float | bool | None
    mark: Mark
    span: tuple[int, int] = (0, 0)


@frozen(kw_only=False)
class Items:
    """A list."""

    items: tuple[Node, ...]
    mark: Mark
    span: tuple[int, int] = (0, 0)


@frozen(kw_only=False)
class Entry:
    """A key with its value; `mark` is the key's place."""

    key: str
    mark: Mark
    node: Node


@frozen(kw_only=False)
class Table:
    """A mapping in the order in which it was written; keys are unique."""

    entries: tuple[Entry, ...]
    mark: Mark
    span: tuple[int, int] = (0, 0)

    def get(self, key: str) -> Entry | None:
        """The entry with this key."""
        return next((entry for entry in self.entries if entry.key == key), None)


Node = Scalar | Items | Table


@frozen(kw_only=False)
class Note:
    """Something to tell the file's author."""

    mark: Mark
    severity: Severity
    code: str
    message: str

    def diagnostic(self, path: Path) -> Diagnostic:
        """The note, now that its file is known."""
        return Diagnostic(
            path=path,
            line=self.mark.line,
            column=self.mark.column,
            severity=self.severity,
            code=self.code,
            message=self.message,
        )


class FaultError(Exception):
    """A text cannot be used as a whole. Caught where files are loaded, and never seen outside."""

    def __init__(self, code: str, message: str, mark: Mark = START) -> None:
        super().__init__(message)
        self.note = Note(mark, "error", code, message)


def mark_at(text: str, offset: int) -> Mark:
    """Return the place of `offset` in `text`, which has Unix line ends."""
    start = text.rfind("\n", 0, offset) + 1
    return Mark(text.count("\n", 0, offset) + 1, column_of(text[start:offset]))


def column_of(before: str) -> int:
    """Return the column that follows `before` on its line."""
    wide = 0 if before.isascii() else sum(character > "\uffff" for character in before)
    return 1 + len(before) + wide


def to_data(node: Node) -> Any:
    """Return the bare value: scalars, lists, dicts."""
    match node:
        case Scalar(value):
            return value
        case Items(items):
            return [to_data(item) for item in items]
        case Table(entries):
            return {entry.key: to_data(entry.node) for entry in entries}


def from_data(value: Any, mark: Mark = START) -> Node:
    """Return a value that came without a text, such as initialization options, all of it at one place."""
    if isinstance(value, Mapping):
        table = cast("Mapping[object, Any]", value)
        return Table(tuple(Entry(str(key), mark, from_data(item, mark)) for key, item in table.items()), mark)
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        return Items(tuple(from_data(item, mark) for item in items), mark)
    return Scalar(value if value is None or isinstance(value, str | int | float) else str(value), mark)


def kind_of(node: Node) -> str:
    """Name what was written, for messages."""
    match node:
        case Items():
            return "a list"
        case Table():
            return "a mapping"
        case Scalar(bool() | None as value):
            return str(value).lower() if value is not None else "null"
        case Scalar(str() as text):
            return quoted(text)
        case Scalar(value):
            return str(value)


def quoted(text: str) -> str:
    """Quote what was written for a message that stays one line."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
