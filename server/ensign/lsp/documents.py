"""The documents that are open in the client: their text, and the URI and version it knows them by."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from ensign.lsp.text import Text
from ensign.lsp.uris import file_path, file_uri

log = logging.getLogger(__name__)

_URI = re.compile(rb'"uri"\s*:\s*"((?:[^"\\]|\\.)*)"')


class OpenDocuments:
    """The client's documents by path, with the URI and version it knows them by."""

    def __init__(self) -> None:
        self._texts: dict[Path, Text] = {}
        self._known: dict[Path, tuple[str, int]] = {}

    def put(self, path: Path, uri: str, version: int, text: Text) -> None:
        """Take a document's new state."""
        self._texts[path] = text
        self._known[path] = (uri, version)

    def drop(self, path: Path) -> None:
        """Forget a closed document."""
        self._texts.pop(path, None)
        self._known.pop(path, None)

    def lost(self, head: bytes) -> None:
        """Forget the text of a document whose change was too large to read; edits of it are refused from now on."""
        found = _URI.search(head)
        path = file_path(found[1].decode(errors="replace")) if found else None
        if path is not None and self._texts.pop(path, None) is not None:
            log.warning("the text of %s is not known any more: its change was too large", path)

    def text(self, path: Path) -> Text | None:
        """Return an open document's text."""
        return self._texts.get(path)

    def paths(self) -> tuple[Path, ...]:
        """The open documents."""
        return tuple(self._texts)

    def uri(self, path: Path) -> str:
        """Return the URI the client uses for a path."""
        known = self._known.get(path)
        return known[0] if known else file_uri(path)

    def version(self, path: Path) -> int | None:
        """Return an open document's version; None when it is closed or its text was lost."""
        known = self._known.get(path)
        return known[1] if known and path in self._texts else None
