"""What MCP servers are to one session: whose tools an agent is told of, which it has to look for, and when it waits."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping

from ensign.mcp.entry import EntryError, server_of
from ensign.mcp.names import server_key
from ensign.mcp.servers import Group, named_servers
from ensign.mcp.tools import is_remote
from ensign.protocol.definition import AgentDefinition
from ensign.protocol.errors import UserError
from ensign.protocol.settings import McpServer
from ensign.session.services import Services
from ensign.tasks.filter import named_by
from ensign.tasks.task import Task
from ensign.tools.base import Tool
from ensign.tools.tool_search import TOOL_SEARCH, tool_search_tool

CHARS_PER_TOKEN = 4


class RemoteTools:
    """The servers as the agents of one session see them."""

    def __init__(self, services: Services, found: Callable[[str], Iterable[Tool]]) -> None:
        """`found` returns what the agent of an id may call although its conversation was not told of it."""
        self._services = services
        self._groups: dict[str, Group] = {}
        self._search = tool_search_tool(lambda ctx: found(ctx.agent_id))

    @property
    def configured(self) -> bool:
        """Whether there is, or can be, any server in this session."""
        own = any(definition.mcp_servers for definition in self._services.definitions())
        return bool(self._services.settings().mcp_servers) or own

    def search(self) -> tuple[Tool, ...]:
        """`ToolSearch`, where there is something to look for."""
        limit = self._services.settings().tools
        wanted = self.configured and (limit is None or TOOL_SEARCH in limit)
        return (self._search,) if wanted else ()

    def tools(self, task: Task | None = None) -> Mapping[str, Tool]:
        """Every tool of the servers that an agent can reach, as it is at any moment."""
        group = self._groups.get(task.id) if task is not None else None
        shared = self._services.servers.shared.tools
        return shared if group is None else ChainMap(group.tools, shared)

    def refusal(self, tool: Tool) -> str | None:
        """Why nobody here may have a server's tool, or None."""
        limit = self._services.settings().tools
        if limit is None or not is_remote(tool) or named_by(tool, limit):
            return None
        return "whoever started Ensign did not include it (--tools)"

    def shown(self, tools: Iterable[Tool]) -> tuple[Tool, ...]:
        """Return the tools that a conversation is told of: those of whole servers, as long as there is room."""
        room = self._services.settings().mcp_prompt_tokens * CHARS_PER_TOKEN
        kept = [tool for tool in tools if self.refusal(tool) is None]
        servers: dict[str, list[Tool]] = {}
        for tool in kept:
            if is_remote(tool):
                servers.setdefault(tool.origin, []).append(tool)
        left_out: set[str] = set()
        for origin, theirs in servers.items():
            size = sum(_chars(tool) for tool in theirs)
            if size > room:
                left_out.add(origin)
            else:
                room -= size
        shown = tuple(tool for tool in kept if tool.origin not in left_out)
        if left_out and self._search not in shown:
            return (*shown, self._search)
        return shown

    async def start(self) -> None:
        """Begin to start the shared servers, unless they run."""
        await self._services.servers.start(self._services.settings().mcp_servers)

    async def settled(self) -> list[str]:
        """Wait until each shared server runs or has failed; return what is wrong, for people."""
        shared = self._services.servers.shared
        await shared.settled()
        return [
            f"The MCP server {one.name!r} is not running: {one.fault}. `ensign doctor` shows all of them."
            for one in shared.connections.values()
            if one.state == "failed"
        ]

    async def prepare(self, task: Task, definition: AgentDefinition) -> None:
        """Start what a definition brings along, and wait for what it may use.

        Raises:
            UserError: a server that its `tools` name is not there or does not run, or one that it brings along cannot
                be started as it is written.
        """
        inline, references = inline_of(definition)
        wanted = named_servers(definition.tools or ())
        shared = self._services.servers.shared
        if taken := sorted(name for name in inline if server_key(name) in shared.connections):
            raise UserError(
                f"{definition.name!r} brings along an MCP server {taken[0]!r}, which is the name of a shared one; "
                "rename it, so that a rule for the one does not hold for the other"
            )
        if inline:
            group = await self._services.servers.group(task.record.agent_id, definition.name, inline)
            self._groups[task.id] = group
            await group.settled()
        every = definition.tools is None or "*" in definition.tools
        if every or wanted or references:
            await shared.settled()
        connections = {**shared.connections}
        if task.id in self._groups:
            connections |= self._groups[task.id].connections
        for name in sorted({*wanted, *references, *map(server_key, inline)}):
            one = connections.get(name)
            fault = "there is none of this name" if one is None else one.fault or "it was ended"
            if one is not None and one.state == "running":
                continue
            if name in wanted:
                raise UserError(f"{definition.name!r} needs the MCP server {name!r}, which is not running: {fault}")
            task.facts.note(f"it went on without the MCP server {name!r}, which is not running: {fault}")

    async def close(self, task: Task) -> None:
        """End what was started for a task alone."""
        group = self._groups.pop(task.id, None)
        if group is not None:
            await group.close()


def inline_of(definition: AgentDefinition) -> tuple[dict[str, McpServer], set[str]]:
    """Return the servers that a definition brings along, and the names of shared ones that it refers to.

    Raises:
        UserError: an entry describes no server.
    """
    inline: dict[str, McpServer] = {}
    references: set[str] = set()
    for entry in definition.mcp_servers:
        if isinstance(entry, str):
            references.add(server_key(entry))
            continue
        for name, data in entry.items():
            try:
                # Not trusted definitions have none; what a project's says is still not the person's own.
                own = not definition.source.value.startswith("project")
                inline[name] = server_of(name, data, own=own)
            except EntryError as error:
                raise UserError(f"{definition.name!r} brings along an MCP server {name!r}: {error}") from error
    return inline, references


def _chars(tool: Tool) -> int:
    return len(tool.name) + len(tool.description) + len(json.dumps(dict(tool.parameters)))
