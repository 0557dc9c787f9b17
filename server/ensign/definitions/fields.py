"""The fields of an agent file (D1) as data: one table for the loader, for completion and hover, and for the docs."""

from __future__ import annotations

from enum import StrEnum
from typing import get_args

from ensign.protocol.access import Mode
from ensign.protocol.tasks import Color
from ensign.protocol.value import frozen


class Kind(StrEnum):
    """How a field's value is written."""

    NAME = "name"
    TEXT = "text"
    CHOICE = "one of a few words"
    MODE = "a permission mode"
    FLAG = "true or false"
    COUNT = "a whole number above 0"
    SECONDS = "a number of seconds above 0"
    MODEL = "a model"
    TOOLS = "a list of tools"
    NAMES = "a list of names"
    RULES = "a mapping with allow, ask and deny"
    SERVERS = "a list of server names and inline servers"
    TABLE = "a mapping"


@frozen
class Field:
    """One field.

    Attributes:
        attribute: its place in `AgentDefinition`.
        values: the words that `CHOICE` and `MODE` know.
        meanings: of those of them that do not speak for themselves.
        fallback: what happens after a bad value, in words (D4).
        renamed: words of other products, with ours.
    """

    name: str
    attribute: str
    kind: Kind
    meaning: str
    example: str
    values: tuple[str, ...] = ()
    meanings: tuple[tuple[str, str], ...] = ()
    fallback: str = "it is left out"
    renamed: tuple[tuple[str, str], ...] = ()
    required: bool = False


_MODES = (
    ("default", "reads are allowed; edits, commands and network need approval."),
    ("acceptEdits", "edits inside the workspace are allowed, the rest needs approval."),
    ("plan", "reading only."),
    ("bypassPermissions", "what the mode would ask about is allowed; rules and protected places still count."),
    ("bubble", "like default, and always asks, also in the background."),
    ("dontAsk", "never asks: what the mode would ask about is denied, or allowed where subagents.allowDontAsk is on."),
)

FIELDS: tuple[Field, ...] = (
    Field(
        name="name",
        attribute="name",
        kind=Kind.NAME,
        meaning="The agent's name: a letter, then up to 31 letters, digits, '-' or '_'. Compared without case.",
        example="code-reviewer",
        required=True,
    ),
    Field(
        name="description",
        attribute="description",
        kind=Kind.TEXT,
        meaning="When to use this agent. The main agent reads it to decide on delegation.",
        example="Reviews a change for bugs. Use it after writing code.",
        required=True,
    ),
    Field(
        name="tools",
        attribute="tools",
        kind=Kind.TOOLS,
        meaning="The tools it may use: names, mcp__server, mcp__server__*, or * for all. "
        "Left out, it has every tool that a subagent may have; an empty list [] means none.",
        example="Read, Glob, Grep",
    ),
    Field(
        name="disallowedTools",
        attribute="disallowed_tools",
        kind=Kind.TOOLS,
        meaning="Tools taken away from it, written like tools.",
        example="Write, Edit",
    ),
    Field(
        name="model",
        attribute="model",
        kind=Kind.MODEL,
        meaning="A role (default, small, large), an alias (haiku, sonnet, opus), provider/model, or inherit for the "
        "parent's model. Left out, it is the parent's.",
        example="small",
        fallback="'inherit' is used",
    ),
    Field(
        name="effort",
        attribute="effort",
        kind=Kind.CHOICE,
        meaning="How much extended thinking it may spend. Left out, it thinks without.",
        example="low",
        values=("none", "low", "medium", "high"),
        renamed=(("minimal", "low"), ("xhigh", "high"), ("max", "high")),
    ),
    Field(
        name="maxTurns",
        attribute="max_turns",
        kind=Kind.COUNT,
        meaning="Steps (model requests with their tool results) before it must wrap up. Left out, 25.",
        example="30",
        fallback="the default is used",
    ),
    Field(
        name="maxTokens",
        attribute="max_tokens",
        kind=Kind.COUNT,
        meaning="Tokens, input and output together, before it must wrap up.",
        example="200000",
        fallback="the default is used",
    ),
    Field(
        name="timeout",
        attribute="timeout_s",
        kind=Kind.SECONDS,
        meaning="Seconds before it must wrap up. The clock stands still while it waits for a place or an approval.",
        example="600",
        fallback="the default is used",
    ),
    Field(
        name="permissionMode",
        attribute="permission_mode",
        kind=Kind.MODE,
        meaning="What is asked when no rule decides. plan means reading only, whatever tools says.",
        example="plan",
        values=tuple(Mode),
        meanings=_MODES,
        fallback="'default' is used",
    ),
    Field(
        name="permissions",
        attribute="permissions",
        kind=Kind.RULES,
        meaning="Rules of its own, in place of the session's allow and ask rules. Every place's deny rules hold.",
        example="{allow: ['Bash(npm test:*)'], deny: ['Read(./.env)']}",
    ),
    Field(
        name="background",
        attribute="background",
        kind=Kind.FLAG,
        meaning="true: it runs in the background, and its report comes as a notification.",
        example="true",
    ),
    Field(
        name="isolation",
        attribute="isolation",
        kind=Kind.CHOICE,
        meaning="worktree: it works in a git worktree of its own.",
        example="worktree",
        values=("worktree",),
    ),
    Field(
        name="cwd",
        attribute="cwd",
        kind=Kind.TEXT,
        meaning="The directory it works in. Left out, the parent's.",
        example="packages/server",
    ),
    Field(
        name="skills",
        attribute="skills",
        kind=Kind.NAMES,
        meaning="Skills that it has loaded from the start.",
        example="pdf, release-notes",
    ),
    Field(
        name="mcpServers",
        attribute="mcp_servers",
        kind=Kind.SERVERS,
        meaning="MCP servers it may use beside the shared ones: a name, or an inline server of its own.",
        example="[github, {db: {command: db-mcp}}]",
    ),
    Field(
        name="hooks",
        attribute="hooks",
        kind=Kind.TABLE,
        meaning="Commands run before and after its tool calls; they live as long as it does.",
        example="{PreToolUse: [{matcher: Bash, hooks: [{type: command, command: ./check}]}]}",
    ),
    Field(
        name="memory",
        attribute="memory",
        kind=Kind.CHOICE,
        meaning="The scope of the memory files that it keeps between runs.",
        example="project",
        values=("user", "project", "local"),
    ),
    Field(
        name="initialPrompt",
        attribute="initial_prompt",
        kind=Kind.TEXT,
        meaning="Text put before the task in its first message.",
        example="Read CONTRIBUTING.md first.",
    ),
    Field(
        name="color",
        attribute="color",
        kind=Kind.CHOICE,
        meaning="Its colour in the panel and in approvals.",
        example="blue",
        values=get_args(Color),
    ),
    Field(
        name="sandbox",
        attribute="sandbox",
        kind=Kind.FLAG,
        meaning="Whether its commands run in a sandbox: without network, writing only in the workspace. "
        "On a machine that has none they are refused.",
        example="true",
    ),
)

TOOL_HINTS = {
    "LS": "Glob",
    "MultiEdit": "Edit",
    "NotebookRead": "Read",
    "BashOutput": "TaskOutput",
    "KillShell": "TaskStop",
    "KillBash": "TaskStop",
}
"""Tools of other products, with what does their work here."""
