"""Every setting as data: what it means, what it accepts, and from where it is believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import IntEnum
from functools import cache
from typing import Any, Literal, get_type_hints

from ensign.protocol.settings import ModelSettings, ProviderSettings, Settings, SubagentSettings
from ensign.protocol.value import camel, frozen


class Reach(IntEnum):
    """The farthest place from which a setting is believed."""

    USER = 0
    """Never from project files: it selects an endpoint, a key or an executable, or is the person's alone."""
    TRUSTED = 1
    """From project files only when the workspace is trusted: it loosens, spends, or runs something."""
    PROJECT = 2
    """From any project file: it can do no harm."""


@frozen
class Key:
    """One setting.

    Attributes:
        name: dotted, as in `contract.md`.
        group, attribute: its place below `Settings`; an empty attribute belongs to a client and is only known here.
        hint: its type.
        minimum: of a number; the smallest that makes sense.
    """

    name: str
    group: Literal["", "models", "subagents"]
    attribute: str
    hint: Any
    reach: Reach
    meaning: str
    minimum: float = 1


SessionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions"]

_SUBAGENTS: tuple[tuple[str, Reach, str], ...] = (
    ("max_running", Reach.TRUSTED, "Subagents that run at once in a session; more are queued."),
    ("max_spawns", Reach.TRUSTED, "Subagents that a session may start in all."),
    ("report_chars", Reach.PROJECT, "Characters of a report that reach the parent; the rest is in a file."),
    (
        "foreground_seconds",
        Reach.PROJECT,
        "Seconds after which a subagent moves from the foreground to the background.",
    ),
    ("background", Reach.PROJECT, "Whether subagents may run in the background."),
    ("fork", Reach.PROJECT, "Whether an agent may be started as a copy of the conversation."),
    ("all_async", Reach.PROJECT, "Start every subagent in the background."),
    ("coordinator", Reach.PROJECT, "The main agent only delegates."),
    ("inherit_approvals", Reach.TRUSTED, "What was allowed for the session holds for its subagents."),
    ("allow_dont_ask", Reach.USER, "Agents with permissionMode dontAsk or bypassPermissions may act without asking."),
    ("background_approvals", Reach.TRUSTED, "What a background subagent that needs approval does: ask, or be denied."),
    ("approval_timeout_seconds", Reach.TRUSTED, "Seconds until an open approval counts as a denial."),
    ("wake_on_notification", Reach.PROJECT, "A finished background task starts a turn of an idle main agent."),
    ("enable_verification_agent", Reach.PROJECT, "Offer the built-in Verification agent."),
    ("summary_seconds", Reach.TRUSTED, "Seconds between summaries of a background task that is looked at."),
    ("stall_seconds", Reach.TRUSTED, "Seconds without a byte from the model after which a request is repeated once."),
    ("first_token_seconds", Reach.TRUSTED, "The same, before the first token."),
    ("wrap_up_seconds", Reach.TRUSTED, "Seconds for the closing report when a limit is reached."),
    ("session_tokens", Reach.TRUSTED, "Tokens that a session may use in all; null for no limit."),
    ("fork_ask_tokens", Reach.TRUSTED, "A fork of more tokens than this asks first."),
    ("trim_read_only_context", Reach.PROJECT, "Explore and Plan leave out project instructions and git status."),
    (
        "resume_after_reload_seconds",
        Reach.TRUSTED,
        "Tasks go on by themselves when the window is back by then.",
    ),
    ("file_disallowed_tools", Reach.TRUSTED, "Tools that agents from files never have."),
)
_MODELS: tuple[tuple[str, Reach, str], ...] = (
    ("default", Reach.TRUSTED, "The main agent's model: provider/model, or offline."),
    ("small", Reach.TRUSTED, "A fast and cheap model, used by Explore."),
    ("large", Reach.TRUSTED, "A strong model."),
    ("aliases", Reach.TRUSTED, "What haiku, sonnet, opus and names of your own stand for."),
    ("providers", Reach.USER, "Providers by name: kind, baseUrl, keyEnv (the variable with the key), models."),
)
_OTHERS: tuple[tuple[str, str, Any, Reach, str], ...] = (
    ("permissions.mode", "mode", SessionMode, Reach.TRUSTED, "The permission mode that a session starts in."),
    ("agent.maxTurns", "max_turns", int, Reach.TRUSTED, "Steps of the main agent in one turn."),
    ("reviewEdits", "review_edits", None, Reach.TRUSTED, "Apply allowed edits at once, or show each for review."),
    ("approvalToasts", "approval_toasts", None, Reach.TRUSTED, "When approvals also show as notifications."),
    (
        "sandbox",
        "sandbox",
        None,
        Reach.USER,
        "Run commands of agents that only read in a sandbox: where one works, or else not at all, or never.",
    ),
    ("hooks", "hooks", None, Reach.TRUSTED, "Commands run at events."),
    ("mcpServers", "mcp_servers", None, Reach.TRUSTED, "MCP servers by name: command, args, env, or url, headers."),
    ("mcp.connectSeconds", "mcp_connect_seconds", None, Reach.TRUSTED, "Seconds that the start of a server may take."),
    (
        "mcp.promptTokens",
        "mcp_prompt_tokens",
        None,
        Reach.TRUSTED,
        "Tokens that the tools of MCP servers may take in a prompt; ToolSearch finds those beyond it.",
    ),
    ("server.python", "", str, Reach.USER, "The Python that runs the server; empty for the one that is found."),
)
RULE_LISTS: Mapping[str, tuple[Reach, str]] = {
    "allow": (Reach.TRUSTED, "Calls that need no approval."),
    "ask": (Reach.PROJECT, "Calls that need approval even where a rule allows them."),
    "deny": (Reach.PROJECT, "Calls that are refused."),
}
"""`permissions.allow`, `.ask` and `.deny`: collected from every place instead of replaced."""


SHORTEST_S = 0.01
"""The least that a number of seconds may be; shorter makes no sense, and tests want short ones."""


@cache
def all_keys() -> tuple[Key, ...]:
    """Every setting but the rule lists, in the order of the docs."""
    models, subagents, settings = (get_type_hints(cls) for cls in (ModelSettings, SubagentSettings, Settings))
    return (
        *(
            Key(name=f"models.{camel(attribute)}", group="models", attribute=attribute, hint=models[attribute],
                reach=reach, meaning=meaning)
            for attribute, reach, meaning in _MODELS
        ),
        *(
            Key(name=f"subagents.{camel(attribute)}", group="subagents", attribute=attribute,
                hint=subagents[attribute], reach=reach, meaning=meaning,
                minimum=SHORTEST_S if subagents[attribute] is float else 1)
            for attribute, reach, meaning in _SUBAGENTS
        ),
        *(
            Key(name=name, group="", attribute=attribute, hint=hint or settings[attribute], reach=reach,
                meaning=meaning, minimum=SHORTEST_S if (hint or settings.get(attribute)) is float else 1)
            for name, attribute, hint, reach, meaning in _OTHERS
        ),
    )  # fmt: skip


def members_of(cls: type[ProviderSettings]) -> dict[str, tuple[str, Any]]:
    """The wire names of a value's members, with attribute and type."""
    hints = get_type_hints(cls)
    return {camel(member.name): (member.name, hints[member.name]) for member in fields(cls)}
