"""How large a conversation and its parts are, in tokens of its own model: what compaction decides by."""

from __future__ import annotations

from collections.abc import Iterable

from ensign.models.base import Head, Model
from ensign.protocol.messages import AssistantMessage, Image, Message, ToolMessage, UserMessage
from ensign.protocol.value import frozen

IMAGE_BYTES = 5_600
"""What a picture counts for, however long its base64 is: about 1,600 tokens, to which Anthropic scales it down."""
MAX_RESERVE = 48_000
"""Room kept for the reply: the 16,000 tokens of output and 24,000 of thinking that a request asks for at most, and
what an estimate is off by."""


def weight(message: Message, data: bytes) -> int:
    """Bytes that a message counts for when tokens are estimated from its encoded form."""
    pictures = images_of(message)
    if not pictures:
        return len(data)
    return max(len(data) - sum(len(picture.data) for picture in pictures), 0) + IMAGE_BYTES * len(pictures)


def images_of(message: Message) -> tuple[Image, ...]:
    """The pictures in a message."""
    match message:
        case UserMessage():
            return message.images
        case ToolMessage():
            return tuple(image for result in message.results for image in result.images)
        case AssistantMessage():
            return ()


@frozen
class Ruler:
    """Measures in tokens; `scale` is what the provider counted, divided by what the bytes were estimated at."""

    model: Model
    scale: float

    @classmethod
    def fit(cls, model: Model, *, size_bytes: int, tokens: int) -> Ruler:
        """Return the ruler by which so many bytes are so many tokens."""
        return cls(model=model, scale=tokens / max(1, model.estimate_tokens(size_bytes)))

    def of_bytes(self, size_bytes: int) -> int:
        """Tokens of so many bytes as sent."""
        return int(self.model.estimate_tokens(size_bytes) * self.scale)

    def of(self, *messages: Message) -> int:
        """Tokens of these messages."""
        return self.of_bytes(sum(weight(message, self.model.encode(message)) for message in messages))


@frozen
class Room:
    """What fits where, in tokens.

    Attributes:
        fixed: the head and the prompts that are kept verbatim whatever happens; no compaction gets below it.
    """

    window: int
    fixed: int

    @property
    def reserve(self) -> int:
        """Room for the reply."""
        return reserve(self.window)

    @property
    def near(self) -> int:
        """From here on the conversation is shortened.

        Where what is fixed fills most of the window, half of what is left is used first: a threshold below or just
        above it would have every step compact in vain.
        """
        return max(self.window - self.reserve, (self.fixed + self.window) // 2)

    @property
    def is_tight(self) -> bool:
        """Whether what is fixed leaves less room than shortening means to make."""
        return self.fixed > (self.window - self.reserve) * 3 // 4

    @property
    def goal(self) -> int:
        """What shortening must get down to, so that some steps fit before the next time."""
        return max((self.window - self.reserve) * 3 // 4, (self.fixed + self.near) // 2)

    @property
    def tail(self) -> int:
        """What the last messages, kept whole, may take; as much again is for earlier prompts."""
        return (self.window - self.reserve) // 8

    @property
    def last(self) -> int:
        """What the last exchange alone may take, which the model has not answered yet."""
        return max(self.tail, (self.goal - self.fixed) // 2)


def reserve(window: int) -> int:
    """Tokens of a window that are kept for the reply (Claude Code keeps 33,000 of 200,000, Codex a tenth)."""
    return min(window // 5, MAX_RESERVE)


def sized(head: Head, weights: Iterable[int]) -> int:
    """Bytes that a whole request counts for."""
    return len(head.data) + sum(weights)
