"""All servers: those that every agent shares, and those that an agent's definition brings along. Start reading here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from ensign.mcp.connection import Connection, Place
from ensign.mcp.names import server_key
from ensign.mcp.pins import Pins
from ensign.mcp.tools import tools_of
from ensign.protocol.settings import McpServer
from ensign.tools.base import Tool

SHARED = "mcp"
"""Whose the processes of shared servers are."""


class Group:
    """Servers with one owner, started and ended together.

    Attributes:
        tools: those of the servers that run or have run, by full name; the same object for ever, its content changes.
    """

    def __init__(self, place: Place, pins: Pins, *, owner: str, changed: Callable[[], None], label: str = "") -> None:
        """Prepare; `label` tells apart what is pinned of servers of one name that several definitions bring along."""
        self.tools: dict[str, Tool] = {}
        self.connections: dict[str, Connection] = {}
        self._place = place
        self._pins = pins
        self._owner = owner
        self._label = label
        self._changed = changed
        self._loading: asyncio.Task[None] | None = None

    def start(self, servers: Mapping[str, McpServer]) -> list[Connection]:
        """Start what is not started yet; return servers that are not wanted any more, or not so, to be closed."""
        wanted = {server_key(name): server for name, server in servers.items() if not server.disabled}
        gone = [one for key, one in self.connections.items() if wanted.get(key) != one.server]
        for connection in gone:
            del self.connections[connection.name]
        for key, server in wanted.items():
            if key not in self.connections:
                made = Connection(key, server, self._place, owner=self._owner, changed=self._update)
                self.connections[key] = made
                made.start()
        self.connections = {key: self.connections[key] for key in wanted}
        if gone:
            self._update()
        return gone

    def retry(self) -> None:
        """Start again what failed to start."""
        for connection in self.connections.values():
            connection.retry()

    async def settled(self) -> None:
        """Wait until each server runs or has failed; its start has a time limit."""
        await asyncio.gather(*(one.settled() for one in self.connections.values()))

    async def close(self) -> None:
        """End all of them."""
        await asyncio.gather(*(one.close() for one in self.connections.values()))
        self.connections.clear()
        self.tools.clear()

    def _update(self) -> None:
        found: dict[str, Tool] = {}
        for connection in self.connections.values():
            found |= tools_of(connection, self._pins, label=self._label)
        self.tools.clear()
        self.tools.update(found)
        self._changed()


class Servers:
    """The shared servers of a server process, and the groups of single agents.

    Attributes:
        shared: for every agent of every session.
    """

    def __init__(self, place: Place, pins: Pins) -> None:
        self._place = place
        self._pins = pins
        self._listeners: list[Callable[[], None]] = []
        self._closing: set[asyncio.Task[None]] = set()
        self._loaded = False
        self.shared = Group(place, pins, owner=SHARED, changed=self._tell)

    async def start(self, servers: Mapping[str, McpServer]) -> None:
        """See that the shared servers are these; starting goes on in the background."""
        await self._load(servers)
        for connection in self.shared.start(servers):
            closing = asyncio.create_task(connection.close(), name=f"close mcp {connection.name}")
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def group(self, owner: str, definition: str, servers: Mapping[str, McpServer]) -> Group:
        """Start the servers that a definition brings along, for one agent alone; whoever asks closes them."""
        await self._load(servers)
        group = Group(self._place, self._pins, owner=f"{SHARED}:{owner}", changed=lambda: None, label=definition)
        group.start(servers)
        return group

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Be told when the shared servers' states or tools change; the returned function ends that."""
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    async def close(self) -> None:
        """End every shared server."""
        await self.shared.close()
        if self._closing:
            await asyncio.wait(self._closing)

    async def _load(self, servers: Mapping[str, McpServer]) -> None:
        if servers and not self._loaded:
            self._loaded = True
            await self._pins.load()

    def _tell(self) -> None:
        for changed in tuple(self._listeners):
            changed()


def named_servers(entries: Iterable[str]) -> set[str]:
    """The servers that a definition's `tools` name: without them it cannot do its work."""
    return {entry.split("__")[1] for entry in entries if entry.startswith("mcp__")}
