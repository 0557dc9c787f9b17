"""Messages that reach an agent while it works; they are taken between steps, never inside one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ensign.protocol.messages import UserMessage


class Inbox:
    """A queue of messages with one reader, the agent's turn.

    Once closed it accepts nothing: `put` then says so, and the sender finds another way (a resume, a new turn). So a
    message is either taken by a step or known to be undelivered, also in the moment a run ends.
    """

    __slots__ = ("_closed", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[tuple[UserMessage, bool]] = deque()
        self._closed = False

    @property
    def rousing(self) -> bool:
        """Whether something waits that an idle agent is to be woken for."""
        return any(rouses for _, rouses in self._waiting)

    def put(self, message: UserMessage, *, rouses: bool = True) -> bool:
        """Queue a message; False when the agent takes no more."""
        if self._closed:
            return False
        self._waiting.append((message, rouses))
        return True

    def withdraw(self, message_id: str) -> bool:
        """Take back the message that delivers this id; False when it was taken already."""
        left = deque(entry for entry in self._waiting if message_id not in entry[0].delivers)
        found = len(left) < len(self._waiting)
        self._waiting = left
        return found

    def holds(self, message_id: str) -> bool:
        """Whether the message that delivers this id is still waiting."""
        return any(message_id in message.delivers for message, _ in self._waiting)

    def take(self, add: Callable[[UserMessage], None]) -> int:
        """Hand every waiting message to `add`, in order, and return how many there were."""
        taken = 0
        while self._waiting:
            add(self._waiting.popleft()[0])
            taken += 1
        return taken

    def close(self) -> list[UserMessage]:
        """Accept no more; return what was never taken."""
        self._closed = True
        left = [message for message, _ in self._waiting]
        self._waiting.clear()
        return left

    def __len__(self) -> int:
        return len(self._waiting)
