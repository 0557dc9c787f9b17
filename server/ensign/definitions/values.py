"""From what was written to a field's value: one reader for each kind of field (D2, D3, D4).

A reader returns the value, or `UNSET` after it has noted why the default stands; a value of the wrong type is a
`FaultError`, and the file is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ensign.definitions.fields import TOOL_HINTS, Field, Kind
from ensign.definitions.nodes import Entry, FaultError, Items, Mark, Node, Note, Scalar, Table, kind_of, quoted, to_data
from ensign.definitions.vocabulary import Vocabulary, did_you_mean
from ensign.protocol.access import Mode
from ensign.protocol.definition import Rules

UNSET: Any = object()

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_COUNT = re.compile(r"[1-9][0-9]{0,8}")
_SECONDS = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,6})?")
_MCP = re.compile(r"mcp__[A-Za-z0-9_-]+?(?:__(?:[A-Za-z0-9_-]+|\*))?")
_CALL = re.compile(r"([A-Za-z_]\w*)\((.*)\)", re.DOTALL)
_PARTS = re.compile(r"(?:[^,(]|\([^)]*\)?)+")  # at commas, but not at those in parentheses
_RULE_LISTS = ("allow", "ask", "deny")


class ValueReader:
    """Reads the values of one file, and keeps what there is to say about them."""

    def __init__(self, words: Vocabulary) -> None:
        self.words = words
        self.notes: list[Note] = []

    def read(self, field: Field, entry: Entry) -> Any:
        """Return the value of `entry`, or `UNSET`.

        Raises:
            FaultError: the value has the wrong type.
        """
        return _READERS[field.kind](self, field, entry.node)

    def warn(self, code: str, message: str, mark: Mark) -> None:
        """Note something that was read with a substitute."""
        self.notes.append(Note(mark, "warning", code, message))

    def replaced(self, field: Field, node: Node, why: str, hint: str = "") -> Any:
        """Note that a bad value gives way (D4)."""
        self.warn("bad-value", f"{field.name!r} {why}, not {kind_of(node)}{hint}; {field.fallback}", node.mark)
        return UNSET

    # ---- one reader for each kind ------------------------------------------------------------------------------------

    def name(self, field: Field, node: Node) -> str:
        """Names are identifiers: nothing else is accepted, so that tags and rules can hold them as they are."""
        text = _text(field, node)
        if not text:
            raise FaultError("no-name", "'name' has no value", node.mark)
        if not _NAME.fullmatch(text):
            must = "a letter, then up to 31 letters, digits, '-' or '_'"
            raise FaultError("bad-name", f"the name must be {must}, not {kind_of(node)}", node.mark)
        if text.casefold() == "main":
            raise FaultError("bad-name", "the name 'main' is reserved for the main agent", node.mark)
        return text

    def text(self, field: Field, node: Node) -> Any:
        text = _text(field, node)
        if not text and field.required:
            raise FaultError("no-" + field.name, f"{field.name!r} has no value", node.mark)
        return text or self.blank(field, node)

    def blank(self, field: Field, node: Node) -> Any:
        """Treat `key:` without a value as if the key were not there, but say so."""
        self.warn("no-value", f"{field.name!r} has no value and is left out", node.mark)
        return UNSET

    def choice(self, field: Field, node: Node) -> Any:
        text = _text(field, node)
        if not text:
            return self.blank(field, node)
        if text in field.values:
            return text
        if ours := dict(field.renamed).get(text):
            self.warn("bad-value", f"{field.name!r} has no {quoted(text)}; {ours!r} is used", node.mark)
            return ours
        hint = did_you_mean(text, field.values)
        return self.replaced(field, node, f"must be one of {', '.join(field.values)}", hint)

    def mode(self, field: Field, node: Node) -> Any:
        word = self.choice(field, node)
        if word is not UNSET:
            return Mode(word)
        return Mode.DEFAULT if _text(field, node) else UNSET

    def flag(self, field: Field, node: Node) -> Any:
        text = _text(field, node)
        if not text:
            return self.blank(field, node)
        if text.lower() not in ("true", "false"):
            raise FaultError("wrong-type", f"{field.name!r} must be true or false, not {kind_of(node)}", node.mark)
        return text.lower() == "true"

    def count(self, field: Field, node: Node) -> Any:
        text = _text(field, node)
        if not _COUNT.fullmatch(text):
            return self.replaced(field, node, "must be a whole number above 0")
        return int(text)

    def seconds(self, field: Field, node: Node) -> Any:
        text = _text(field, node)
        if not _SECONDS.fullmatch(text) or not float(text):
            return self.replaced(field, node, "must be a number of seconds above 0")
        return float(text)

    def model(self, field: Field, node: Node) -> Any:
        text = _text(field, node)
        if not text:
            return self.blank(field, node)
        problem = None if text == "inherit" else self.words.check_model(text)
        if problem is None:
            return text
        self.warn("unknown-model", f"{problem}; {field.fallback}", node.mark)
        return "inherit"

    def tools(self, field: Field, node: Node) -> tuple[str, ...]:
        """Return the entries as written; unknown ones are errors, and stay so that a refused launch can name them."""
        if isinstance(node, Scalar) and not str(node.value).strip():
            message = f"{field.name!r} has no value; write [] for no tools, or leave the field out"
            raise FaultError("wrong-type", message, node.mark)
        if isinstance(node, Scalar) and str(node.value).lstrip().startswith("["):
            message = f"{field.name!r} is a list inside quotes; take the quotes away"
            raise FaultError("wrong-type", message, node.mark)
        names = [self.tool(field, text, mark) for text, mark in _texts(field, node)]
        return tuple(dict.fromkeys(name for name in names if name))

    def tool(self, field: Field, text: str, mark: Mark) -> str:
        call = _CALL.fullmatch(text)
        name = call.group(1) if call else text
        name = "Agent" if name == "Task" else name
        if call and name != "Agent":
            message = f"{quoted(text)} has a pattern, which belongs in 'permissions'; {field.name!r} takes bare names"
            self.notes.append(Note(mark, "error", "unknown-tool", message))
            return text
        if name == "*" or name in self.words.tools:
            return name
        mcp = bool(_MCP.fullmatch(name))
        if mcp and "mcpServers" not in self.words.unserved:
            return name
        if mcp or name in self.words.later_tools:
            self.notes.append(Note(mark, "information", "unserved", f"the tool {quoted(name)} is not yet served"))
            return name
        ours = TOOL_HINTS.get(name)
        hint = f"; {ours!r} does its work" if ours else did_you_mean(name, self.words.tools)
        self.notes.append(Note(mark, "error", "unknown-tool", f"there is no tool {quoted(name)}{hint}"))
        return name

    def names(self, field: Field, node: Node) -> tuple[str, ...]:
        return tuple(dict.fromkeys(text for text, _ in _texts(field, node)))

    def rules(self, field: Field, node: Node) -> Rules:
        table = _table(field, node)
        for entry in table.entries:
            if entry.key not in _RULE_LISTS:
                hint = did_you_mean(entry.key, _RULE_LISTS)
                self.warn("unknown-field", f"'permissions' has no {entry.key!r}{hint}", entry.mark)
        return Rules(**{key: self.rule_list(field, table.get(key)) for key in _RULE_LISTS})

    def rule_list(self, field: Field, entry: Entry | None) -> tuple[str, ...]:
        """Return the good rules; a bad one is an error of its own, and the others hold."""
        good: list[str] = []
        nodes: tuple[Node, ...] = ()
        if entry:
            nodes = entry.node.items if isinstance(entry.node, Items) else (entry.node,)
        for node in nodes:
            text = _text(field, node)
            if problem := self.words.check_rule(text):
                self.notes.append(
                    Note(node.mark, "error", "bad-rule", f"the rule {quoted(text)} is left out: {problem}")
                )
            else:
                good.append(text)
        return tuple(good)

    def servers(self, field: Field, node: Node) -> tuple[Any, ...]:
        """Return names and one-entry mappings; a mapping of several servers, as in `.mcp.json`, is taken apart."""
        if isinstance(node, Table):
            return tuple({entry.key: to_data(entry.node)} for entry in node.entries)
        found: list[Any] = []
        for item in node.items if isinstance(node, Items) else (node,):
            match item:
                case Scalar():
                    found.extend(text for text, _ in _texts(field, item))
                case Table(entries):
                    found.extend({entry.key: to_data(entry.node)} for entry in entries)
                case Items():
                    raise FaultError("wrong-type", f"{field.name!r} cannot hold a list in a list", item.mark)
        return tuple(found)

    def table(self, field: Field, node: Node) -> Any:
        if isinstance(node, Scalar) and not _text(field, node):
            return self.blank(field, node)
        return to_data(_table(field, node))


def is_name(text: str) -> bool:
    """Whether an agent can be called so."""
    return bool(_NAME.fullmatch(text)) and text.casefold() != "main"


def _text(field: Field, node: Node) -> str:
    if not isinstance(node, Scalar):
        wants = "rules as text" if field.kind is Kind.RULES else field.kind.value
        raise FaultError("wrong-type", f"{field.name!r} must be {wants}, not {kind_of(node)}", node.mark)
    return str(node.value).strip()


def _table(field: Field, node: Node) -> Table:
    if not isinstance(node, Table):
        raise FaultError("wrong-type", f"{field.name!r} must be {field.kind.value}, not {kind_of(node)}", node.mark)
    return node


def _texts(field: Field, node: Node) -> Iterator[tuple[str, Mark]]:
    """The entries of a list, or of a text with commas."""
    if isinstance(node, Table):
        raise FaultError("wrong-type", f"{field.name!r} must be {field.kind.value}, not a mapping", node.mark)
    for item in node.items if isinstance(node, Items) else (node,):
        for part in _PARTS.findall(_text(field, item)):
            if part.strip():
                yield part.strip(), item.mark


_READERS: dict[Kind, Callable[[ValueReader, Field, Node], Any]] = {
    Kind.NAME: ValueReader.name,
    Kind.TEXT: ValueReader.text,
    Kind.CHOICE: ValueReader.choice,
    Kind.MODE: ValueReader.mode,
    Kind.FLAG: ValueReader.flag,
    Kind.COUNT: ValueReader.count,
    Kind.SECONDS: ValueReader.seconds,
    Kind.MODEL: ValueReader.model,
    Kind.TOOLS: ValueReader.tools,
    Kind.NAMES: ValueReader.names,
    Kind.RULES: ValueReader.rules,
    Kind.SERVERS: ValueReader.servers,
    Kind.TABLE: ValueReader.table,
}
