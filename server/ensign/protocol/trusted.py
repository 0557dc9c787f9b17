"""What a person has trusted of a workspace folder (P9): asked with the very bytes that are about to be believed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from ensign.protocol.value import frozen


def content_hash(data: bytes) -> str:
    """What a file's content is remembered by."""
    # Imported here: most starts have nothing to hash.
    import hashlib

    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def encodable(path: str) -> str:
    """A path as text that JSON can hold, also where its bytes are no UTF-8."""
    return path.encode(errors="backslashreplace").decode()


@frozen
class Trusted:
    """What a person has trusted of one workspace folder: each file by its name and the hash of its content.

    Attributes:
        given: whether the person has trusted this folder at all; before that, links out of it are not followed.
        hashes: by name, which is the path from the folder with slashes.
    """

    root: Path
    given: bool = False
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])

    def name(self, path: Path) -> str:
        """The name of a file of this folder, as spelled; one above it begins with `..`."""
        return encodable(Path(os.path.relpath(path, self.root)).as_posix())

    def allows(self, path: Path, data: bytes) -> bool:
        """Whether a file counts as trusted: this file, with this very content."""
        return self.given and self.allows_hash(path, content_hash(data))

    def allows_hash(self, path: Path, digest: str) -> bool:
        """The same, for content that was read before."""
        return self.given and self.hashes.get(self.name(path)) == digest
