"""What files held before an agent first changed them, kept on disk so that its changes can be shown and undone."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ensign.protocol.value import frozen

MAX_KEPT_BYTES = 64 << 20
"""How much is kept of one agent; what it changes beyond that cannot be undone, and says so."""
_RECORD = "changes.jsonl"


@frozen
class Changed:
    """A file that an agent changed.

    Attributes:
        before: the bytes it held, None where there was no such file.
        kept: False when `before` is lost, because it was too much to keep.
        made: the versions that this agent gave it or meant to, the oldest first.
    """

    path: Path
    before: bytes | None
    kept: bool
    made: tuple[bytes, ...]


@dataclass(slots=True)
class _Entry:
    name: str | None
    kept: bool
    made: list[bytes] = field(default_factory=list[bytes])


class History:
    """The files of one agent. Methods block; they are to be called in a thread, one at a time.

    Every line of the record is written before the change it tells of, so that no crash leaves a change without its
    state before; a change that was then not made is one whose version is never found.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries: dict[Path, _Entry] | None = None
        self._bytes = 0

    def intend(self, path: Path, before: bytes | None, version: bytes) -> None:
        """Keep what `path` holds, unless that was done before, and note that it is about to get this version.

        Raises:
            OSError: it cannot be kept.
        """
        entries = self._read()
        first = path not in entries
        if first:
            kept = before is None or self._bytes + len(before) <= MAX_KEPT_BYTES
            name = None if before is None or not kept else f"{len(entries)}.bin"
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if name is not None and before is not None:
                self._write(self._folder / name, before, os.O_TRUNC)
                self._bytes += len(before)
            entries[path] = _Entry(name, kept)
        entry = entries[path]
        if version in entry.made:
            return
        entry.made.append(version)
        line: dict[str, Any] = {"path": str(path), "version": version.hex()}
        if first:
            line |= {"before": entry.name, "kept": entry.kept}
        self._write(self._folder / _RECORD, json.dumps(line).encode() + b"\n", os.O_APPEND)

    def changes(self) -> list[Changed]:
        """Return every file that was changed, the first first."""
        found: list[Changed] = []
        for path, entry in self._read().items():
            before, kept = None, entry.kept
            if entry.name is not None:
                try:
                    before = (self._folder / entry.name).read_bytes()
                except OSError:
                    kept = False
            found.append(Changed(path=path, before=before, kept=kept, made=tuple(entry.made)))
        return found

    def _read(self) -> dict[Path, _Entry]:
        if self._entries is not None:
            return self._entries
        entries: dict[Path, _Entry] = {}
        try:
            lines = (self._folder / _RECORD).read_bytes().split(b"\n")[:-1]
        except OSError:
            lines = []
        for line in lines:
            said = json.loads(line)
            entry = entries.setdefault(Path(said["path"]), _Entry(said.get("before"), said.get("kept", False)))
            entry.made.append(bytes.fromhex(said["version"]))
        names = [entry.name for entry in entries.values() if entry.name is not None]
        self._bytes = sum((self._folder / name).stat().st_size for name in names if (self._folder / name).exists())
        self._entries = entries
        return entries

    def _write(self, path: Path, data: bytes, how: int) -> None:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | how | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
