"""Which tools a subagent has: a chain of steps that each only narrow (T1)."""

from __future__ import annotations

from collections.abc import Sequence

from ensign.protocol.access import Effect, Mode
from ensign.protocol.definition import AgentDefinition
from ensign.protocol.value import frozen
from ensign.tools.base import Tool


@frozen
class Selection:
    """The tools that are left, and entries of a definition that name none of the registered ones."""

    tools: tuple[Tool, ...]
    unknown: tuple[str, ...]


def select(
    tools: Sequence[Tool],
    definition: AgentDefinition,
    *,
    background: bool,
    mode: Mode,
    file_disallowed: Sequence[str],
) -> Selection:
    """Return the tools of a subagent of this definition, in the order in which they are registered."""
    left = [tool for tool in tools if tool.subagent]
    if not definition.built_in:
        left = [tool for tool in left if not named_by(tool, file_disallowed)]
    if background:
        left = [tool for tool in left if tool.background]
    left = [tool for tool in left if not named_by(tool, definition.disallowed_tools)]
    unknown: list[str] = []
    if definition.tools is not None:
        unknown = [entry for entry in definition.tools if not any(named_by(tool, (entry,)) for tool in tools)]
        left = [tool for tool in left if named_by(tool, definition.tools)]
    if mode is Mode.PLAN:
        left = [tool for tool in left if tool.effect is not Effect.WRITE]
    return Selection(tools=tuple(left), unknown=tuple(unknown))


def named_by(tool: Tool, entries: Sequence[str]) -> bool:
    """Whether one of the entries (`Read`, `*`, `mcp__server`, `mcp__server__*`) names the tool."""
    return any(entry in {"*", tool.name} or _server_of(entry, tool.name) for entry in entries)


def _server_of(entry: str, name: str) -> bool:
    if not entry.startswith("mcp__"):
        return False
    server = entry.removesuffix("__*")
    return "__" not in server.removeprefix("mcp__") and name.startswith(f"{server}__")


def refusal(tool: Tool, *, background: bool) -> str | None:
    """Why a subagent may not run a tool that its schema shows (T3: forks, and runs moved to the background)."""
    if not tool.subagent:
        return "subagents cannot use it"
    if background and not tool.background:
        return "it is not fit for work in the background"
    return None
