"""A folder of one process, where the home cannot be written: gone at its exit, or at the next start after a kill."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import weakref
from pathlib import Path

PREFIX = "ensign-state-"
_LOCK = "lock"
"""Held while the process lives; death releases it."""


class TemporaryFolder:
    """A new folder below the temporary one, which only its owner may look into.

    Attributes:
        remove: removes it, once; happens at the end of the process in any case but a kill.
    """

    def __init__(self) -> None:
        """Make the folder. Blocks.

        Raises:
            OSError: not even that is possible.
        """
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Under its name only once it is held: whoever finds it free may take the folder for a dead process's.
        made = self.path / f"{_LOCK}.new"
        lock = os.open(made, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        made.rename(self.path / _LOCK)
        self.remove = weakref.finalize(self, _remove, self.path, lock)


def remove_left_behind() -> None:
    """Remove the folders of processes that were killed. Blocks."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue  # Somebody else's, just being made, or just being removed.
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
        else:
            _remove(folder, lock)


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)
