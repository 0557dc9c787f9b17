"""The settings, as values: one schema for the command line, initialization options and settings files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from ensign.protocol.access import Mode
from ensign.protocol.definition import Rules
from ensign.protocol.value import Value, frozen

ProviderKind = Literal["anthropic", "openai", "offline"]


@frozen
class ProviderSettings(Value):
    """Where a provider is and how it is spoken to. `key_env` names the variable that holds the key."""

    kind: ProviderKind
    base_url: str = ""
    key_env: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    context_window: int | None = None
    models: tuple[str, ...] = ()


@frozen
class ModelSettings(Value):
    """Roles and aliases; values are `provider/model`, a role, or `offline`. Empty means not set."""

    default: str = ""
    small: str = ""
    large: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict[str, ProviderSettings])


@frozen
class SubagentSettings(Value):
    """`subagents.*` of `contract.md`, with its defaults."""

    max_running: int = 8
    max_spawns: int = 200
    report_chars: int = 8000
    foreground_seconds: float = 120
    background: bool = True
    fork: bool = True
    all_async: bool = False
    coordinator: bool = False
    inherit_approvals: bool = True
    allow_dont_ask: bool = False
    background_approvals: Literal["bubble", "deny"] = "bubble"
    approval_timeout_seconds: float = 1800
    wake_on_notification: bool = True
    enable_verification_agent: bool = False
    summary_seconds: float = 60
    stall_seconds: float = 120
    first_token_seconds: float = 300
    wrap_up_seconds: float = 60
    session_tokens: int | None = None
    fork_ask_tokens: int = 200_000
    trim_read_only_context: bool = True
    resume_after_reload_seconds: float = 600
    file_disallowed_tools: tuple[str, ...] = ()


@frozen
class Layer:
    """Permission rules of one place; `name` is `policy`, `session`, `local`, `project`, `user`, `starter`."""

    name: str
    rules: Rules
    origin: str = ""
    """File or flag the rules come from, for people."""


@frozen
class McpServer:
    """A server of the Model Context Protocol: a program to start (`command`), or an address (`url`).

    Attributes:
        env: variables for the program, beside the few that every program gets.
        timeout_seconds: for one call of a tool.
        disabled: it is kept in the settings and not started.
        own: whether a person's own settings name it; one that a project names gets no key of ours.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout_seconds: float = 300
    disabled: bool = False
    own: bool = True


@frozen
class Settings:
    """All settings in force.

    Attributes:
        layers: permission rules by place, nearest first; `starter` is whoever started the server (P4).
        mode: the mode a session starts in.
        tools: the starter's limit on tools (`--tools`), or None.
        sandbox: for commands of agents that only read: where one works; there or not at all; never.
        git_runs: what git settings of the first workspace folder would run, while nobody has trusted them (P9).
        limits_max_turns, limits_max_tokens, limits_timeout_s: the starter's limits (A10).
    """

    layers: tuple[Layer, ...] = ()
    mode: Mode = Mode.DEFAULT
    models: ModelSettings = ModelSettings()
    subagents: SubagentSettings = SubagentSettings()
    max_turns: int = 50
    tools: tuple[str, ...] | None = None
    git_runs: tuple[str, ...] = ()
    limits_max_turns: int | None = None
    limits_max_tokens: int | None = None
    limits_timeout_s: float | None = None
    review_edits: Literal["auto", "ask"] = "auto"
    approval_toasts: Literal["all", "whenHidden", "never"] = "whenHidden"
    sandbox: Literal["auto", "required", "off"] = "auto"
    hooks: Mapping[str, Any] = field(default_factory=dict[str, Any])
    mcp_servers: Mapping[str, McpServer] = field(default_factory=dict[str, McpServer])
    mcp_connect_seconds: float = 30
    mcp_prompt_tokens: int = 10_000
