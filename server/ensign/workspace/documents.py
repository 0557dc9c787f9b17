"""The documents open in the editor, with the text that is not on disk yet; the LSP face feeds it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen
from ensign.workspace.nofollow import read_file
from ensign.workspace.textfile import MAX_TEXT_BYTES, decode, same_text, showable


@frozen
class Document:
    """An open document.

    Attributes:
        path: as the editor spells it, which is how it wants to be addressed; may go through links.
        saved: the text last known to be on disk; None where there was no such file.
    """

    path: Path
    version: int
    text: str
    saved: str | None = None

    @property
    def dirty(self) -> bool:
        """Whether it has text that is not on disk, as far as is known without looking there."""
        return self.saved is None or not self.shows(self.saved)

    def shows(self, text: str) -> bool:
        """Whether this is what an editor makes of a file with this text."""
        return same_text(self.text, text) or same_text(self.text, showable(text))


class Documents:
    """Open documents by path. Knows which changes are ours: those that bring the text we announced.

    Every other change is told to `on_change` with the resolved path, and whether the editor only took what somebody
    wrote to the disk.
    """

    def __init__(self, on_change: Callable[[Path, bool], None] | None = None) -> None:
        self._on_change = on_change
        # Several by one real path when the editor has a file open under two names.
        self._open: dict[Path, dict[Path, Document]] = {}
        self._expected: dict[Path, tuple[str, asyncio.Event]] = {}

    def opened(self, path: Path, version: int, text: str) -> None:
        """A document was opened; it may hold unsaved text from before the editor was restarted.

        The disk is read now: later a difference could also come from a command that changed the file.
        """
        real = _real(path)
        document = Document(path=path, version=version, text=text, saved=_on_disk(real))
        self._open.setdefault(real, {})[path] = document

    def changed(self, path: Path, version: int, text: str) -> None:
        """A document got a new text, by a person or by our own edit."""
        real = _real(path)
        documents = self._open.setdefault(real, {})
        before = documents.pop(path, None)
        document = Document(path=path, version=version, text=text, saved=before.saved if before else None)
        expected = self._expected.get(real)
        ours = expected is not None and same_text(text, expected[0])
        # An editor reloads a file that changed on disk, where nothing is unsaved. Asked at once: what is on disk now
        # may be another text by the next look.
        reloaded = False
        if not ours and before is not None and not before.dirty:
            on_disk = _on_disk(real)
            if reloaded := on_disk is not None and document.shows(on_disk):
                document = replace(document, saved=on_disk)
        # Put last: the latest change wins where one file is open twice.
        documents[path] = document
        if ours and expected is not None:
            expected[1].set()
        elif self._on_change is not None:
            self._on_change(real, reloaded)

    def saved(self, path: Path) -> None:
        """A document's text is on disk now."""
        real = _real(path)
        if (document := self._open.get(real, {}).get(path)) is not None:
            self._open[real][path] = replace(document, saved=document.text)

    def closed(self, path: Path) -> None:
        """A document was closed; unsaved text is gone, which is a change by the person."""
        real = _real(path)
        documents = self._open.get(real, {})
        document = documents.pop(path, None)
        if not documents:
            self._open.pop(real, None)
        if document is not None and document.dirty and self._on_change is not None:
            self._on_change(real, False)

    def clear(self) -> None:
        """Forget everything: the editor is gone."""
        self._open.clear()

    def get(self, path: Path) -> Document | None:
        """Return the document of a resolved path: one with unsaved text before others, then the latest."""
        documents = self._open.get(path)
        if not documents:
            return None
        latest = list(reversed(documents.values()))
        return next((document for document in latest if document.dirty), latest[0])

    def dirty(self) -> dict[Path, Document]:
        """Return what holds unsaved text, by resolved path."""
        found = {path: self.get(path) for path in self._open}
        return {path: document for path, document in found.items() if document is not None and document.dirty}

    def on_disk(self, path: Path, document: Document) -> Document:
        """Note that the disk was seen to hold this document's text."""
        settled = replace(document, saved=document.text)
        self._open[path][document.path] = settled
        return settled

    def expect(self, path: Path, text: str) -> asyncio.Event:
        """Announce that our edit will bring this text; the event is set when it came. End with `expect_no_more`."""
        arrived = asyncio.Event()
        self._expected[path] = (text, arrived)
        return arrived

    def expect_no_more(self, path: Path) -> None:
        """Take changes of this path for a person's again."""
        self._expected.pop(path, None)


def _on_disk(path: Path) -> str | None:
    try:
        return decode(read_file(path, MAX_TEXT_BYTES))[0]
    except (ToolError, FileNotFoundError):
        return None


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
