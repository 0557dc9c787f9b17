"""What can go wrong with the disk, in words for the person who must act."""

from __future__ import annotations

from pathlib import Path

from ensign.protocol.errors import UserError


class StoreError(UserError):
    """The disk did not do what was asked; everything recorded before is whole."""


class DamagedError(StoreError):
    """A transcript cannot be read at all.

    Attributes:
        path: the file, untouched.
        kept: a copy of its bytes set aside.
    """

    def __init__(self, message: str, *, path: Path, kept: Path) -> None:
        super().__init__(message)
        self.path = path
        self.kept = kept


class OwnedError(StoreError):
    """The session belongs to another process that is alive.

    Attributes:
        pid: that process, or None where it cannot be told.
    """

    def __init__(self, message: str, *, pid: int | None) -> None:
        super().__init__(message)
        self.pid = pid


class FencedError(StoreError):
    """A later claim has taken this session over; what this process would append is refused."""
