"""Sessions on disk: `sessions/<id>/<agent>.jsonl`, `lock` and `output/` beside them. Only the user may read them."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ensign.protocol.errors import UserError
from ensign.store.errors import DamagedError, StoreError
from ensign.store.journal import TEMPORARY, Fence, FileJournal, write_whole
from ensign.store.ownership import Claim, Owner, State, claim, owner_of
from ensign.store.place import checked
from ensign.store.records import Loaded, read

_SUFFIX = ".jsonl"
_DELETED = ".deleted-"


class Disk:
    """A place in a folder."""

    def __init__(self, home: Path, now: Callable[[], float] = time.time) -> None:
        """Make the folder, and prove that it can be written.

        Raises:
            StoreError: it cannot.
        """
        self._sessions = home / "sessions"
        self._now = now
        self.database = home / "ensign.db"
        probe = self._sessions / f".probe-{os.getpid()}"
        try:
            make_private(self._sessions)
            probe.write_bytes(b"\n")
        except OSError as error:
            raise StoreError(f"cannot write to {str(home)!r}: {error.strerror}") from error
        finally:
            with contextlib.suppress(OSError):
                probe.unlink()

    def sessions(self) -> list[str]:
        """All sessions, by id."""
        with os.scandir(self._sessions) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))

    def agents(self, session_id: str) -> list[str]:
        """Agents with a transcript, by id."""
        return sorted(path.stem for path in self._folder(session_id).glob(f"*{_SUFFIX}") if path.name[0] != ".")

    def claim(self, session_id: str, state: State = "open") -> Claim:
        """Become the session's owner; a new session is made."""
        folder = self._folder(session_id)
        try:
            make_private(folder)
        except OSError as error:
            raise StoreError(f"cannot make {str(folder)!r}: {error.strerror}") from error
        return claim(folder, state=state, now=self._now)

    def owner(self, session_id: str) -> Owner | None:
        """Who owns a session, or did last."""
        return owner_of(self._folder(session_id))

    def read(self, session_id: str, agent_id: str) -> Loaded:
        """Return a transcript's records, the head first."""
        path = self._path(session_id, agent_id)
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise UserError(f"session {session_id!r} has no agent {agent_id!r}") from error
        except OSError as error:
            raise StoreError(f"cannot read {str(path)!r}: {error.strerror}") from error
        loaded = read(data)
        if not loaded.head_whole or loaded.records[0].kind != "head":
            kept = keep_aside(path, data)
            raise DamagedError(
                f"the first line of {str(path)!r} is damaged, so it cannot be resumed; it is left as it is, "
                f"and a copy is {str(kept)!r}",
                path=path,
                kept=kept,
            )
        return loaded

    def read_head(self, session_id: str, agent_id: str) -> Mapping[str, Any]:
        """Return the body of a transcript's first line alone; empty when that cannot be read."""
        try:
            with self._path(session_id, agent_id).open("rb") as file:
                records = read(file.readline()).records
        except OSError:
            return {}
        return records[0].body if records and records[0].kind == "head" else {}

    def create(self, session_id: str, agent_id: str, first: bytes, fence: Fence) -> FileJournal:
        """Make a transcript with its first line, in one move: it never exists without."""
        path = self._path(session_id, agent_id)
        fence.check()
        if path.exists():
            raise StoreError(f"{str(path)!r} exists already")
        write_whole(path, first)
        return FileJournal(path, fence)

    def reopen(self, session_id: str, agent_id: str, loaded: Loaded, fence: Fence) -> FileJournal:
        """Go on with a transcript that was just read; a torn tail is cut off first."""
        fence.check()
        journal = FileJournal(self._path(session_id, agent_id), fence)
        try:
            journal.mend(loaded.whole_bytes, unterminated=loaded.unterminated)
        except StoreError:
            journal.close()
            raise
        return journal

    def tidy(self, session_id: str) -> list[str]:
        """Remove what a crash left half made, and return its names."""
        left = sorted(self._folder(session_id).rglob(f".*{TEMPORARY}"))
        for path in left:
            path.unlink(missing_ok=True)
        return [str(path) for path in left]

    def output_dir(self, session_id: str) -> Path:
        """Where reports and spilled outputs go."""
        folder = self._folder(session_id) / "output"
        try:
            make_private(folder)
        except OSError as error:
            raise StoreError(f"cannot make {str(folder)!r}: {error.strerror}") from error
        return folder

    def delete(self, session_id: str) -> None:
        """Remove a session for good.

        Raises:
            OwnedError: it is open somewhere.
            UserError: there is none.
        """
        folder = self._folder(session_id)
        if not folder.is_dir():
            raise UserError(f"there is no session {session_id!r}")
        held = claim(folder, now=self._now)
        try:
            # Renamed first: a half-removed session must not look like a damaged one.
            gone = folder.with_name(f"{_DELETED}{folder.name}")
            folder.rename(gone)
            shutil.rmtree(gone)
        except OSError as error:
            raise StoreError(f"cannot delete {str(folder)!r}: {error.strerror}") from error
        finally:
            held.release(clean=False)

    def _folder(self, session_id: str) -> Path:
        return self._sessions / checked(session_id)

    def _path(self, session_id: str, agent_id: str) -> Path:
        return self._folder(session_id) / f"{checked(agent_id)}{_SUFFIX}"


def make_private(folder: Path) -> None:
    """Make a folder that only the user may enter; its parents too, where they are missing."""
    if not folder.is_dir():
        make_private(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)


def keep_aside(path: Path, data: bytes) -> Path:
    """Copy a damaged file's bytes beside it, once."""
    kept = path.with_name(f"{path.name}.damaged")
    if not (kept.exists() and kept.read_bytes() == data):
        write_whole(kept, data)
    return kept
