"""From the arguments of an `Agent` call to an order that can be carried out, or an error the model can act on (A5)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ensign.definitions.catalogue import Definitions
from ensign.models.base import Model
from ensign.protocol.definition import AgentDefinition
from ensign.protocol.errors import ToolError, UserError
from ensign.protocol.run import Starter
from ensign.protocol.settings import SubagentSettings
from ensign.protocol.value import frozen
from ensign.runtime.agent import Agent
from ensign.tasks.agent_schema import may_choose_background, may_fork
from ensign.tasks.fork import inside_fork
from ensign.tasks.words import text_of
from ensign.tools.base import Arguments

DEFAULT_AGENT = "general-purpose"
FORK = "fork"


@frozen
class Order:
    """What to start.

    Attributes:
        definition: None for a fork.
        model: None for the definition's or the parent's.
        isolated: it gets a git worktree of its own (W1).
        notes: what will be done differently from what was asked.
    """

    definition: AgentDefinition | None
    prompt: str
    description: str
    name: str | None = None
    model: Model | None = None
    cwd: Path | None = None
    isolated: bool = False
    background: bool = False
    starter: Starter = "agent"
    call_id: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def agent_name(self) -> str:
        """What people see as the agent's name."""
        return self.definition.name if self.definition is not None else FORK


@frozen
class Rules:
    """What an order is checked against. `only_reads`: whether a definition's subagents can change nothing."""

    settings: SubagentSettings
    definitions: Definitions
    resolve_model: Callable[[str], Model | None]
    only_reads: Callable[[AgentDefinition], bool]
    headless: bool


def order_of(arguments: Arguments, caller: Agent, call_id: str, rules: Rules) -> Order:
    """Check a call and return the order.

    Raises:
        ToolError: what is wrong, and what would be right.
    """
    refuse_recursion(caller)
    prompt = str(arguments["prompt"]).strip()
    if not prompt:
        raise ToolError("prompt is blank; it must hold the whole task")
    notes: list[str] = []
    definition = chosen(arguments.get("subagent_type"), rules, notes)
    if definition is not None and rules.settings.coordinator and rules.only_reads(definition):
        prompt = f"{prompt}\n\n{text_of('scout')}"
    model_name, cwd = arguments.get("model"), arguments.get("cwd")
    if definition is None and (model_name or cwd):
        raise ToolError("a fork takes no 'model' and no 'cwd': it is a copy of this conversation; name a subagent_type")
    isolated = is_isolated(arguments, definition)
    return Order(
        definition=definition,
        prompt=prompt,
        description=" ".join(str(arguments["description"]).split())[:200] or prompt[:60],
        name=arguments.get("name"),
        model=resolved(model_name, rules, notes),
        cwd=existing(cwd),
        isolated=isolated,
        background=in_background(arguments, definition, rules, notes),
        call_id=call_id,
        notes=tuple(notes),
    )


def unknown_agent(name: str, definitions: Definitions) -> str:
    """Say that there is no such subagent, and which there are."""
    near = definitions.suggest(name)
    hint = f"; did you mean {near!r}?" if near else ";"
    return f"no subagent named {name!r}{hint} there are: {', '.join(definitions.names())}"


def refuse_recursion(caller: Agent) -> None:
    """Three guards, each sufficient: depth, the origin of the agent, the marker in its conversation (A14, F6)."""
    if caller.context.depth > 0:
        raise ToolError("subagents cannot start subagents; do the work yourself")
    if caller.context.query_source == FORK:
        raise ToolError("a fork cannot start subagents; do the work yourself")
    if inside_fork(caller.conversation.messages):
        raise ToolError("this conversation is a fork's; a fork cannot start subagents")


def chosen(kind: str | None, rules: Rules, notes: list[str]) -> AgentDefinition | None:
    """The definition that is meant; None for a fork."""
    if kind is not None and kind.strip():
        definition = rules.definitions.get(kind)
        if definition is None:
            raise ToolError(unknown_agent(kind, rules.definitions))
        return definition
    if may_fork(rules.settings, headless=rules.headless):
        return None
    notes.append(f"forking is off, so {DEFAULT_AGENT} was started, which does not see this conversation")
    definition = rules.definitions.get(DEFAULT_AGENT)
    if definition is None:
        raise ToolError(f"forking is off; name a subagent_type: {', '.join(rules.definitions.names())}")
    return definition


def resolved(name: str | None, rules: Rules, notes: list[str]) -> Model | None:
    """The model a call names; None for the definition's or the parent's (A13)."""
    if name is None or not name.strip() or name.strip() == "inherit":
        return None
    try:
        model = rules.resolve_model(name.strip())
    except UserError as error:
        raise ToolError(str(error)) from error
    if model is None:
        notes.append(f"no model is set for {name!r}, so it used its parent's")
    return model


def is_isolated(arguments: Arguments, definition: AgentDefinition | None) -> bool:
    """Whether the run gets a worktree of its own, by the call or by its definition; no folder can be named as well."""
    by_call = arguments.get("isolation") is not None
    if not by_call and (definition is None or definition.isolation is None):
        return False
    if (arguments.get("cwd") or "").strip():
        who = "isolation" if by_call else f"the isolation of {definition.name if definition else FORK!r}"
        raise ToolError(f"cwd and {who} exclude each other: a worktree is the working directory; leave cwd out")
    return True


def existing(cwd: str | None) -> Path | None:
    """The folder a call names."""
    if cwd is None or not cwd.strip():
        return None
    path = Path(cwd)
    if not path.is_absolute() or not path.is_dir():
        raise ToolError(f"cwd must be an existing absolute folder, not {cwd!r}")
    return path


def in_background(arguments: Arguments, definition: AgentDefinition | None, rules: Rules, notes: list[str]) -> bool:
    """Where the run goes: forks always to the background, others by settings, call and definition (A3)."""
    settings = rules.settings
    if definition is None:
        return True
    if not settings.background:
        if definition.background:
            notes.append("background work is switched off, so it ran in the foreground")
        return False
    if settings.coordinator:
        return not rules.only_reads(definition)
    if not may_choose_background(settings):
        return True
    return bool(arguments.get("run_in_background", definition.background))
