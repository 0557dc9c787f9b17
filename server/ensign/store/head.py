"""The first record of a transcript: what a conversation was started with, and is resumed from (L0)."""

from __future__ import annotations

from ensign.protocol.messages import ToolSchema
from ensign.protocol.run import RunSpec
from ensign.protocol.value import Value, frozen

FORMAT = 1
"""Raised when older readers would misunderstand a transcript; new kinds and fields are no such change."""


@frozen
class Inherits(Value):
    """A fork's conversation begins with its parent's, up to and with record `n` of that transcript."""

    agent_id: str
    n: int


@frozen
class Head(Value):
    """What stands before the messages, so that a resumed conversation sends the same bytes (C2, F1).

    Attributes:
        model: `provider/model`; its provider decides the wire format.
        system: the system prompt as rendered.
        tools: as sent, in order; key order inside `parameters` is kept.
        spec: what a subagent was started with; None for a session's main agent.
        born: whether there is a conversation to go on with; a start may fail before there is one.
    """

    session_id: str
    agent_id: str
    cwd: str
    model: str
    system: str
    tools: tuple[ToolSchema, ...]
    cache_key: str
    effort: str | None = None
    spec: RunSpec | None = None
    inherits: Inherits | None = None
    born: bool = True
    format: int = FORMAT
