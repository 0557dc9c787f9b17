"""From a node of a settings file to a value of a type; bad pieces are left out, named by path, and the rest holds."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Literal, Union, get_args, get_origin

from ensign.config.keys import members_of
from ensign.definitions.nodes import Entry, Items, Mark, Node, Note, Scalar, Table, kind_of, to_data
from ensign.definitions.vocabulary import did_you_mean
from ensign.mcp.entry import EntryError, server_of, unknown_members
from ensign.protocol.settings import McpServer, ProviderSettings

UNSET: Any = object()
LEFT_OUT = "it is left out"


class Converter:
    """Converts values and keeps what was wrong with them."""

    def __init__(self, *, own: bool = True) -> None:
        """`own`: whether the values are from a place of the person's own, not a project's."""
        self._own = own
        self.notes: list[Note] = []

    def refuse(self, path: str, node: Node, wants: str) -> Any:
        """Note a value that does not fit."""
        # The value itself is not repeated: it may be a key that was put into the wrong place.
        what = kind_of(node) if not (isinstance(node, Scalar) and isinstance(node.value, str)) else "this text"
        self.note("error", "bad-value", f"{path!r} must be {wants}, not {what}; {LEFT_OUT}", node.mark)
        return UNSET

    def note(self, severity: Literal["error", "warning", "information"], code: str, message: str, mark: Mark) -> None:
        """Keep something to tell the file's author."""
        self.notes.append(Note(mark, severity, code, message))

    def convert(self, hint: Any, node: Node, path: str, *, minimum: float = 1) -> Any:
        """Return the value, or `UNSET` once its fault is noted. `null` means not set, unless the type has None."""
        origin, args = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            if isinstance(node, Scalar) and node.value in (None, "none"):
                return None
            return self.convert(next(arg for arg in args if arg is not type(None)), node, path, minimum=minimum)
        if isinstance(node, Scalar) and node.value is None:
            return UNSET
        if origin is Literal:
            if isinstance(node, Scalar) and node.value in args:
                return node.value
            return self.refuse(path, node, f"one of {', '.join(args)}")
        if origin is tuple:
            return self._texts(node, path)
        if origin is not None and issubclass(origin, Mapping):
            return self._mapping(args[1], node, path)
        if hint is ProviderSettings:
            return self._provider(node, path)
        if hint is Any:
            return to_data(node)
        return self._scalar(hint, node, path, minimum)

    def _scalar(self, hint: type, node: Node, path: str, minimum: float) -> Any:
        value: Any = node.value if isinstance(node, Scalar) else UNSET
        if hint is bool:
            return value if isinstance(value, bool) else self.refuse(path, node, "true or false")
        if hint is str:
            return value.strip() if isinstance(value, str) else self.refuse(path, node, "text")
        if isinstance(value, float) and hint is int and value.is_integer():
            value = int(value)
        number = value if isinstance(value, int if hint is int else int | float) else None
        if number is None or isinstance(value, bool) or not minimum <= number <= 1e12:
            return self.refuse(path, node, f"a {'whole ' if hint is int else ''}number of at least {minimum:g}")
        return number if hint is int else float(number)

    def _texts(self, node: Node, path: str) -> Any:
        if isinstance(node, Table):
            return self.refuse(path, node, "a list of texts")
        found: list[str] = []
        for number, item in enumerate(node.items if isinstance(node, Items) else (node,)):
            if isinstance(item, Scalar) and isinstance(item.value, str) and item.value.strip():
                found.append(item.value.strip())
            else:
                self.refuse(f"{path}[{number}]", item, "a text")
        return tuple(found)

    def _mapping(self, hint: Any, node: Node, path: str) -> Any:
        if not isinstance(node, Table):
            return self.refuse(path, node, "an object")
        if hint is McpServer:
            servers = {entry.key: self._server(entry, f"{path}.{entry.key}") for entry in node.entries}
            return {name: server for name, server in servers.items() if server is not UNSET}
        values = {entry.key: self.convert(hint, entry.node, f"{path}.{entry.key}") for entry in node.entries}
        return {key: value for key, value in values.items() if value is not UNSET}

    def _server(self, entry: Entry, path: str) -> Any:
        try:
            server = server_of(entry.key, to_data(entry.node), own=self._own)
        except EntryError as error:
            self.note("error", "bad-value", f"{path!r} is left out: {error}", entry.mark)
            return UNSET
        assert isinstance(entry.node, Table)
        for name in unknown_members(to_data(entry.node)):
            self.note("information", "unknown-key", f"{path!r}: {name!r} means nothing here", entry.mark)
        return server

    def _provider(self, node: Node, path: str) -> Any:
        if not isinstance(node, Table):
            return self.refuse(path, node, "an object")
        members = members_of(ProviderSettings)
        values: dict[str, Any] = {}
        for entry in node.entries:
            if entry.key not in members:
                hint = did_you_mean(entry.key, members)
                self.note("warning", "unknown-key", f"{path!r} has no {entry.key!r}{hint}", entry.mark)
                continue
            attribute, kind = members[entry.key]
            value = self.convert(kind, entry.node, f"{path}.{entry.key}")
            if value is not UNSET:
                values[attribute] = value
        required = [member.name for member in fields(ProviderSettings) if member.default is MISSING]
        if missing := [name for name in required if name not in values and name != "headers"]:
            self.note("error", "bad-value", f"{path!r} needs {', '.join(missing)}; {LEFT_OUT}", node.mark)
            return UNSET
        return ProviderSettings(**values)
