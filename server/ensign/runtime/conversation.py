"""An agent's conversation: messages with their bytes, each serialized once (C2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ensign.models.base import Head, Model, Request
from ensign.protocol.messages import Message, Usage
from ensign.runtime.sizes import weight


class Conversation:
    """Append-only messages for one model.

    Invariants: `encoded[i]` is `model.encode(messages[i])`, made once; the messages only grow, but for `replace`
    (compaction), `retarget` (another model) and `take_back`. The owner is the one turn that runs; others read.
    """

    __slots__ = ("_encoded", "_grown", "_known", "_messages", "head", "model")

    def __init__(self, model: Model, head: Head, messages: Iterable[Message] = ()) -> None:
        self.model = model
        self.head = head
        self._messages: list[Message] = []
        self._encoded: list[bytes] = []
        self._known = 0
        self._grown = len(head.data)
        for message in messages:
            self.add(message)

    @property
    def messages(self) -> Sequence[Message]:
        """The messages so far."""
        return self._messages

    def add(self, message: Message) -> None:
        """Append a message."""
        data = self.model.encode(message)
        self._messages.append(message)
        self._encoded.append(data)
        self._grown += weight(message, data)

    def take_back(self) -> None:
        """Remove the last message: results that stood for calls which run only now, and which were never sent (B10)."""
        self._grown -= weight(self._messages.pop(), self._encoded.pop())

    def request(self, head: Head | None = None) -> Request:
        """Return the next request; `head` replaces the conversation's own for a wrap-up."""
        return Request(head=head or self.head, history=self._messages, encoded=self._encoded)

    def billed(self, usage: Usage) -> None:
        """Take the provider's count of the last request as the size so far; what follows is estimated.

        That includes the reply, which is added next and would otherwise count twice.
        """
        self._known = usage.total - usage.output
        self._grown = 0

    @property
    def tokens(self) -> int:
        """Tokens the next request will have: what the provider last counted, and an estimate of what came since."""
        return self._known + self.model.estimate_tokens(self._grown)

    @property
    def size_bytes(self) -> int:
        """Bytes of the next request's body, without its closing brackets."""
        return len(self.head.data) + sum(map(len, self._encoded)) + max(0, len(self._encoded) - 1)

    def fork(self) -> Conversation:
        """Return a copy that shares the bytes and can change nothing here (F3)."""
        copy = Conversation(self.model, self.head)
        copy._messages = list(self._messages)
        copy._encoded = list(self._encoded)
        copy._known, copy._grown = self._known, self._grown
        return copy

    def replace(self, messages: Iterable[Message]) -> None:
        """Put other messages in place of all (compaction)."""
        self.retarget(self.model, self.head, messages)

    def retarget(self, model: Model, head: Head, messages: Iterable[Message] | None = None) -> None:
        """Go on with another model or head; every message is serialized anew."""
        kept = list(self._messages if messages is None else messages)
        self.model, self.head = model, head
        self._messages, self._encoded = [], []
        self._known, self._grown = 0, len(head.data)
        for message in kept:
            self.add(message)
