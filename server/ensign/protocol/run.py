"""A run described by data alone (L0): enough to start or resume it in any process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from ensign.protocol.messages import ToolCall, ToolResult
from ensign.protocol.value import Value, frozen

Spawn = Literal["spawn", "resume"]
Starter = Literal["agent", "person", "command"]


@frozen
class Limits(Value):
    """What a run may use; None means without limit (A10)."""

    max_turns: int
    max_tokens: int | None = None
    timeout_s: float | None = None


@frozen
class RunSpec(Value):
    """What a subagent is started with.

    Attributes:
        agent: the definition's name; None for a fork.
        query_source: who asked for it, the first guard against a fork of a fork (F6).
        spawn_key: session and call id; a second spawn with the same key is the same run (B7).
        options: what the `Agent` call said, as given.
    """

    task_id: str
    agent_id: str
    session_id: str
    parent_agent_id: str | None
    parent_task_id: str | None
    agent: str | None
    prompt: str
    description: str
    name: str | None
    model: str
    cwd: str
    limits: Limits
    background: bool
    depth: int
    starter: Starter
    query_source: str
    spawn_key: str
    call_id: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@frozen
class LeftOpen:
    """All calls of an assistant message, and the results of those among them that are not to be run (again)."""

    calls: tuple[ToolCall, ...]
    results: Mapping[str, ToolResult]


def spawn_key(session_id: str, messages: int, call_id: str) -> str:
    """The key of a spawn; some servers number their calls anew in each reply, so the call's place belongs to it."""
    return f"{session_id}:{messages}:{call_id}"
