"""What a wire format is: pure translation between our messages and a provider's bytes. Nothing here does I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

from ensign.models.base import Chunk, Effort, Head, Request
from ensign.models.jsons import an_object, loads
from ensign.models.sse import ServerEvent
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.messages import AssistantMessage, Message, StopReason, ToolCall, ToolSchema, Usage
from ensign.protocol.value import frozen


@frozen
class HeadOptions:
    """What `Model.head` is asked for, beside the system prompt and the tools."""

    cache_key: str
    effort: Effort | None
    tools_off: bool
    max_output: int | None


@frozen
class Ending:
    """What a stream came to."""

    message: AssistantMessage
    stop: StopReason
    usage: Usage | None


class Reader(Protocol):
    """Reads the events of one answer."""

    @property
    def ended(self) -> bool:
        """Whether the server has said that nothing more comes."""
        ...

    @property
    def text(self) -> str:
        """The text so far."""
        ...

    def feed(self, event: ServerEvent) -> Sequence[Chunk]:
        """Return the chunks that the event brings.

        Raises:
            WireError: the event is an error that the server put into the stream.
        """
        ...

    def finish(self) -> Ending:
        """Return the whole message.

        Raises:
            ModelError: the stream broke off before its end (`DROPPED`).
        """
        ...


class Wire(Protocol):
    """A provider's format; one file each."""

    @property
    def path(self) -> str:
        """Where requests go, below the base URL."""
        ...

    def head(self, *, system: str, tools: Sequence[ToolSchema], options: HeadOptions) -> Head:
        """As `Model.head`."""
        ...

    def encode(self, message: Message) -> bytes:
        """As `Model.encode`."""
        ...

    def body(self, request: Request) -> bytes:
        """Join the request's bytes."""
        ...

    def reader(self) -> Reader:
        """Return a reader for one answer."""
        ...

    def give_up(self, complaint: str) -> bool:
        """Stop sending an optional field that `complaint`, a 400 answer's text, refuses; False when it names none."""
        ...


class WireError(Exception):
    """An error object inside a stream that began well; `data` is its JSON."""

    def __init__(self, data: Any) -> None:
        super().__init__("the server reported an error in the stream")
        self.data = data


def make_call(call_id: str, name: str, raw: str) -> ToolCall:
    """Return the call; no arguments at all, or `null`, means `{}`."""
    value: Any = {} if raw.strip() in ("", "null") else loads(raw)
    arguments = an_object(value) if isinstance(value, dict) else None
    return ToolCall(call_id=call_id, name=name, arguments=arguments, raw=raw)


def arguments_for_wire(call: ToolCall) -> dict[str, Any]:
    """Return an object in any case: providers refuse a conversation in which a call has none."""
    if call.arguments is None:
        return {"invalid_arguments": call.raw}
    return dict(call.arguments)


def dropped(detail: str) -> ModelError:
    """The stream ended without saying so. Never taken for an output limit."""
    return ModelError(f"the stream broke off: {detail}", kind=ModelErrorKind.DROPPED, retryable=True)


_SURROGATE = re.compile("[\ud800-\udfff]")


class TextJoiner:
    """Joins text whose emoji some servers cut into surrogate halves, one in each delta."""

    __slots__ = ("_half", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._half = ""

    def add(self, text: str) -> str:
        """Return what of `text` can be shown now; a first half waits for its second."""
        if self._half or (not text.isascii() and _SURROGATE.search(text)):
            text, self._half = self._half + text, ""
            if text and "\ud800" <= text[-1] <= "\udbff":
                text, self._half = text[:-1], text[-1]
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if text:
            self._pieces.append(text)
        return text

    def __str__(self) -> str:
        return "".join(self._pieces) + ("\ufffd" if self._half else "")

    def __bool__(self) -> bool:
        return bool(self._pieces or self._half)
