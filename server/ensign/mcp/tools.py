"""A server's tool as a tool of ours: declared in one place, whatever the server says of itself (T2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from ensign.mcp.connection import Connection, Remote
from ensign.mcp.entry import identity
from ensign.mcp.names import tool_name
from ensign.mcp.pins import Pins, digest_of
from ensign.mcp.results import output_of, plain
from ensign.protocol.access import Access, Effect
from ensign.protocol.value import frozen
from ensign.tools.base import Arguments, Tool, ToolContext, ToolOutput

MAX_DESCRIPTION = 2048


def tools_of(connection: Connection, pins: Pins, *, label: str = "") -> dict[str, Tool]:
    """Return the tools of a server by full name, in the server's order; it is pinned under its name and `label`."""
    what = identity(connection.server)
    pinned = f"{label}/{connection.name}" if label else connection.name
    digests = {remote.name: digest_of(what, asdict(remote)) for remote in connection.tools}
    found: dict[str, Tool] = {}
    for remote in connection.tools:
        tool = _tool(connection, remote, _Pinned(pins=pins, server=pinned, digests=digests))
        # Only a server that aims at it can give a tool the name that another is mapped to; the first keeps it.
        found.setdefault(tool.name, tool)
    return found


def is_remote(tool: Tool) -> bool:
    """Whether a tool is a server's."""
    return tool.name.startswith("mcp__")


@frozen
class _Pinned:
    """What is kept of one server's tools, and what it says of them now."""

    pins: Pins
    server: str
    digests: Mapping[str, str]

    def question(self, tool: str) -> str | None:
        return self.pins.question(self.server, tool, self.digests[tool])

    async def approve(self, tool: str) -> None:
        await self.pins.approve(self.server, tool, self.digests)


def _tool(connection: Connection, remote: Remote, pinned: _Pinned) -> Tool:
    server = connection.name
    # That it only reads is the server's claim: it decides where the tool is offered, and never that nobody is asked.
    effect = Effect.READ if remote.read_only else Effect.WRITE
    name = tool_name(server, remote.name)

    def accesses(_ctx: ToolContext, _arguments: Arguments) -> Sequence[Access]:
        return (Access(effect=effect, target=name, ask=pinned.question(remote.name)),)

    async def run(ctx: ToolContext, arguments: Arguments) -> ToolOutput:
        await pinned.approve(remote.name)
        ctx.files.command_started()
        try:
            return await output_of(await connection.call(remote.name, arguments, ctx.progress), ctx)
        finally:
            ctx.files.command_ended()

    return Tool(
        name=name,
        description=_description(server, remote),
        parameters=remote.parameters,
        effect=effect,
        parallel=remote.read_only,
        subagent=True,
        background=True,
        run=run,
        accesses=accesses,
        activity=lambda _: f"calling {remote.name} of {server}",
        origin=f"MCP server {server!r}",
    )


def _description(server: str, remote: Remote) -> str:
    words = plain(remote.description).strip()
    if len(words) > MAX_DESCRIPTION:
        words = f"{words[:MAX_DESCRIPTION]}..."
    return f"[A tool of the MCP server {server!r}, described by that server] {words}".rstrip()
