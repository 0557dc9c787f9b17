"""What Ensign needs on a machine, checked: one line each, with what to do where something is missing."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterable

from ensign.mcp.connection import Connection
from ensign.protocol.definition import Diagnostic
from ensign.protocol.errors import ToolError
from ensign.protocol.wire import Check
from ensign.session.services import Services
from ensign.tools.ripgrep import executable
from ensign.tools.words import count

OLDEST = (3, 11)
SHOWN_TOOLS = 20
OFF = "disabled in the settings"


async def diagnose(services: Services, faults: Iterable[Diagnostic], *, state: str, path: str | None) -> list[Check]:
    """Check everything; MCP servers are started for it, nothing is changed and nothing is sent to a provider."""
    return [
        _python(),
        _search(),
        _program("bash", path, "commands run in sh instead", required=False),
        await _sandbox(services),
        _program("git", path, "branches are not shown", required=False),
        Check(name="state", state="ok", detail=state),
        *_models(services),
        await asyncio.to_thread(_agents, services),
        *await _servers(services),
        *_settings(faults),
    ]


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info[:2] >= OLDEST
    return Check(
        name="python",
        state="ok" if good else "failed",
        detail=f"{version} at {sys.executable}" + ("" if good else "; Ensign needs 3.11 or newer"),
    )


def _search() -> Check:
    try:
        return Check(name="ripgrep", state="ok", detail=str(executable()))
    except ToolError as error:
        return Check(name="ripgrep", state="failed", detail=str(error))


def _program(name: str, path: str | None, without: str, *, required: bool) -> Check:
    found = shutil.which(name, path=path)
    if found is not None:
        return Check(name=name, state="ok", detail=found)
    return Check(name=name, state="failed" if required else "warning", detail=f"not found: {without}")


async def _sandbox(services: Services) -> Check:
    setting = services.settings().sandbox
    problem = await services.processes.sandbox.problem()
    if problem is None:
        unused = "; not used, by the setting 'sandbox'" if setting == "off" else ""
        return Check(name="sandbox", state="ok", detail=f"{services.processes.sandbox.program}{unused}")
    match setting:
        case "auto":
            detail = f"{problem}: commands of agents that only read run without one"
            return Check(name="sandbox", state="warning", detail=detail)
        case "required":
            detail = f"{problem}: commands of agents that only read are refused, by the setting 'sandbox'"
            return Check(name="sandbox", state="failed", detail=detail)
        case "off":
            return Check(name="sandbox", state="ok", detail="not used, by the setting 'sandbox'")


def _models(services: Services) -> list[Check]:
    roles = services.models.roles()
    known = {info.id: info for info in services.models.list_models()}
    checks: list[Check] = []
    for role, identifier in roles.items():
        info = known.get(identifier)
        problem = info.problem if info is not None else ""
        checks.append(
            Check(
                name=f"model {role}",
                state="warning" if problem else "ok",
                detail=f"{identifier}: {problem}" if problem else identifier,
            )
        )
    return checks


def _agents(services: Services) -> Check:
    definitions = services.definitions()
    errors = [one for one in definitions.diagnostics if one.severity == "error"]
    if errors:
        return Check(name="agents", state="warning", detail=f"{len(errors)} files have errors; see `ensign agents`")
    return Check(name="agents", state="ok", detail=", ".join(definitions.names()))


async def _servers(services: Services) -> list[Check]:
    """Start every MCP server, as a session would, and say what became of it."""
    configured = services.settings().mcp_servers
    await services.servers.start(configured)
    shared = services.servers.shared
    await shared.settled()
    disabled = [Check(name=f"mcp {name}", state="ok", detail=OFF) for name, one in configured.items() if one.disabled]
    return [*(_server(one) for one in shared.connections.values()), *disabled]


def _server(one: Connection) -> Check:
    if one.state != "running":
        return Check(name=f"mcp {one.name}", state="warning", detail=f"not running: {one.fault}")
    names = ", ".join(tool.name for tool in one.tools[:SHOWN_TOOLS])
    more = f" and {len(one.tools) - SHOWN_TOOLS} more" if len(one.tools) > SHOWN_TOOLS else ""
    detail = f"running; {count(len(one.tools), 'tool')}: {names}{more}"
    if one.skipped:
        return Check(name=f"mcp {one.name}", state="warning", detail=f"{detail}; left out: {'; '.join(one.skipped)}")
    return Check(name=f"mcp {one.name}", state="ok", detail=detail)


def _settings(faults: Iterable[Diagnostic]) -> list[Check]:
    found = [f"{one.path}:{one.line}:{one.column}: {one.message}" for one in faults]
    if not found:
        return [Check(name="settings", state="ok", detail="no faults")]
    return [Check(name="settings", state="warning", detail=text) for text in found]
