"""`ensign agents`, `explain` and `doctor`: what is there, what would be decided, what is missing."""

from __future__ import annotations

import argparse
from typing import Any

from ensign.app import App, build
from ensign.cli.console import DONE, FAILED, Console
from ensign.protocol import wire


async def agents(arguments: argparse.Namespace, console: Console) -> int:
    """List definitions; exit code 1 when a file has an error."""
    app = _app(console, "agents")
    listed = await app.api.agent_list(wire.AgentList())
    await app.close("done")
    if arguments.json:
        console.print_json(listed)
    else:
        for agent in listed.agents:
            hidden = f" (hidden by {agent.shadowed_by})" if agent.shadowed_by else ""
            tools = "all tools" if agent.tools is None else ", ".join(agent.tools) or "no tools"
            console.print(f"{agent.name} [{agent.source}]{hidden}: {agent.description}\n    {tools}")
        for one in listed.diagnostics:
            console.err.write(f"{one.path}:{one.line}:{one.column}: {one.severity}: {one.message} ({one.code})\n")
    return FAILED if any(one.severity == "error" for one in listed.diagnostics) else DONE


async def explain(arguments: argparse.Namespace, console: Console) -> int:
    """Print the decision about a call."""
    flags: dict[str, Any] = {} if arguments.settings is None else {"settings_file": arguments.settings}
    app = _app(console, "explain", flags)
    if arguments.untrusted:
        app.restrict()
    try:
        explained = app.explain(
            tool=arguments.tool, arguments=arguments.input, cwd=console.cwd, mode=arguments.mode, agent=arguments.agent
        )
    finally:
        await app.close("done")
    if arguments.json:
        console.print_json(explained)
        return DONE
    rule = f" (rule {explained.rule})" if explained.rule else ""
    console.print(f"{explained.decision}: {explained.reason}{rule}")
    for part in explained.parts:
        console.print(f"  {part.decision}: {part.text}: {part.reason}")
    return DONE


async def doctor(arguments: argparse.Namespace, console: Console) -> int:
    """Print the checks; exit code 1 when one failed."""
    app = _app(console, "doctor")
    checks = await app.diagnose()
    await app.close("done")
    if arguments.json:
        console.print_json({"checks": checks})
    else:
        for check in checks:
            console.print(f"{check.state:8} {check.name}: {check.detail}")
    return FAILED if any(check.state == "failed" for check in checks) else DONE


def _app(console: Console, command: str, flags: dict[str, Any] | None = None) -> App:
    return build(
        options={},
        roots=(console.cwd,),
        environment=console.environment,
        command_line=flags or {},
        client_name=command,
    )
