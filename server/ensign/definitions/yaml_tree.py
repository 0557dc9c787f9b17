"""Strict YAML: text in, a tree of texts out. No types are guessed, nothing is constructed, every size is bounded.

Built from parser events on an explicit stack, so that neither nesting nor aliases can exhaust anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from ensign.definitions.characters import HIDDEN, UNPRINTABLE, code_point
from ensign.definitions.nodes import Entry, FaultError, Items, Mark, Node, Scalar, Table, column_of

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 32
MAX_NODES = 10_000
"""Counted with every alias expanded."""
MAX_STARS = 20
"""Lone stars in one text: each costs another pass."""

_MARKER = re.compile(r"^(?:---|\.\.\.)(?=[ \t]|$)|^%", re.MULTILINE)  # a second document, or a directive
_STAR = "\ue000"  # stands in for a lone `*`
_CORE = "tag:yaml.org,2002:"
_TAGS = {None, "!", *(_CORE + kind for kind in ("str", "int", "float", "bool", "null", "seq", "map"))}

_WRONG_PLACE = "a 'key: value' cannot stand here; look for a wrong indent or a stray quote"
_NOT_CLOSED = "a bracket is opened here and not closed, or a comma is missing"
# What libyaml and PyYAML say, what the author can do about it, and whether the place is where the piece began.
_CAUSES = (
    ("could not find expected ':'", "this line is neither 'key: value' nor the continuation of one", False),
    (
        "cannot start any token",
        "a value cannot start with this character; put it in quotes (indent with spaces)",
        False,
    ),
    ("did not find expected key", _WRONG_PLACE, False),
    ("expected <block end>", _WRONG_PLACE, False),
    ("document start", _WRONG_PLACE, False),
    ("unexpected end of stream", "the quote that opens here is never closed", True),
    ("expected ',' or ']'", _NOT_CLOSED, True),
    ("expected ',' or '}'", _NOT_CLOSED, True),
    ("expected alphabetic or numeric character", "text that starts with '*' or '&' must be put in quotes", True),
)


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not been read."""

    mark: Mark
    anchor: str | None
    is_table: bool
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    key: Scalar | None = None
    size: int = 1


def read_yaml(text: str, *, first_line: int = 1) -> Table:
    """Return the mapping that `text` holds; every scalar is text, as written.

    A value that is a lone `*`, which YAML takes for a broken alias, is read as that text.

    Args:
        text: with Unix line ends and without unprintable characters.
        first_line: the number of its first line in the file.

    Raises:
        FaultError: not YAML, not one mapping, duplicate keys, tags, or beyond the bounds.
    """
    import yaml

    lines = text.split("\n")
    if (marker := _MARKER.search(text)) is not None:
        message = f"not valid YAML: a line cannot start with {marker.group()!r} here"
        raise FaultError("yaml-syntax", message, Mark(first_line + text.count("\n", 0, marker.start()), 1))
    for stars_left in reversed(range(MAX_STARS + 1)):
        try:
            return _Builder(lines, first_line).build(text)
        except yaml.MarkedYAMLError as error:
            spared = _spare_lone_star(lines, error) if stars_left else None
            if spared is None:
                _refuse(lines, first_line, error)
            lines, text = spared, "\n".join(spared)
        except yaml.YAMLError as error:
            raise FaultError("yaml-syntax", f"not valid YAML: {error}", Mark(first_line, 1)) from error
    raise AssertionError("the last pass returns or raises")


def _spare_lone_star(lines: list[str], error: yaml.MarkedYAMLError) -> list[str] | None:
    """Replace the `*` that YAML stumbled over, if it stands alone, by a stand-in of the same width."""
    if "alias" not in (error.context or "") or error.context_mark is None:
        return None
    row, column = error.context_mark.line, error.context_mark.column
    line = lines[row]
    if line[column : column + 1] != "*" or line[column + 1 : column + 2] not in ("", " ", "\t", ",", "]", "}"):
        return None
    return [*lines[:row], line[:column] + _STAR + line[column + 1 :], *lines[row + 1 :]]


def _refuse(lines: list[str], first_line: int, error: yaml.MarkedYAMLError) -> NoReturn:
    problem = error.problem or "not YAML"
    cause, began = next(((cause, began) for words, cause, began in _CAUSES if words in problem), (problem, False))
    mark = (error.context_mark if began else error.problem_mark) or error.problem_mark
    row = min(mark.line, len(lines) - 1) if mark else 0
    before = lines[row][: mark.column] if mark else ""
    if "mapping values are not allowed" in problem:
        cause = "a plain value holds ': '; put it in quotes, or below the key after '>-'"
        if ":" not in before:
            cause = "this line continues the one above; look for a wrong indent or a missing ':'"
    place = Mark(first_line + row, column_of(before))
    if "nesting depth" in problem:
        raise FaultError("yaml-too-deep", f"nested deeper than {MAX_DEPTH} levels", place) from error
    raise FaultError("yaml-syntax", f"not valid YAML: {cause}", place) from error


