"""Where sessions are kept: `disk.py` under ENSIGN_HOME, or `memory.py` when nothing can be written there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from ensign.protocol.errors import UserError
from ensign.store.journal import Fence, Journal
from ensign.store.ownership import Owner, State
from ensign.store.records import Loaded

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class OwnedFence(Fence, Protocol):
    """A session's claim, as its owner holds it."""

    @property
    def died(self) -> bool:
        """Whether the owner before went without closing the session."""
        ...

    def rise_above(self, epoch: int) -> None:
        """Take a higher epoch than one found in a transcript."""
        ...

    def release(self, *, clean: bool) -> None:
        """Give the session up; `clean` when nothing is left to recover."""
        ...


class Place(Protocol):
    """Sessions by id, in each the transcripts of its agents by id. Methods block, and raise `StoreError`."""

    @property
    def database(self) -> Path | None:
        """Where the index is; None for one in memory."""
        ...

    def sessions(self) -> list[str]:
        """All sessions, by id."""
        ...

    def agents(self, session_id: str) -> list[str]:
        """Agents with a transcript, by id."""
        ...

    def claim(self, session_id: str, state: State = "open") -> OwnedFence:
        """Become the session's owner; a new session is made."""
        ...

    def owner(self, session_id: str) -> Owner | None:
        """Who owns a session, or did last; None when it never had an owner."""
        ...

    def read(self, session_id: str, agent_id: str) -> Loaded:
        """Return a transcript's records, the head first.

        Raises:
            UserError: there is none.
            DamagedError: its first line cannot be read.
        """
        ...

    def read_head(self, session_id: str, agent_id: str) -> Mapping[str, Any]:
        """Return the body of a transcript's first line alone; empty when that cannot be read."""
        ...

    def create(self, session_id: str, agent_id: str, first: bytes, fence: Fence) -> Journal:
        """Make a transcript with its first line; one that exists is an error."""
        ...

    def reopen(self, session_id: str, agent_id: str, loaded: Loaded, fence: Fence) -> Journal:
        """Go on with a transcript that was just read; a torn tail is cut off first."""
        ...

    def tidy(self, session_id: str) -> list[str]:
        """Remove what a crash left half made, and return its names."""
        ...

    def output_dir(self, session_id: str) -> Path | None:
        """Where reports and spilled outputs go; None when nothing can be written."""
        ...

    def delete(self, session_id: str) -> None:
        """Remove a session for good."""
        ...


def checked(identifier: str) -> str:
    """Return an id that is safe as a file name.

    Raises:
        UserError: it is not one of ours; a client may send anything.
    """
    if not _NAME.fullmatch(identifier):
        raise UserError(f"{identifier!r} is not an id")
    return identifier
