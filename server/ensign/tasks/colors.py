"""Colours of subagents: a definition's own first, then one for each type, the same for the whole session (O4)."""

from __future__ import annotations

from typing import get_args

from ensign.protocol.definition import AgentDefinition
from ensign.protocol.tasks import Color

PALETTE: tuple[Color, ...] = get_args(Color)
HANDED_OUT: tuple[Color, ...] = (*(color for color in PALETTE if color != "red"), "red")
"""Red last: beside a task's state it reads as a failure."""
COLORLESS = "general-purpose"


class Colors:
    """Hands out colours; a type keeps the one it got first."""

    __slots__ = ("_by_type",)

    def __init__(self) -> None:
        self._by_type: dict[str, Color] = {}

    def keep(self, agent: str, color: Color | None) -> None:
        """Give a type the colour that it had in an earlier process."""
        if color is not None:
            self._by_type.setdefault(agent, color)

    def of(self, definition: AgentDefinition | None) -> Color | None:
        """The colour of a subagent of this definition, or of a fork (None)."""
        name = definition.name if definition is not None else "fork"
        if name == COLORLESS:
            return None
        if definition is not None and definition.color in PALETTE:
            return next(color for color in PALETTE if color == definition.color)
        if name not in self._by_type:
            used = set(self._by_type.values())
            free: list[Color] = [color for color in HANDED_OUT if color not in used]
            self._by_type[name] = free[0] if free else HANDED_OUT[len(self._by_type) % len(HANDED_OUT)]
        return self._by_type[name]
