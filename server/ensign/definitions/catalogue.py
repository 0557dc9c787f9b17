"""All known definitions at one moment: which are in force, which are hidden, and how they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from ensign.definitions.vocabulary import closest
from ensign.protocol.definition import AgentDefinition, Diagnostic
from ensign.protocol.value import frozen
from ensign.protocol.wire import AgentInfo, AgentsListed, DiagnosticInfo

DESCRIPTION_CHARACTERS = 1000
"""What one description may add to the `Agent` tool's own."""


@frozen(kw_only=False)
class Listed:
    """A definition, and the one that hides it, if any."""

    definition: AgentDefinition
    shadowed_by: AgentDefinition | None


@frozen
class Definitions:
    """A snapshot; a change on disk makes a new one, and running subagents keep the definition they have (D7).

    Attributes:
        listed: by name without case; a hidden definition follows the one that hides it.
        diagnostics: by path, line and column.
    """

    listed: tuple[Listed, ...]
    diagnostics: tuple[Diagnostic, ...]
    _by_name: dict[str, AgentDefinition] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        in_force = {item.definition.name.casefold(): item.definition for item in self.listed if not item.shadowed_by}
        object.__setattr__(self, "_by_name", in_force)

    def __iter__(self) -> Iterator[AgentDefinition]:
        """The definitions in force, sorted by name without case."""
        return iter(self._by_name.values())

    def get(self, name: str) -> AgentDefinition | None:
        """The definition in force under this name, compared without case."""
        return self._by_name.get(name.strip().casefold())

    def names(self) -> tuple[str, ...]:
        """The names in force, as written."""
        return tuple(definition.name for definition in self)

    def suggest(self, name: str) -> str | None:
        """The name that was probably meant (A5)."""
        return closest(name.strip(), self.names())


def describe(agents: Iterable[AgentDefinition]) -> str:
    """Return the part of the `Agent` tool's description that lists definitions: `- name: when to use it` (A4).

    The same definitions give the same text, in whatever order they come. A description stays one line, whatever its
    file says, so that it cannot pose as another entry or as our own words.
    """
    ordered = sorted(agents, key=lambda agent: agent.name.casefold())
    return "\n".join(f"- {agent.name}: {_one_line(agent.description)}" for agent in ordered)


def to_listing(definitions: Definitions) -> AgentsListed:
    """Return the answer to `ensign/agent/list` and `ensign agents`."""
    return AgentsListed(
        agents=tuple(_info(item) for item in definitions.listed),
        diagnostics=tuple(
            DiagnosticInfo(
                path=str(item.path),
                line=item.line,
                column=item.column,
                severity=item.severity,
                code=item.code,
                message=item.message,
            )
            for item in definitions.diagnostics
        ),
    )


def _info(item: Listed) -> AgentInfo:
    agent = item.definition
    return AgentInfo(
        name=agent.name,
        description=agent.description,
        source=agent.source.value,
        path=str(agent.path) if agent.path else None,
        tools=agent.tools,
        disallowed_tools=agent.disallowed_tools,
        model=agent.model,
        color=agent.color,
        background=agent.background,
        permission_mode=agent.permission_mode.value if agent.permission_mode else None,
        max_turns=agent.max_turns,
        shadows=tuple(_place(hidden) for hidden in agent.shadows),
        shadowed_by=_place(item.shadowed_by) if item.shadowed_by else None,
        unserved=agent.unserved,
        trusted=agent.trusted,
    )


def _place(agent: AgentDefinition) -> str:
    return str(agent.path) if agent.path else agent.source.value


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= DESCRIPTION_CHARACTERS else line[: DESCRIPTION_CHARACTERS - 1] + "…"
