"""Opening a resolved path so that a link put in its way after the check is an error, not another file.

A resolved path has no links in it. Each folder is therefore opened below the one before with `O_NOFOLLOW`, and what is
then done is done below an open folder, which no rename can turn into another.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ensign.protocol.errors import ToolError

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
# O_PATH needs no read permission on the folders on the way, as walking a path does not.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW | _CLOEXEC
# O_NONBLOCK: should a FIFO have been put there, opening it does not wait for a writer.
_FILE = os.O_RDONLY | _NOFOLLOW | _CLOEXEC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_HAS_DIR_FD = os.open in os.supports_dir_fd

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a link"),
)


class Folder:
    """An open folder and the name of a file in it. Use with `opened_parent`."""

    def __init__(self, fd: int | None, parent: Path, name: str) -> None:
        self.fd = fd
        self._parent = parent
        self.name = name

    def at(self, name: str) -> str:
        """Return how to spell `name` in this folder for a call that is given `dir_fd=self.fd`."""
        return name if self.fd is not None else str(self._parent / name)


@contextmanager
def opened_parent(path: Path, made: list[Path] | None = None) -> Iterator[Folder]:
    """Open the folder that a resolved path is in; folders that are missing are made if `made` is given, and listed.

    Where the platform cannot work below an open folder (Windows), paths are used as they are.

    Raises:
        OSError: ELOOP or ENOTDIR when part of the path was swapped for a link; else as from `open`.
    """
    if not _HAS_DIR_FD:
        if made is not None:
            _make_parents(path.parent, made)
        yield Folder(None, path.parent, path.name)
        return
    fd = os.open(path.anchor, _FOLDER)
    here = Path(path.anchor)
    try:
        for name in path.parts[1:-1]:
            here /= name
            below = _enter(fd, name, here, made)
            os.close(fd)
            fd = below
        yield Folder(fd, path.parent, path.name)
    finally:
        os.close(fd)


def _enter(fd: int, name: str, here: Path, made: list[Path] | None) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=fd)
    except FileNotFoundError:
        if made is None:
            raise
    try:
        os.mkdir(name, dir_fd=fd)
        made.append(here)
    except FileExistsError:
        pass  # somebody else made it meanwhile
    return os.open(name, _FOLDER, dir_fd=fd)


def _make_parents(folder: Path, made: list[Path]) -> None:
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir(exist_ok=True)
        made.append(parent)


def stat_file(path: Path) -> os.stat_result | None:
    """Return what a resolved path is, or None if there is nothing; blocks on nothing and opens nothing.

    Raises:
        ToolError: it is not a regular file, or cannot be looked at.
    """
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ToolError(f"cannot read {str(path)!r}: {_why(error)}") from error
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"{str(path)!r} is {kind_of(found.st_mode)}, not a file")
    return found


def kind_of(mode: int) -> str:
    """Return in words what a thing with this `st_mode` is."""
    return next((words for test, words in _KINDS if test(mode)), "a file")


@contextmanager
def opened_file(path: Path) -> Iterator[int]:
    """Open a resolved path for reading and give its descriptor; only ever a regular file.

    Raises:
        ToolError: it is something else, was swapped for a link, or cannot be opened.
        FileNotFoundError: there is nothing.
    """
    if stat_file(path) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    try:
        with opened_parent(path) as folder:
            fd = os.open(folder.at(folder.name), _FILE, dir_fd=folder.fd)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ToolError(f"cannot read {str(path)!r}: {_why(error)}") from error
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            raise ToolError(f"{str(path)!r} is {kind_of(mode)}, not a file")
        yield fd
    finally:
        os.close(fd)


@contextmanager
def opened_folder(path: Path) -> Iterator[Path]:
    """Open a folder at a resolved path and give a path that means this very folder to us and our children.

    Raises:
        ToolError: it is not there, no folder, or a link was put in its way.
    """
    try:
        with opened_parent(path) as parent:
            fd = None if parent.fd is None else os.open(parent.name or ".", _FOLDER, dir_fd=parent.fd)
    except FileNotFoundError as error:
        raise ToolError(f"{str(path)!r} does not exist") from error
    except OSError as error:
        raise ToolError(f"cannot search {str(path)!r}: {_why(error)}") from error
    try:
        held = Path(f"/proc/{os.getpid()}/fd/{fd}")
        yield held if fd is not None and held.exists() else path
    finally:
        if fd is not None:
            os.close(fd)


def read_file(path: Path, limit: int) -> bytes:
    """Return the bytes of a resolved path.

    Raises:
        ToolError: as from `opened_file`; or it has more than `limit` bytes.
        FileNotFoundError: there is nothing.
    """
    with opened_file(path) as fd:
        chunks: list[bytes] = []
        left = limit + 1
        size = os.fstat(fd).st_size
        # One byte more than the size shows the end, so that most files are one read and one empty one.
        while left > 0 and (chunk := os.read(fd, min(left, size + 1, 1 << 24))):
            chunks.append(chunk)
            left -= len(chunk)
            size = max(size - len(chunk), 1 << 16)
    if left <= 0:
        raise ToolError(f"{str(path)!r} has more than {limit:,} bytes")
    return b"".join(chunks)


def _why(error: OSError) -> str:
    if error.errno in {errno.ELOOP, errno.ENOTDIR}:
        return "a link was put in its way"
    return error.strerror or str(error)
