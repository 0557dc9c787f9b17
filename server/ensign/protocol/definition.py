"""What an agent definition says once it is read, and what was wrong with its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from ensign.protocol.access import Mode
from ensign.protocol.value import frozen


class Source(StrEnum):
    """Where a definition comes from, nearest first (D5)."""

    PROJECT = "project"
    PROJECT_CLAUDE = "project-claude"
    USER = "user"
    USER_CLAUDE = "user-claude"
    BUILT_IN = "built-in"
    PLUGIN = "plugin"


Severity = Literal["error", "warning", "information"]


@frozen
class Diagnostic:
    """A fault in a file a person wrote. `line` and `column` count from 1, columns in UTF-16 units.

    An `error` means that the file (or entry) was left out; a `warning` that it was read with a stated substitute.
    """

    path: Path
    line: int
    column: int
    severity: Severity
    code: str
    message: str


@frozen
class Rules:
    """Permission rules as written, by the decision they lead to."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@frozen
class AgentDefinition:
    """A subagent's role, tools, model and limits (D1).

    Attributes:
        tools: None inherits, an empty tuple means none; entries as written (`Read`, `mcp__srv__*`, `*`).
        model: a role, alias, `provider/model`, or `inherit`; None means the parent's.
        max_turns, max_tokens, timeout_s: None means the default (A10).
        sandbox: its commands, and those of its children, run in a sandbox or not at all.
        unserved: fields that are read and kept but that no capability serves yet, by name.
        extra: unknown fields, as written.
        shadows: the definition of the same name that this one hides.
    """

    name: str
    description: str
    role: str
    source: Source
    path: Path | None = None
    tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()
    model: str | None = None
    effort: str | None = None
    max_turns: int | None = None
    max_tokens: int | None = None
    timeout_s: float | None = None
    permission_mode: Mode | None = None
    permissions: Rules = Rules()
    background: bool = False
    isolation: Literal["worktree"] | None = None
    cwd: str | None = None
    skills: tuple[str, ...] = ()
    mcp_servers: tuple[str | Mapping[str, Any], ...] = ()
    hooks: Mapping[str, Any] = field(default_factory=dict[str, Any])
    memory: Literal["user", "project", "local"] | None = None
    initial_prompt: str | None = None
    color: str | None = None
    sandbox: bool = False
    unserved: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    shadows: tuple[AgentDefinition, ...] = ()
    trusted: bool = True
    """False for project files that nobody trusts: mode `default`, no hooks, no own allow rules (D8)."""
    digest: str = ""
    """What the content of a project file is trusted by (`protocol/trusted.py`)."""

    @property
    def built_in(self) -> bool:
        """Whether it ships with Ensign."""
        return self.source is Source.BUILT_IN
