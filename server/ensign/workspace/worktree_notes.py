"""What is on disk beside each worktree of ours: a note of what it is, and a lock that its owner's death releases.

A note is written before git makes anything and removed after the last of it is gone, so that a start after a crash
finds whatever was left.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from ensign.protocol.codec import decode, to_wire
from ensign.protocol.errors import EnsignError, ToolError
from ensign.protocol.value import Value, frozen
from ensign.protocol.worktree import Worktree

Phase = Literal["creating", "live", "removing", "kept"]
"""While `creating` and `removing`, files that are missing are nobody's work."""


@frozen
class Note(Value):
    """What one worktree is.

    Attributes:
        common: the repository's own folder, which all its worktrees share.
        agent_id: whose it is.
    """

    worktree: Worktree
    common: str
    agent_id: str
    phase: Phase


class Held:
    """A worktree that this process works on, until `release` or death."""

    def __init__(self, note: Note, fd: int) -> None:
        self.note = note
        self._fd = fd

    @property
    def path(self) -> Path:
        """The worktree's folder."""
        return Path(self.note.worktree.path)

    @property
    def common(self) -> Path:
        """The repository's own folder."""
        return Path(self.note.common)

    def write(self, worktree: Worktree, phase: Phase) -> None:
        """Put what is so now in the note's place.

        Raises:
            ToolError: the disk does not take it.
        """
        self.note = replace(self.note, worktree=worktree, phase=phase)
        path = _note_of(self.path)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            temporary.write_text(json.dumps(to_wire(self.note)), encoding="ascii")
            temporary.replace(path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise ToolError(f"cannot write {str(path)!r}: {error.strerror or error}") from error

    def forget(self) -> None:
        """Nothing is left of the worktree: remove its note, and the folders above it if they are empty."""
        path = self.path
        _note_of(path).unlink(missing_ok=True)
        _lock_of(path).unlink(missing_ok=True)
        self.release()
        try:
            path.parent.rmdir()
        except OSError:
            return  # other worktrees of this repository are in it

    def release(self) -> None:
        """Let others work on it. Releasing twice is nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def folder_for(home: Path, main: Path, common: Path) -> Path:
    """Where the worktrees of a repository are.

    Raises:
        ToolError: something leads out of `home`.
    """
    digest = hashlib.sha256(os.fsencode(common)).hexdigest()[:10]
    name = re.sub(r"[^\w.-]+", "-", main.name).strip("-.")[:40] or "repository"
    folder = home.resolve() / f"{name}-{digest}"
    if folder.is_symlink():
        raise ToolError(f"{str(folder)!r} is a link; worktrees are made only in Ensign's own folder: remove the link")
    return folder


def begun(note: Note) -> Held:
    """Write a new worktree's note, with its folder's name reserved.

    Raises:
        FileExistsError: the name is taken.
        ToolError: the disk does not take it.
    """
    path = Path(note.worktree.path)
    if path.is_symlink() or path.exists() or _note_of(path).exists():
        raise FileExistsError(path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(_lock_of(path), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise
    except OSError as error:
        raise ToolError(f"cannot make a worktree in {str(path.parent)!r}: {error.strerror or error}") from error
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    held = Held(note, fd)
    try:
        held.write(note.worktree, note.phase)
    except ToolError:
        held.forget()
        raise
    return held


def hold(path: Path) -> Held | None:
    """Take a worktree that nobody works on; None where somebody does, or there is no note of it.

    Raises:
        ToolError: its note cannot be read.
    """
    try:
        fd = os.open(_lock_of(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        note = _read(path)
    except BlockingIOError:
        os.close(fd)
        return None
    except FileNotFoundError:
        _lock_of(path).unlink(missing_ok=True)
        os.close(fd)
        return None
    except BaseException:
        os.close(fd)
        raise
    return Held(note, fd)


def noted(home: Path) -> Iterator[Path]:
    """The folders of all worktrees that have a note."""
    for path in sorted(home.glob("*/*.json")):
        if not path.name.startswith("."):
            yield path.with_suffix("")


def _read(path: Path) -> Note:
    note = _note_of(path)
    try:
        found = decode(Note, json.loads(note.read_bytes()), what=note.name)
    except (EnsignError, ValueError) as error:
        raise ToolError(f"the note of the worktree {str(path)!r} cannot be read: {error}") from error
    if Path(found.worktree.path) != path:
        raise ToolError(f"{str(note)!r} is the note of another worktree, {found.worktree.path!r}")
    return found


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def all_noted(home: Path) -> list[Worktree]:
    """What the notes say; one that cannot be read is left out."""
    found: list[Worktree] = []
    for path in noted(home):
        with suppress(ToolError, OSError):
            found.append(_read(path).worktree)
    return found
