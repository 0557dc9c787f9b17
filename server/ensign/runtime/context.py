"""Who is at work: carried by context, so that every model and tool call, log line and trace knows it (O1)."""

from __future__ import annotations

from contextvars import ContextVar

from ensign.protocol.run import Spawn
from ensign.protocol.value import frozen

MAIN = "main"


@frozen
class AgentContext:
    """An agent's identity.

    Attributes:
        agent_name: `main`, the definition's name, or `fork`.
        query_source: what started the agent: `main`, `agent:<name>`, `fork`, `person`. Compaction cannot touch it (F6).
        spawning_call: the id of the `Agent` call that started it, None for the main agent and a person's runs.
        spawn: whether this run is the first or a resumed one; None for the main agent.
    """

    session_id: str
    agent_id: str
    agent_name: str
    task_id: str | None
    parent_agent_id: str | None
    depth: int
    query_source: str
    built_in: bool
    spawning_call: str | None = None
    spawn: Spawn | None = None


CURRENT: ContextVar[AgentContext | None] = ContextVar("ensign_agent", default=None)
"""Set by whoever starts an agent's asyncio task; inherited by everything that task starts."""
