"""Who owns a session: a lock that death releases, and an epoch that fences whoever owned it before.

The lock is `flock` on `sessions/<id>/lock`. Descriptors are not inherited across exec, so a command that outlives its
server does not hold its session. The file says the epoch in its first 20 bytes, then who the owner is, in JSON.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

from ensign.protocol.value import frozen
from ensign.store.errors import FencedError, OwnedError, StoreError

State = Literal["open", "recovering", "closed"]
"""`recovering` is a start-up's short look at a session; it is waited for, an open session is not."""

_EPOCH_DIGITS = 20
_PATIENCE_S = 1.0
_PAUSE_S = 0.01


@frozen
class Owner:
    """What a lock file says. `held` is whether a process holds the lock now; `pid` is then the one that does."""

    epoch: int
    pid: int | None
    state: State
    since: float
    held: bool

    @property
    def died(self) -> bool:
        """Whether the last owner went without closing the session."""
        return not self.held and self.state != "closed"


class Claim:
    """A session owned by this process, until `release` or death.

    Attributes:
        died: the owner before went without closing the session, so there may be something to recover.
    """

    __slots__ = ("_fd", "_now", "_path", "_stamp", "died", "epoch")

    def __init__(self, path: Path, fd: int, before: Owner | None, now: Callable[[], float]) -> None:
        self._path = path
        self._fd = fd
        self._now = now
        # A folder with transcripts and no lock file has lost it.
        self.died = before.died if before else any(path.parent.glob("*.jsonl"))
        self.epoch = (before.epoch if before else 0) + 1
        self._stamp = _stamp(self.epoch)

    def mark(self, state: State) -> None:
        """Write down epoch and owner."""
        owner = {"pid": os.getpid(), "state": state, "since": self._now()}
        data = self._stamp + json.dumps(owner).encode() + b"\n"
        try:
            os.pwrite(self._fd, data, 0)
            os.ftruncate(self._fd, len(data))
        except OSError as error:
            raise StoreError(f"cannot write {str(self._path)!r}: {error.strerror}") from error

    def check(self) -> None:
        """Raise `FencedError` unless the lock file is still there and says our epoch. About a microsecond."""
        ours = self._fd >= 0 and os.pread(self._fd, len(self._stamp), 0) == self._stamp
        if not ours or os.fstat(self._fd).st_nlink == 0:
            raise FencedError(
                f"{str(self._path.parent)!r} has another owner now; nothing more is written to it from here"
            )

    def rise_above(self, epoch: int) -> None:
        """Take a higher epoch than one found in a transcript: the lock file was lost or rolled back."""
        if epoch >= self.epoch:
            self.check()
            self.epoch = epoch + 1
            self._stamp = _stamp(self.epoch)
            self.mark("open")

    def release(self, *, clean: bool) -> None:
        """Give the session up. `clean`: nothing is left for the next owner to recover. Releasing twice is nothing."""
        if self._fd < 0:
            return
        try:
            if clean:
                self.mark("closed")
        finally:
            fd, self._fd = self._fd, -1
            os.close(fd)


def claim(folder: Path, *, state: State = "open", now: Callable[[], float] = time.time) -> Claim:
    """Make this process the owner of a session's folder. Blocks up to a second while another looks at it.

    Raises:
        OwnedError: a living process owns it.
        StoreError: the lock file cannot be written.
    """
    path = folder / "lock"
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"cannot open {str(path)!r}: {error.strerror}") from error
    try:
        _lock(fd, path)
        claimed = Claim(path, fd, _read(fd, held=False), now)
        claimed.mark(state)
    except BaseException:
        os.close(fd)
        raise
    return claimed


def owner_of(folder: Path) -> Owner | None:
    """Return what is known of a session's owner, None for a session that never had one."""
    try:
        fd = os.open(folder / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _read(fd, held=not _try(fd, fcntl.LOCK_SH))
    finally:
        os.close(fd)


def _stamp(epoch: int) -> bytes:
    return b"%0*d\n" % (_EPOCH_DIGITS, epoch)


def _try(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock(fd: int, path: Path) -> None:
    """Take the lock; give up at once on an open session, after a second on one that is only being looked at.

    `owner_of` holds the lock for a moment too, when the owner that the file names is dead.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while not _try(fd, fcntl.LOCK_EX):
        owner = _read(fd, held=True)
        if (owner is not None and owner.state == "open" and _alive(owner.pid)) or time.monotonic() > deadline:
            pid = owner.pid if owner else None
            raise OwnedError(f"{str(path.parent)!r} is open in another process ({pid})", pid=pid)
        time.sleep(_PAUSE_S)


def _alive(pid: int | None) -> bool:
    try:
        os.kill(pid or 0, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return pid is not None


def _read(fd: int, *, held: bool) -> Owner | None:
    """Return what the file says; a file that says nothing sensible counts as left by a dead owner."""
    data = os.pread(fd, 4096, 0)
    if not data:
        return None
    stamp, _, rest = data.partition(b"\n")
    try:
        said: Any = json.loads(rest)
        pid, state, since = int(said["pid"]), said["state"], float(said["since"])
    except (ValueError, KeyError, TypeError):
        pid, state, since = None, "open", 0.0
    return Owner(
        epoch=int(stamp) if stamp.isdigit() else 0,
        pid=pid,
        state=state if state in get_args(State) else "open",
        since=since,
        held=held,
    )
