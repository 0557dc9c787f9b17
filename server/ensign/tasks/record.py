"""From an order to the data a run is started from (L0) and the record people see."""

from __future__ import annotations

from collections.abc import Container
from typing import TypeVar

from ensign.protocol.ids import new_id, short_id
from ensign.protocol.messages import Usage
from ensign.protocol.run import Limits, RunSpec, spawn_key
from ensign.protocol.settings import Settings
from ensign.protocol.tasks import Color, TaskRecord, TaskState
from ensign.runtime.agent import Agent
from ensign.tasks.order import FORK, Order

N = TypeVar("N", int, float)

DEFAULT_STEPS = 25
"""Steps of definitions without `maxTurns`, and of forks (A10)."""


def limits_of(order: Order, settings: Settings) -> Limits:
    """The smallest of what the definition, the settings and whoever started the server allow (A10)."""
    definition = order.definition
    steps = (definition.max_turns if definition is not None else None) or DEFAULT_STEPS
    return Limits(
        max_turns=least(steps, settings.limits_max_turns) or DEFAULT_STEPS,
        max_tokens=least(definition.max_tokens if definition else None, settings.limits_max_tokens),
        timeout_s=least(definition.timeout_s if definition else None, settings.limits_timeout_s),
    )


def least(*limits: N | None) -> N | None:
    """The smallest limit that is set."""
    return min((limit for limit in limits if limit is not None), default=None)


def spec_of(order: Order, parent: Agent, settings: Settings) -> RunSpec:
    """Describe the run by data alone; ids are made here."""
    by_agent = order.starter == "agent"
    task_id, session_id = new_id(), parent.context.session_id
    return RunSpec(
        task_id=task_id,
        agent_id=new_id(),
        session_id=session_id,
        parent_agent_id=parent.context.agent_id if by_agent else None,
        parent_task_id=parent.context.task_id if by_agent else None,
        agent=order.definition.name if order.definition is not None else None,
        prompt=order.prompt,
        description=order.description,
        name=order.name,
        model=(order.model or parent.conversation.model).id,
        cwd=str(order.cwd or parent.cwd),
        limits=limits_of(order, settings),
        background=order.background,
        depth=parent.context.depth + 1,
        starter=order.starter,
        query_source=FORK if order.definition is None else f"agent:{order.definition.name}",
        spawn_key=spawn_key(session_id, len(parent.conversation.messages), order.call_id or task_id),
        call_id=order.call_id,
        options={"isolation": "worktree"} if order.isolated else {},
    )


def first_record(
    spec: RunSpec, *, color: Color | None, output_file: str, taken: Container[str], now: float
) -> TaskRecord:
    """The record of a task that has just been received."""
    return TaskRecord(
        id=spec.task_id,
        short_id=short_id(spec.task_id, taken),
        session_id=spec.session_id,
        name=spec.name,
        agent=spec.agent or FORK,
        description=spec.description,
        parent_agent_id=spec.parent_agent_id,
        parent_task_id=spec.parent_task_id,
        agent_id=spec.agent_id,
        call_id=spec.call_id,
        depth=spec.depth,
        color=color,
        state=TaskState.QUEUED,
        reason="",
        background=spec.background,
        waiting_for=None,
        waiting_since=None,
        created_at=now,
        started_at=None,
        ended_at=None,
        last_event_at=now,
        activity="task received",
        summary="",
        steps=0,
        tool_calls=0,
        usage=Usage(),
        report_tokens=0,
        model=spec.model,
        files_changed=(),
        output_file=output_file,
        worktree=None,
        resumable=False,
    )
