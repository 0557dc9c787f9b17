"""Sessions in memory, for a machine where nothing can be written: everything works, nothing outlives the process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ensign.protocol.errors import UserError
from ensign.store.errors import OwnedError, StoreError
from ensign.store.journal import Fence, MemoryJournal
from ensign.store.ownership import Owner, State
from ensign.store.place import checked
from ensign.store.records import Loaded, read


@dataclass(slots=True)
class MemoryClaim:
    """A session's claim; nobody else can see the session, so the fence never falls."""

    held: set[str]
    session_id: str
    epoch: int = 1
    died: bool = False

    def check(self) -> None:
        """Nothing to find."""

    def rise_above(self, epoch: int) -> None:
        """Take a higher epoch."""
        self.epoch = max(self.epoch, epoch + 1)

    def release(self, *, clean: bool) -> None:
        """Give the session up."""
        self.died = not clean
        self.held.discard(self.session_id)


class Memory:
    """A place that is gone with the process."""

    def __init__(self) -> None:
        self.database: Path | None = None
        self._sessions: dict[str, dict[str, bytearray]] = {}
        self._held: set[str] = set()

    def sessions(self) -> list[str]:
        """All sessions, by id."""
        return sorted(self._sessions)

    def agents(self, session_id: str) -> list[str]:
        """Agents with a transcript, by id."""
        return sorted(self._sessions.get(session_id, ()))

    def claim(self, session_id: str, state: State = "open") -> MemoryClaim:
        """Become the session's owner; a new session is made."""
        if checked(session_id) in self._held:
            raise OwnedError(f"session {session_id!r} is open already", pid=None)
        self._sessions.setdefault(session_id, {})
        self._held.add(session_id)
        return MemoryClaim(self._held, session_id)

    def owner(self, session_id: str) -> Owner | None:
        """Who owns a session: this process, while it is open."""
        if session_id not in self._sessions:
            return None
        held = session_id in self._held
        return Owner(epoch=1, pid=None, state="open" if held else "closed", since=0.0, held=held)

    def read(self, session_id: str, agent_id: str) -> Loaded:
        """Return a transcript's records, the head first."""
        data = self._sessions.get(session_id, {}).get(agent_id)
        if data is None:
            raise UserError(f"session {session_id!r} has no agent {agent_id!r}")
        return read(bytes(data))

    def read_head(self, session_id: str, agent_id: str) -> Mapping[str, Any]:
        """Return the body of a transcript's first line alone."""
        return self.read(session_id, agent_id).records[0].body

    def create(self, session_id: str, agent_id: str, first: bytes, fence: Fence) -> MemoryJournal:
        """Make a transcript with its first line."""
        session = self._sessions[session_id]
        if checked(agent_id) in session:
            raise StoreError(f"agent {agent_id!r} exists already")
        session[agent_id] = bytearray(first)
        return MemoryJournal(session[agent_id])

    def reopen(self, session_id: str, agent_id: str, loaded: Loaded, fence: Fence) -> MemoryJournal:
        """Go on with a transcript."""
        return MemoryJournal(self._sessions[session_id][agent_id])

    def tidy(self, session_id: str) -> list[str]:
        """Nothing is ever half made."""
        return []

    def output_dir(self, session_id: str) -> Path | None:
        """Nowhere."""
        return None

    def delete(self, session_id: str) -> None:
        """Remove a session for good."""
        if session_id in self._held:
            raise OwnedError(f"session {session_id!r} is open", pid=None)
        if self._sessions.pop(session_id, None) is None:
            raise UserError(f"there is no session {session_id!r}")
