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

    __slots__ = ("_closed", "_on_taken", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[tuple[UserMessage, Callable[[], None] | None]] = deque()
        self._closed = False

    def put(self, message: UserMessage, on_taken: Callable[[], None] | None = None) -> bool:
        """Queue a message; False when the agent takes no more. `on_taken` is called once it is in the conversation."""
        if self._closed:
            return False
        self._waiting.append((message, on_taken))
        return True

    def take(self, add: Callable[[UserMessage], None]) -> int:
        """Hand every waiting message to `add`, in order, and return how many there were."""
        taken = 0
        while self._waiting:
            message, on_taken = self._waiting.popleft()
            add(message)
            taken += 1
            if on_taken is not None:
                on_taken()
        return taken

    def close(self) -> list[UserMessage]:
        """Accept no more; return what was never taken."""
        self._closed = True
        left = [message for message, _ in self._waiting]
        self._waiting.clear()
        return left

    def __len__(self) -> int:
        return len(self._waiting)
