"""What was accepted for an agent and is not in its conversation yet: messages and notifications, each once (B5, N2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from ensign.protocol.value import Value, frozen


@frozen
class Letter(Value):
    """An accepted message. `body` is the sender's, JSON-ready, and comes back as it was."""

    message_id: str
    what: Literal["message", "notification"]
    body: Mapping[str, Any]


class Inbox:
    """Letters in the order of their acceptance; a pure fold of the transcript's records.

    Invariant: an id is accepted at most once and delivered at most once, in this process and in any later one.
    """

    __slots__ = ("_delivered", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[str, Letter] = {}
        self._delivered: set[str] = set()

    def knows(self, message_id: str) -> bool:
        """Whether this id was accepted, delivered or not."""
        return message_id in self._waiting or message_id in self._delivered

    def delivered(self, message_id: str) -> bool:
        """Whether this id is in the conversation, or was withdrawn."""
        return message_id in self._delivered

    def put(self, letter: Letter) -> None:
        """Take in a recorded letter; one that is known changes nothing."""
        if not self.knows(letter.message_id):
            self._waiting[letter.message_id] = letter

    def deliver(self, message_ids: Iterable[str]) -> None:
        """Take note that these are in the conversation."""
        for message_id in message_ids:
            self._waiting.pop(message_id, None)
            self._delivered.add(message_id)

    def pending(self) -> tuple[Letter, ...]:
        """What waits, oldest first."""
        return tuple(self._waiting.values())
