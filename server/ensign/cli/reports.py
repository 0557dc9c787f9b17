"""`ensign agents`, `explain` and `doctor`: what is there, what would be decided, what is missing."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ensign.app import diagnose, explain_call, list_agents
from ensign.protocol.codec import to_wire

_ERROR = "error"


async def agents(arguments: argparse.Namespace, cwd: Path, environment: dict[str, str]) -> int:
    """List definitions; exit code 1 when a file has an error."""
    listed = await list_agents(cwd, environment)
    if arguments.json:
        sys.stdout.write(json.dumps(to_wire(listed), ensure_ascii=False) + "\n")
    else:
        for agent in listed.agents:
            hidden = f" (hidden by {agent.shadowed_by})" if agent.shadowed_by else ""
            tools = "all tools" if agent.tools is None else ", ".join(agent.tools) or "no tools"
            sys.stdout.write(f"{agent.name} [{agent.source}]{hidden}: {agent.description}\n    {tools}\n")
        for one in listed.diagnostics:
            sys.stderr.write(f"{one.path}:{one.line}:{one.column}: {one.severity}: {one.message} ({one.code})\n")
    return 1 if any(one.severity == _ERROR for one in listed.diagnostics) else 0


async def explain(arguments: argparse.Namespace, cwd: Path, environment: dict[str, str]) -> int:
    """Print the decision about a call."""
    explained = await explain_call(
        tool=arguments.tool,
        arguments=arguments.input,
        cwd=cwd,
        environment=environment,
        settings_file=arguments.settings,
        mode=arguments.mode,
        agent=arguments.agent,
        trusted=not arguments.untrusted,
    )
    if arguments.json:
        sys.stdout.write(json.dumps(to_wire(explained), ensure_ascii=False) + "\n")
        return 0
    rule = f" (rule {explained['rule']})" if explained["rule"] else ""
    sys.stdout.write(f"{explained['decision']}: {explained['reason']}{rule}\n")
    for part in explained["parts"]:
        sys.stdout.write(f"  {part['decision']}: {part['text']}: {part['reason']}\n")
    return 0


async def doctor(arguments: argparse.Namespace, cwd: Path, environment: dict[str, str]) -> int:
    """Print the checks; exit code 1 when one failed."""
    checks = await diagnose(cwd, environment)
    if arguments.json:
        sys.stdout.write(json.dumps(to_wire({"checks": checks}), ensure_ascii=False) + "\n")
    else:
        for check in checks:
            sys.stdout.write(f"{check.state:8} {check.name}: {check.detail}\n")
    return 1 if any(check.state == "failed" for check in checks) else 0
