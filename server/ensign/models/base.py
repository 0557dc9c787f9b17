"""What the loop asks of a model, and what it gets back while the reply streams."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Literal, Protocol

from ensign.protocol.messages import AssistantMessage, Message, StopReason, ToolSchema, Usage
from ensign.protocol.value import frozen


@frozen
class Head:
    """What stands before the messages of a request; fixed for a conversation, so it is serialized once (C2).

    Attributes:
        data: the bytes of the JSON body up to the first message of the conversation, in the model's wire format.
        cache_key: the same for all requests of a conversation and its forks (C4).
        tools_off: the wrap-up request: the model must answer in words.
    """

    data: bytes
    system: str
    tools: tuple[ToolSchema, ...]
    cache_key: str
    tools_off: bool = False


@frozen
class Request:
    """One request: a head, and the conversation with each message's bytes, made once by `Model.encode`.

    `history` and `encoded` have equal length and are the conversation's own lists: read, never kept or changed.
    """

    head: Head
    history: Sequence[Message]
    encoded: Sequence[bytes]


@frozen(kw_only=False)
class TextChunk:
    """A piece of the reply's text."""

    text: str


@frozen(kw_only=False)
class ThinkingChunk:
    """A piece of the model's reasoning."""

    text: str


@frozen(kw_only=False)
class CallChunk:
    """The model has begun to write a call of this tool; nothing can be run yet."""

    name: str


@frozen(kw_only=False)
class Restarted:
    """The request is being sent again: what came before in this stream is void."""

    reason: str


@frozen
class Reply:
    """The end of every stream: the whole message.

    Attributes:
        stop: END_TURN also when the message has calls; MAX_TOKENS drops a half-written call.
        usage: what this request was billed, None where the server does not say.
        first_token_s, wall_s: seconds from sending, of the attempt that succeeded.
    """

    message: AssistantMessage
    stop: StopReason
    usage: Usage | None
    first_token_s: float | None
    wall_s: float


Chunk = TextChunk | ThinkingChunk | CallChunk | Restarted | Reply

Effort = Literal["none", "low", "medium", "high"]


class Model(Protocol):
    """A model of a provider, as the loop sees it. Shared by all agents; keeps no conversation."""

    @property
    def id(self) -> str:
        """`provider/model`."""
        ...

    @property
    def context_window(self) -> int:
        """Tokens that fit, prompt and reply together."""
        ...

    def head(
        self,
        *,
        system: str,
        tools: Sequence[ToolSchema],
        cache_key: str,
        effort: Effort | None = None,
        tools_off: bool = False,
        max_output: int | None = None,
    ) -> Head:
        """Serialize what stands before the messages; with the same arguments the same bytes."""
        ...

    def encode(self, message: Message) -> bytes:
        """Serialize one message as it stands in the `messages` array.

        Several array elements where the wire needs it, joined by commas. A pure function of the message, so that a
        request's bytes only ever grow.
        """
        ...

    def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        """Send the request and yield chunks; the last is a `Reply`, unless an error is raised.

        Raises:
            ModelError: refused, broken off or stalled, after the retries that make sense.
        """
        ...

    def estimate_tokens(self, size_bytes: int) -> int:
        """Tokens that so many bytes of conversation come to, roughly."""
        ...
