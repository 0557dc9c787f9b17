"""What would be decided about a call, without running it: the reasoning of the gate, for people (`ensign explain`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ensign.permissions.child import child_policy
from ensign.permissions.policy import Question
from ensign.protocol.access import Mode
from ensign.protocol.errors import ToolError, UserError
from ensign.protocol.wire import Explained, ExplainedPart
from ensign.runtime.context import MAIN
from ensign.session.services import Services
from ensign.tasks.order import unknown_agent
from ensign.tools.base import TodoList, Tool, ToolContext
from ensign.tools.check import check
from ensign.workspace.view import FileView


def explain(
    services: Services, *, tool: str, arguments: str, cwd: Path, mode: Mode | None, agent: str | None
) -> Explained:
    """Judge a call as the main agent's, or as that of a subagent of the named definition.

    Raises:
        UserError: no such tool or agent, or arguments that the tool would refuse.
    """
    found = next((one for one in services.tools if one.name == tool), None)
    if found is None:
        raise UserError(f"there is no tool {tool!r}; there are {', '.join(one.name for one in services.tools)}")
    settings = services.settings()
    policy = replace(services.base_policy(cwd / ".ensign-output"), layers=settings.layers, mode=mode or settings.mode)
    policy = replace(policy, git_runs=settings.git_runs)
    if agent is not None:
        definition = services.definitions().get(agent)
        if definition is None:
            raise UserError(unknown_agent(agent, services.definitions()))
        policy = child_policy(
            policy,
            definition,
            allow_dont_ask=settings.subagents.allow_dont_ask,
            inherit_approvals=settings.subagents.inherit_approvals,
            session_grants=(),
        )
    try:
        given = parsed(arguments)
        check(found, given)
        accesses = found.accesses(context(services, found, cwd), given)
    except ToolError as error:
        raise UserError(str(error)) from error
    asked = Question(tool=found.name, effect=found.effect, accesses=tuple(accesses), cwd=cwd)
    verdict = services.engine.judge(asked, policy)
    return Explained(
        decision=verdict.decision,
        reason=verdict.reason,
        rule=verdict.rule,
        parts=tuple(
            ExplainedPart(text=part.text, decision=part.decision, reason=part.reason, rule=part.rule)
            for part in verdict.parts
        ),
    )


def parsed(arguments: str) -> Mapping[str, Any]:
    """The arguments as an object."""
    try:
        value: Any = json.loads(arguments)
    except ValueError as error:
        raise UserError(f"INPUT_JSON is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UserError('INPUT_JSON must be a JSON object, for example \'{"command": "ls"}\'')
    return cast("dict[str, Any]", value)


def context(services: Services, tool: Tool, cwd: Path) -> ToolContext:
    """What the tool may look at to say what it would touch; it is never run with it."""

    async def require(_: object) -> None:
        raise AssertionError(f"{tool.name} was run by explain")

    return ToolContext(
        session_id="",
        agent_id=MAIN,
        task_id=None,
        call_id="explain",
        agent_name=MAIN,
        cwd=cwd,
        roots=services.roots,
        files=FileView(agent_id=MAIN, agent_name=MAIN, registry=services.registry),
        processes=services.processes,
        todos=TodoList(),
        output_dir=cwd,
        progress=lambda _: None,
        require=require,
        confinement=None,
        allows=lambda _: False,
    )
