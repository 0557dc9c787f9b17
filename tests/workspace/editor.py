"""An editor as the workspace sees it: documents in memory, edits by version, saving to the disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ensign.protocol.ports import EditOutcome
from ensign.workspace.documents import Documents


@dataclass
class Buffer:
    """An open document."""

    version: int
    text: str
    dirty: bool


class FakeEditor:
    """Says to `Documents` what an LSP client would say; what it has done is in `labels` and `saves`."""

    def __init__(self, documents: Documents, *, can_save: bool = True) -> None:
        self.documents = documents
        self.can_save = can_save
        self.buffers: dict[Path, Buffer] = {}
        self.labels: list[str] = []
        self.saves: list[Path] = []
        self.formatted: str | None = None
        self.notebooks: set[Path] = set()

    def open(self, path: Path, text: str | None = None) -> None:
        """Open a file; with `text`, as after a restart that kept unsaved text."""
        on_disk = path.read_bytes().decode("utf-8-sig", "replace") if path.exists() else ""
        self.buffers[path] = Buffer(1, on_disk if text is None else text, text is not None)
        self.documents.opened(path, 1, self.buffers[path].text)

    def type(self, path: Path, text: str) -> None:
        """The person changes the text."""
        buffer = self.buffers[path]
        self.buffers[path] = Buffer(buffer.version + 1, text, dirty=True)
        self.documents.changed(path, buffer.version + 1, text)

    def save_as_person(self, path: Path) -> None:
        """The person saves."""
        path.write_bytes(self.buffers[path].text.encode())
        self.buffers[path].dirty = False
        self.documents.saved(path)

    def reload(self, path: Path) -> None:
        """What an editor does when a file changed on disk and its document has nothing unsaved."""
        buffer = self.buffers[path]
        if not buffer.dirty and (text := path.read_bytes().decode()) != buffer.text:
            self.buffers[path] = Buffer(buffer.version + 1, text, dirty=False)
            self.documents.changed(path, buffer.version + 1, text)

    async def apply(self, *, path: Path, version: int, before: str, after: str, label: str) -> EditOutcome:
        buffer = self.buffers[path]
        if buffer.version != version:
            return EditOutcome(applied=False, reason="version mismatch")
        assert buffer.text == before
        self.labels.append(label)
        self.buffers[path] = Buffer(version + 1, after, dirty=True)
        self.documents.changed(path, version + 1, after)
        return EditOutcome(applied=True)

    async def save(self, *, path: Path, version: int) -> bool:
        buffer = self.buffers[path]
        if not self.can_save or buffer.version != version:
            return False
        if self.formatted is not None:
            self.type(path, self.formatted)
        self.saves.append(path)
        self.save_as_person(path)
        return True

    async def unsaved_notebook(self, *, path: Path) -> bool:
        return path in self.notebooks

    async def show(self, *, path: Path, line: int | None = None) -> bool:
        return path in self.buffers
