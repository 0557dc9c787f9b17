"""An entry of `mcpServers`, of settings, `.mcp.json` and agent files alike: checked, and made ready to be started."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast
from urllib.parse import urlsplit

from ensign.mcp.names import server_problem
from ensign.protocol.settings import McpServer
from ensign.workspace.environment import is_ours

_KINDS = {"stdio": "command", "http": "url", "streamable-http": "url", "streamableHttp": "url"}
_MEMBERS = ("type", "command", "args", "env", "cwd", "url", "headers", "timeoutSeconds", "disabled")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class EntryError(ValueError):
    """An entry cannot be used; the message says what is wrong with it."""


def server_of(name: str, data: object, *, own: bool) -> McpServer:
    """Return the server that an entry describes. Members of other products' files are passed over.

    Raises:
        EntryError: it describes none.
    """
    if problem := server_problem(name):
        raise EntryError(problem)
    if not isinstance(data, Mapping):
        raise EntryError("a server is an object with 'command' or 'url'")
    entry = cast("Mapping[str, Any]", data)
    kind = entry.get("type")
    wanted = _KINDS.get(kind) if isinstance(kind, str) else None
    if kind is not None and wanted is None:
        raise EntryError(f"the type {kind!r} is not spoken here; there are stdio and http")
    command, url = _text(entry, "command"), _text(entry, "url")
    if bool(command) == bool(url) or (wanted is not None and not _text(entry, wanted)):
        raise EntryError("a server has either 'command' (a program) or 'url' (an address)")
    if url and "${" not in url and (urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname):
        raise EntryError(f"'url' must be an http or https address, not {url!r}")
    return McpServer(
        command=command,
        args=_texts(entry, "args"),
        env=_table(entry, "env"),
        cwd=_text(entry, "cwd"),
        url=url,
        headers=_table(entry, "headers"),
        timeout_seconds=_seconds(entry),
        disabled=entry.get("disabled") is True,
        own=own,
    )


def unknown_members(data: Mapping[str, Any]) -> list[str]:
    """The members that mean nothing here."""
    return [name for name in data if name not in _MEMBERS]


def expanded(server: McpServer, environment: Mapping[str, str]) -> McpServer:
    """Return the server with `${NAME}` and `${NAME:-default}` put in.

    Raises:
        EntryError: a variable is not set, or is a key of ours that a project asks for.
    """

    def value(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if not server.own and is_ours(name):
            raise EntryError(f"it asks for {name}, which is Ensign's own and not for a project's server")
        if name in environment:
            return environment[name]
        if default is None:
            raise EntryError(f"the variable {name} is not set")
        return default

    def put(text: str) -> str:
        return _VARIABLE.sub(value, text)

    return McpServer(
        command=put(server.command),
        args=tuple(map(put, server.args)),
        env={name: put(text) for name, text in server.env.items()},
        cwd=put(server.cwd),
        url=put(server.url),
        headers={name: put(text) for name, text in server.headers.items()},
        timeout_seconds=server.timeout_seconds,
        disabled=server.disabled,
        own=server.own,
    )


def identity(server: McpServer) -> str:
    """A digest of what is started or connected to: the whole command, arguments and variables as they are written."""
    parts = {name: part for name, part in asdict(server).items() if name not in {"timeout_seconds", "disabled", "own"}}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name, "")
    if not isinstance(value, str):
        raise EntryError(f"{name!r} must be text")
    return value


def _texts(entry: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = entry.get(name, ())
    if not isinstance(values, list | tuple) or not all(isinstance(one, str) for one in cast("list[object]", values)):
        raise EntryError(f"{name!r} must be a list of texts")
    return tuple(cast("list[str]", values))


def _table(entry: Mapping[str, Any], name: str) -> dict[str, str]:
    values = entry.get(name, {})
    if not isinstance(values, Mapping):
        raise EntryError(f"{name!r} must be an object of texts")
    table = cast("Mapping[str, Any]", values)
    if not all(isinstance(one, str) for one in table.values()):
        raise EntryError(f"{name!r} must be an object of texts")
    return dict(table)


def _seconds(entry: Mapping[str, Any]) -> float:
    value = entry.get("timeoutSeconds", McpServer().timeout_seconds)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
        raise EntryError("'timeoutSeconds' must be a number above 0")
    return float(value)
