"""`ensign agents`, `explain` and `doctor`: what is there, what would be decided, what is missing."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from ensign.app import build
from ensign.protocol import wire
from ensign.protocol.codec import to_wire


async def agents(arguments: argparse.Namespace, cwd: Path, environment: dict[str, str]) -> int:
    """List definitions; exit code 1 when a file has an error."""
    app = build(options={}, roots=(cwd,), environment=environment, command_line={}, client_name="agents")
    listed = await app.api.agent_list(wire.AgentList())
    await app.close("done")
    if arguments.json:
        print_json(listed)
    else:
        for agent in listed.agents:
            hidden = f" (hidden by {agent.shadowed_by})" if agent.shadowed_by else ""
            tools = "all tools" if agent.tools is None else ", ".join(agent.tools) or "no tools"
            sys.stdout.write(f"{agent.name} [{agent.source}]{hidden}: {agent.description}\n    {tools}\n")
        for one in listed.diagnostics:
            sys.stderr.write(f"{one.path}:{one.line}:{one.column}: {one.severity}: {one.message} ({one.code})\n")
    return 1 if any(one.severity == "error" for one in listed.diagnostics) else 0


async def explain(arguments: argparse.Namespace, cwd: Path, environment: dict[str, str]) -> int:
    """Print the decision about a call."""
    flags: dict[str, Any] = {} if arguments.settings is None else {"settings_file": arguments.settings}
    app = build(options={}, roots=(cwd,), environment=environment, command_line=flags, client_name="explain")
    explained = app.explain(
        tool=arguments.tool, arguments=arguments.input, cwd=cwd, mode=arguments.mode, agent=arguments.agent
    )
    await app.close("done")
    if arguments.json:
        print_json(explained)
        return 0
    rule = f" (rule {explained.rule})" if explained.rule else ""
    sys.stdout.write(f"{explained.decision}: {explained.reason}{rule}\n")
    for part in explained.parts:
        sys.stdout.write(f"  {part.decision}: {part.text}: {part.reason}\n")
    return 0


async def doctor(arguments: argparse.Namespace, cwd: Path, environment: dict[str, str]) -> int:
    """Print the checks; exit code 1 when one failed."""
    app = build(options={}, roots=(cwd,), environment=environment, command_line={}, client_name="doctor")
    checks = await app.diagnose()
    await app.close("done")
    if arguments.json:
        print_json({"checks": checks})
    else:
        for check in checks:
            sys.stdout.write(f"{check.state:8} {check.name}: {check.detail}\n")
    return 1 if any(check.state == "failed" for check in checks) else 0


def print_json(value: object) -> None:
    """One object, one line, on standard output."""
    sys.stdout.write(json.dumps(to_wire(value), ensure_ascii=False) + "\n")
