"""What the model is told of the `Agent` tool: parameters and words that fit the configuration (A2-A4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ensign.definitions.catalogue import describe
from ensign.protocol.definition import AgentDefinition
from ensign.protocol.settings import SubagentSettings
from ensign.tasks.words import text_of

STRING = {"type": "string"}


def may_choose_background(settings: SubagentSettings) -> bool:
    """Whether a call may say where it runs: not when there is no background, nor when everything goes there."""
    return settings.background and not settings.all_async and not settings.coordinator


def may_fork(settings: SubagentSettings, *, headless: bool) -> bool:
    """Whether leaving the type out forks (the third guard of F6 is that headless runs and coordinators never do)."""
    return settings.fork and settings.background and not settings.coordinator and not headless


def parameters(settings: SubagentSettings, *, git: bool) -> Mapping[str, Any]:
    """The JSON Schema of a call; a parameter that cannot work under these settings, or outside `git`, is not in it."""
    properties: dict[str, Any] = {
        "prompt": STRING
        | {"description": "The whole task, self-contained: goal, what is known, constraints, what to return"},
        "description": STRING | {"description": "The task in 3-7 words, for people"},
        "subagent_type": STRING | {"description": "Which subagent, by name; see the list above"},
        "model": STRING
        | {"description": "A model other than the subagent's own: a role (small, large) or provider/model"},
        "name": STRING | {"description": "A name under which SendMessage reaches it while it runs"},
        "cwd": STRING | {"description": "An existing absolute folder of the workspace to work in"},
    }
    if may_choose_background(settings):
        properties["run_in_background"] = {
            "type": "boolean",
            "description": "True returns at once; the report arrives later as a notification",
        }
    if git:
        properties["isolation"] = {
            "enum": ["worktree"],
            "description": "worktree: it works in a git worktree of its own, for the user to merge; not with cwd",
        }
    return {
        "type": "object",
        "properties": properties,
        "required": ["prompt", "description"],
        "additionalProperties": False,
    }


def description(definitions: Iterable[AgentDefinition], settings: SubagentSettings, *, headless: bool) -> str:
    """The tool's words: what delegation is, when it pays, and every subagent by name, sorted (A4)."""
    forking = may_fork(settings, headless=headless)
    parts = [text_of("agent_tool"), f"Subagents:\n{describe(definitions)}"]
    parts.append(text_of("agent_fork_on" if forking else "agent_fork_off"))
    if may_choose_background(settings):
        parts.append(text_of("agent_background"))
    elif settings.background:
        parts.append(text_of("agent_coordinator" if settings.coordinator else "agent_all_async"))
    return "\n\n".join(parts)
