"""The messages about workspace trust (P9): what a folder asks for, and what a person has trusted of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from ensign.protocol.value import Value, frozen

TrustKind = Literal["settings", "agent", "mcp", "skill", "git"]


@frozen
class TrustFile(Value):
    """One file that asks for something.

    Attributes:
        name: its path from the folder, hidden characters spelled out.
        path: where it is.
        hash: of the content that is shown; what is trusted is this.
        asks: what it would do if it were trusted, one sentence each, hidden characters spelled out.
        content: all of it, hidden characters spelled out.
        trusted: whether it counts.
        changed: it was trusted with another content.
    """

    kind: TrustKind
    name: str
    path: str
    hash: str
    asks: tuple[str, ...]
    content: str
    trusted: bool
    changed: bool


@frozen
class FolderTrust(Value):
    """A workspace folder.

    Attributes:
        trusted: whether a person has trusted it; new and changed files still have to be.
        restricted: the editor does not trust it, so nothing of it counts, whatever was trusted here.
        notice: what to tell a person who has not been asked yet, in one sentence; empty when nothing asks.
    """

    path: str
    trusted: bool
    restricted: bool
    notice: str
    files: tuple[TrustFile, ...]


@frozen
class TrustListed(Value):
    """Answer to `ensign/trust/get` and `ensign/trust/set`: the workspace folders and what they ask for."""

    folders: tuple[FolderTrust, ...]


@frozen
class TrustSet(Value):
    """`ensign/trust/set`: a person trusts a folder, or takes that back.

    Attributes:
        path: one of the workspace folders.
        hashes: with `trusted`, what was shown and is trusted, by `TrustFile.path`; what is trusted already stays.
            A file that is no longer as it was shown is left out, and the answer still lists it as not trusted.
    """

    path: str
    trusted: bool
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])
