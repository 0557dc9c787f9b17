"""Who the agent of a task is: what every model and tool call of it carries (O1)."""

from __future__ import annotations

from ensign.runtime.context import AgentContext
from ensign.tasks.order import FORK
from ensign.tasks.task import Task


def context_of(task: Task) -> AgentContext:
    """Who a task's agent is."""
    spec = task.spec
    return AgentContext(
        session_id=spec.session_id,
        agent_id=spec.agent_id,
        agent_name=spec.agent or FORK,
        task_id=spec.task_id,
        parent_agent_id=spec.parent_agent_id,
        depth=spec.depth,
        query_source=spec.query_source,
        built_in=task.definition is None or task.definition.built_in,
        spawning_call=spec.call_id,
        spawn="spawn",
    )
