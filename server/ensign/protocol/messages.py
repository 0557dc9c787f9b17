"""What a conversation is made of, independent of any provider's wire format."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from ensign.protocol.value import Value, frozen


class StopReason(StrEnum):
    """How a turn ended, in the five words of the Agent Client Protocol."""

    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    MAX_TURN_REQUESTS = "max_turn_requests"
    REFUSAL = "refusal"
    CANCELLED = "cancelled"


Origin = Literal["person", "parent", "runtime"]
"""Who speaks in a user message. Only `person` is a human; `runtime` blocks are data, never instructions (N1, N3)."""


@frozen
class Image(Value):
    """A picture; `data` is base64 without line breaks."""

    media_type: str
    data: str


@frozen
class Text(Value):
    """Words of the assistant."""

    text: str
    kind: Literal["text"] = "text"


@frozen
class Thinking(Value):
    """Reasoning of the assistant; `signature` is the provider's opaque proof and goes back unchanged."""

    text: str
    signature: str = ""
    redacted: bool = False
    kind: Literal["thinking"] = "thinking"


@frozen
class ToolCall(Value):
    """A call the model made.

    `raw` is the JSON text as the model wrote it; `arguments` is None when that is no JSON object (the gate then
    answers with an error result).
    """

    call_id: str
    name: str
    arguments: Mapping[str, Any] | None
    raw: str
    kind: Literal["tool_call"] = "tool_call"


AssistantPart = Text | Thinking | ToolCall


@frozen
class UserMessage(Value):
    """A message to the agent; `origin` says from whom.

    `delivers` names what waited in the agent's inbox and is handed over by this message: recording the message records
    the delivery (N2). Nothing of it is sent to a model.
    """

    text: str
    images: tuple[Image, ...] = ()
    origin: Origin = "person"
    delivers: tuple[str, ...] = ()
    kind: Literal["user"] = "user"


@frozen
class AssistantMessage(Value):
    """One reply of the model, complete: no half-written call ever enters it."""

    parts: tuple[AssistantPart, ...]
    kind: Literal["assistant"] = "assistant"

    @property
    def text(self) -> str:
        """All text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls, in the model's order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


@frozen
class ToolResult(Value):
    """What a call came to; exactly one per call."""

    call_id: str
    text: str
    is_error: bool = False
    images: tuple[Image, ...] = ()


@frozen
class ToolMessage(Value):
    """The results of one assistant message, in the order of its calls.

    `note` is text that follows the results in the same user message (a fork's directive, F2). `delivers` is as in
    `UserMessage`: what a result told needs no notification.
    """

    results: tuple[ToolResult, ...]
    note: str = ""
    delivers: tuple[str, ...] = ()
    kind: Literal["tool"] = "tool"


Message = UserMessage | AssistantMessage | ToolMessage


@frozen
class ToolSchema(Value):
    """What a model is told of a tool; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@frozen
class Usage(Value):
    """Tokens of one request, or a sum. `input` excludes both cache parts, so the four add up to what was billed."""

    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_write=self.cache_write + other.cache_write,
            cache_read=self.cache_read + other.cache_read,
        )

    @property
    def total(self) -> int:
        """Tokens altogether."""
        return self.input + self.output + self.cache_write + self.cache_read
