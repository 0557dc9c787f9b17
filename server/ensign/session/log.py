"""A session's events in their order: numbered without gaps, kept, and handed to every reader without waiting."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ensign.protocol.events import Event, MessageAdded, TextDelta, ThinkingDelta
from ensign.store.errors import StoreError

log = logging.getLogger(__name__)

Reader = Callable[[int, Event], None]


class EventLog:
    """Numbers events and passes them on at once, so that the order of the calls is the order everywhere.

    `keep` makes an event durable and is called first: what a reader has seen survives a crash. It is not called for
    deltas, which their message supersedes. When the disk refuses, readers are told all the same; only a message that
    could not be kept is an error, since its turn must not go on (B7).
    """

    __slots__ = ("_keep", "_readers", "seq")

    def __init__(self, keep: Callable[[int, Event], None]) -> None:
        self._keep = keep
        self._readers: list[Reader] = []
        self.seq = 0

    def emit(self, event: Event) -> None:
        """Publish one event. Never waits.

        Raises:
            StoreError: a message could not be made durable.
        """
        self.seq += 1
        refused: StoreError | None = None
        if not isinstance(event, TextDelta | ThinkingDelta):
            try:
                self._keep(self.seq, event)
            except StoreError as error:
                log.warning("not recorded: %s: %s", event.kind, error)
                refused = error
        for reader in tuple(self._readers):
            try:
                reader(self.seq, event)
            except Exception:  # a reader's fault is not the agent's, and must not end its turn
                log.exception("a reader of events failed at %s", event.kind)
        if refused is not None and isinstance(event, MessageAdded):
            raise refused

    def read(self, reader: Reader) -> Callable[[], None]:
        """Hand all later events to `reader`; the returned function ends that."""
        self._readers.append(reader)
        return lambda: self._readers.remove(reader)
