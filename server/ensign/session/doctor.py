"""What Ensign needs on a machine, checked: one line each, with what to do where something is missing."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from collections.abc import Iterable, Sequence

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

_SANDBOX = "Do what the line above says, or set `ensign.sandbox` to `off` if you do not want one."
_KEY = "Run **Ensign: Set API Key** in the editor, or set the variable and start the editor again."


async def diagnose(services: Services, faults: Iterable[Diagnostic], *, state: str, path: str | None) -> list[Check]:
    """Check everything; MCP servers are started for it, nothing is changed and nothing is sent to a provider."""
    return [
        _python(),
        _search(),
        _program("bash", path, "commands run in sh instead", required=False),
        await _sandbox(services),
        _program("git", path, "subagents get no worktrees", required=False),
        Check(name="state", state="ok", detail=state),
        await asyncio.to_thread(_worktrees, services),
        *_models(services),
        await asyncio.to_thread(_agents, services),
        *await _servers(services),
        *_settings(faults),
    ]


def page(checks: Sequence[Check]) -> str:
    """Return the checks as Markdown: what needs a hand first, with the next step, then what is well."""
    bad = [check for check in checks if check.state != "ok"]
    lines = ["# Ensign Doctor", "", f"{len(bad)} of {len(checks)} checks need a hand." if bad else "All is well.", ""]
    for check in sorted(bad, key=lambda check: check.state != "failed"):
        lines += [
            f"## {'Broken' if check.state == 'failed' else 'Limited'}: {check.name}",
            "",
            _plain(check.detail),
            "",
        ]
        lines += [f"**Next:** {check.step}", ""] if check.step else []
    good = [check for check in checks if check.state == "ok"]
    lines += ["## In order", "", *(f"- {check.name}: {_plain(check.detail)}" for check in good), ""]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Text of files and programs on one line, without Markdown of its own; as source it stays readable."""
    return re.sub(r"([`*\[\]<>])", r"\\\1", " ".join(text.split()))


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info[:2] >= OLDEST
    return Check(
        name="python",
        state="ok" if good else "failed",
        detail=f"{version} at {sys.executable}" + ("" if good else "; Ensign needs 3.11 or newer"),
        step=""
        if good
        else "Install Python 3.11 or newer, choose it in the setting `ensign.server.python`, and restart the server.",
    )


def _search() -> Check:
    try:
        return Check(name="ripgrep", state="ok", detail=str(executable()))
    except ToolError as error:
        return Check(name="ripgrep", state="failed", detail=str(error), step="Install Ensign again.")


def _program(name: str, path: str | None, without: str, *, required: bool) -> Check:
    found = shutil.which(name, path=path)
    if found is not None:
        return Check(name=name, state="ok", detail=found)
    step = f"Install `{name}` and see that it is on the PATH of whoever starts the server."
    return Check(name=name, state="failed" if required else "warning", detail=f"not found: {without}", step=step)


async def _sandbox(services: Services) -> Check:
    setting = services.settings().sandbox
    problem = await services.processes.sandbox.problem()
    if problem is None:
        unused = "; not used, by the setting 'sandbox'" if setting == "off" else ""
        return Check(name="sandbox", state="ok", detail=f"{services.processes.sandbox.program}{unused}")
    match setting:
        case "auto":
            detail = f"{problem}: commands of agents that only read run without one"
            return Check(name="sandbox", state="warning", detail=detail, step=_SANDBOX)
        case "required":
            detail = f"{problem}: commands of agents that only read are refused, by the setting 'sandbox'"
            return Check(name="sandbox", state="failed", detail=detail, step=_SANDBOX)
        case "off":
            return Check(name="sandbox", state="ok", detail="not used, by the setting 'sandbox'")


def _worktrees(services: Services) -> Check:
    found = services.worktrees.known()
    if not found:
        return Check(name="worktrees", state="ok", detail="none")
    kept = [one for one in found if one.state != "live"]
    shown = "; ".join(one.in_words for one in found)
    return Check(name="worktrees", state="warning" if kept else "ok", detail=shown)


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
                step=(_KEY if "key" in problem else f"Change `ensign.models.{role}`.") if problem else "",
            )
        )
    return checks


def _agents(services: Services) -> Check:
    definitions = services.definitions()
    errors = [one for one in definitions.diagnostics if one.severity == "error"]
    if errors:
        first = errors[0]
        return Check(
            name="agents",
            state="warning",
            detail=f"{len(errors)} files have errors; see `ensign agents`",
            step=f"Open `{first.path}`, line {first.line}: {_plain(first.message)}.",
        )
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
    step = "Mend it there; it holds as soon as it is saved."
    return [Check(name="settings", state="warning", detail=text, step=step) for text in found]
