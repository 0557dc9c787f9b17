"""Open documents: kept exact through incremental changes, handed on as whole texts."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lsprotocol import types

from ensign.lsp.text import Text
from ensign.lsp.uris import file_path

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer
    from ensign.lsp.standard import Standard

log = logging.getLogger(__name__)


def register(server: LanguageServer, standard: Standard) -> None:
    """`textDocument/didOpen|didChange|didSave|didClose`."""
    sync = _Sync(server)
    standard.feature(types.TEXT_DOCUMENT_DID_OPEN, types.DidOpenTextDocumentParams, sync.opened)
    standard.feature(types.TEXT_DOCUMENT_DID_CHANGE, types.DidChangeTextDocumentParams, sync.changed)
    standard.feature(types.TEXT_DOCUMENT_DID_SAVE, types.DidSaveTextDocumentParams, sync.saved)
    standard.feature(types.TEXT_DOCUMENT_DID_CLOSE, types.DidCloseTextDocumentParams, sync.closed)


class _Sync:
    """Keeps the texts, and tells the runtime. Documents that are no files (`untitled:`, `git:`) are not for agents."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._open = server.documents

    def opened(self, params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        if (path := file_path(document.uri)) is not None:
            self._open.put(path, document.uri, document.version, Text(document.text))
            self._server.app.documents.opened(path, document.version, document.text)
            self._server.diagnostics.changed(path)

    def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        path = file_path(document.uri)
        if path is None:
            return
        text = self._open.text(path)
        for change in params.content_changes:
            if isinstance(change, types.TextDocumentContentChangeWholeDocument):
                text = Text(change.text)
            elif text is not None:
                text = text.replaced(change.range.start, change.range.end, change.text)
        if text is None:
            log.warning("a change of %s, whose text is not known", path)
            return
        self._open.put(path, document.uri, document.version, text)
        self._server.app.documents.changed(path, document.version, text.text)
        self._server.diagnostics.changed(path)

    def saved(self, params: types.DidSaveTextDocumentParams) -> None:
        if (path := file_path(params.text_document.uri)) is not None:
            self._server.app.documents.saved(path)

    def closed(self, params: types.DidCloseTextDocumentParams) -> None:
        if (path := file_path(params.text_document.uri)) is not None:
            self._open.drop(path)
            self._server.app.documents.closed(path)
            self._server.diagnostics.closed(path)
