"""Writing a file so that it is old or new and whole at any moment, and the very file that was checked."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from ensign.protocol.errors import ToolError
from ensign.workspace.nofollow import Folder, kind_of, opened_parent

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_OLD = os.O_RDONLY | _BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


class ChangedMeanwhileError(Exception):
    """The file is not what the writer was told to replace; nothing was written."""


def write_file(path: Path, data: bytes, replacing: bytes | None) -> None:
    """Put `data` into the file at a resolved path; a file that exists keeps mode and owner.

    `replacing` is what the file holds now, as the caller has read it, or None if there is none; missing folders are
    then made.

    Raises:
        ChangedMeanwhileError: it holds something else, or is there though it should not be.
        ToolError: disk full, no permission, a link in the way, not a regular file: nothing was changed.

    Invariants: no temporary file is left, whatever happens but a kill.
    """
    made: list[Path] = []
    try:
        with opened_parent(path, made if replacing is None else None) as folder:
            _replace(folder, data, replacing)
    except OSError as error:
        for parent in reversed(made):
            with suppress(OSError):
                parent.rmdir()
        raise ToolError(f"cannot write {str(path)!r}: {_why(error)}") from error


def remove_file(path: Path, holding: bytes) -> None:
    """Remove the file at a resolved path.

    Raises:
        ChangedMeanwhileError: it is gone, or holds something else than `holding`.
        ToolError: no permission, a link in the way: nothing was changed.
    """
    try:
        with opened_parent(path, None) as folder:
            _verify(folder, holding)
            _unlink(folder, folder.name)
            _sync_folder(folder)
    except OSError as error:
        raise ToolError(f"cannot remove {str(path)!r}: {_why(error)}") from error


def _replace(folder: Folder, data: bytes, replacing: bytes | None) -> None:
    old = _stat(folder)
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise OSError(errno.EINVAL, f"it is {kind_of(old.st_mode)}, not a file")
    if old is not None and old.st_mode & 0o222 == 0:
        # A rename would replace it all the same; who made it read-only meant it.
        raise PermissionError(errno.EACCES, "the file is read-only")
    temporary = f".{folder.name[:100]}.{secrets.token_hex(6)}.tmp"
    try:
        _write_new(folder, temporary, data, old)
        _verify(folder, replacing)
        _move(folder, temporary, new=replacing is None)
    finally:
        with suppress(OSError):
            _unlink(folder, temporary)
    _sync_folder(folder)


def _stat(folder: Folder) -> os.stat_result | None:
    try:
        return os.stat(folder.at(folder.name), dir_fd=folder.fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _write_new(folder: Folder, name: str, data: bytes, old: os.stat_result | None) -> None:
    fd = os.open(folder.at(name), _NEW | _BINARY, 0o666 if old is None else 0o600, dir_fd=folder.fd)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if old is not None and hasattr(os, "fchown"):
            _keep_attributes(folder, fd, old)
        os.fsync(fd)
        # Some network file systems take the bytes and report a full disk only here.
        if os.fstat(fd).st_size != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(fd)


def _keep_attributes(folder: Folder, fd: int, old: os.stat_result) -> None:
    with suppress(PermissionError):  # another's file in a shared folder: it becomes ours, as with any editor
        os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, stat.S_IMODE(old.st_mode))
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):  # access lists, labels: kept where the file system has them
        old_fd = os.open(folder.at(folder.name), _OLD, dir_fd=folder.fd)
        try:
            for name in os.listxattr(old_fd):
                os.setxattr(fd, name, os.getxattr(old_fd, name))
        finally:
            os.close(old_fd)


def _verify(folder: Folder, replacing: bytes | None) -> None:
    """Look once more, as late as can be: a command may have written since the caller read."""
    try:
        fd = os.open(folder.at(folder.name), _OLD, dir_fd=folder.fd)
    except FileNotFoundError:
        now = None
    else:
        with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise ChangedMeanwhileError
            now = file.read(-1 if replacing is None else len(replacing) + 1)
    if now != replacing:
        raise ChangedMeanwhileError


def _move(folder: Folder, temporary: str, *, new: bool) -> None:
    source, target = folder.at(temporary), folder.at(folder.name)
    if new:
        try:
            # Unlike a rename this fails if somebody made the file in the meantime.
            os.link(source, target, src_dir_fd=folder.fd, dst_dir_fd=folder.fd, follow_symlinks=False)
        except FileExistsError:
            raise ChangedMeanwhileError from None
        except (OSError, NotImplementedError):
            pass  # a file system without hard links
        else:
            return
    os.replace(source, target, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)


def _unlink(folder: Folder, name: str) -> None:
    os.unlink(folder.at(name), dir_fd=folder.fd)


def _sync_folder(folder: Folder) -> None:
    """Make the rename itself durable; an error here changes nothing of what was done."""
    if folder.fd is None:
        return
    with suppress(OSError):
        fd = os.open(".", os.O_RDONLY | getattr(os, "O_CLOEXEC", 0), dir_fd=folder.fd)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _why(error: OSError) -> str:
    words = {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the disk quota is used up",
        errno.EFBIG: "the file would be larger than is allowed",
        errno.EROFS: "the file system is read-only",
        errno.ELOOP: "a link was put in its way",
        errno.ENOTDIR: "part of the path is not a folder, or a link was put in its way",
        errno.ENAMETOOLONG: "the name is too long",
    }
    return f"{words.get(error.errno or 0) or error.strerror or error}; nothing was changed"