class _Builder:
    """Turns one document's events into a tree."""

    def __init__(self, lines: list[str], first_line: int) -> None:
        self._lines = lines
        self._first_line = first_line
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._nodes = 0
        self._root: Node | None = None

    def build(self, text: str) -> Table:
        for event in _events(text):
            match type(event).__name__:
                case "ScalarEvent":
                    self._add(self._scalar(event), event.anchor, 1)
                case "AliasEvent":
                    self._add_alias(event)
                case "SequenceStartEvent" | "MappingStartEvent":
                    self._open(event)
                case "SequenceEndEvent" | "MappingEndEvent":
                    self._close()
                case _:
                    pass
        if self._root is None:
            return Table((), Mark(self._first_line, 1))
        if not isinstance(self._root, Table):
            raise FaultError("not-a-mapping", "the front matter must be lines of 'key: value'", self._root.mark)
        return self._root

    def _at(self, event: Any) -> Mark:
        row: int = event.start_mark.line
        column: int = event.start_mark.column
        before = self._lines[row][:column] if row < len(self._lines) else ""
        return Mark(self._first_line + row, column_of(before))

    def _check_tag(self, event: Any) -> None:
        if event.tag not in _TAGS:
            raise FaultError(
                "yaml-tag",
                f"the tag {event.tag.replace(_CORE, '!!')!r} is not allowed; values are plain text",
                self._at(event),
            )

    def _scalar(self, event: Any) -> Scalar:
        self._check_tag(event)
        # Only an escape in a double-quoted text can bring these in: the file itself has been checked.
        if bad := UNPRINTABLE.search(event.value) or HIDDEN.search(event.value):
            message = f"the character {code_point(bad.group())} is not allowed in front matter"
            raise FaultError("control-character", message, self._at(event))
        return Scalar("*" if event.value == _STAR else event.value, self._at(event))

    def _open(self, event: Any) -> None:
        self._check_tag(event)
        if len(self._stack) >= MAX_DEPTH:
            raise FaultError("yaml-too-deep", f"nested deeper than {MAX_DEPTH} levels", self._at(event))
        is_table = type(event).__name__ == "MappingStartEvent"
        self._stack.append(_Open(self._at(event), event.anchor, is_table))

    def _close(self) -> None:
        done = self._stack.pop()
        table = Table(tuple(done.entries.values()), done.mark)
        node = table if done.is_table else Items(tuple(done.items), done.mark)
        self._add(node, done.anchor, done.size, counted=True)

    def _add_alias(self, event: Any) -> None:
        known = self._anchors.get(event.anchor)
        if known is None:
            raise FaultError("yaml-alias", f"the alias '*{event.anchor}' refers to nothing above it", self._at(event))
        node, size = known
        if self._nodes + size > MAX_NODES:
            raise FaultError("yaml-too-large", f"aliases expand to more than {MAX_NODES} values", self._at(event))
        self._add(node, None, size)

    def _add(self, node: Node, anchor: str | None, size: int, *, counted: bool = False) -> None:
        self._nodes += 1 if counted else size
        if self._nodes > MAX_NODES:
            raise FaultError("yaml-too-large", f"more than {MAX_NODES} values", node.mark)
        if anchor is not None:
            self._anchors[anchor] = (node, size)
        if not self._stack:
            self._root = node
            return
        top = self._stack[-1]
        top.size += size
        if not top.is_table:
            top.items.append(node)
        elif top.key is None:
            if not isinstance(node, Scalar):
                raise FaultError("yaml-key", "a key must be a word, not a list or mapping", node.mark)
            top.key = node
        else:
            self._put(top, top.key, node)
            top.key = None

    @staticmethod
    def _put(table: _Open, key: Scalar, node: Node) -> None:
        name = str(key.value)
        if first := table.entries.get(name):
            raise FaultError("duplicate-key", f"{name!r} is already given in line {first.mark.line}", key.mark)
        table.entries[name] = Entry(name, key.mark, node)


def _events(text: str) -> Iterator[Any]:
    import yaml

    # libyaml where the wheel has it (all common platforms): 20 times faster.
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    return iter(yaml.parse(text, Loader=loader))
