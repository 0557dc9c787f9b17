"""The language server of agent files: what an editor asks while one is typed, in the positions of the protocol.

To clients that can register capabilities later, these are offered for agent files alone; others send every request,
and get nothing for other files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lsprotocol import types

from ensign.lsp.text import Text
from ensign.lsp.uris import file_path
from ensign.protocol import editing

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer
    from ensign.lsp.standard import Standard

T = TypeVar("T")

_KINDS = {
    "field": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.EnumMember,
    "tool": types.CompletionItemKind.Function,
    "model": types.CompletionItemKind.Constant,
    "agent": types.CompletionItemKind.Class,
    "color": types.CompletionItemKind.Color,
}


def register(server: LanguageServer, standard: Standard) -> None:
    """Completion, hover, definition, rename, folding; fixes are among the code actions."""
    files = _Files(server)
    standard.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionParams, files.complete)
    standard.feature(types.TEXT_DOCUMENT_HOVER, types.HoverParams, files.hover)
    standard.feature(types.TEXT_DOCUMENT_DEFINITION, types.DefinitionParams, files.definition)
    standard.feature(types.TEXT_DOCUMENT_PREPARE_RENAME, types.PrepareRenameParams, files.prepare_rename)
    standard.feature(types.TEXT_DOCUMENT_RENAME, types.RenameParams, files.rename)
    standard.feature(types.TEXT_DOCUMENT_FOLDING_RANGE, types.FoldingRangeParams, files.folds)


async def fixes(server: LanguageServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Return quick fixes for an agent file, and nothing for others."""
    found = _document(server, params.text_document.uri)
    only = params.context.only
    if found is None or not server.client.takes_action_literals or (only and "quickfix" not in only):
        return []
    path, text = found
    span = editing.Span(text.offset(params.range.start), text.offset(params.range.end))
    answers = await asyncio.to_thread(server.app.agent_files.fixes, path, text.text, span)
    return [
        types.CodeAction(
            title=fix.title,
            kind=types.CodeActionKind.QuickFix,
            is_preferred=True if number == 0 else None,
            diagnostics=[one for one in params.context.diagnostics if one.code == fix.code],
            edit=_edit(server, fix.changes),
        )
        for number, fix in enumerate(answers)
    ]


def _document(server: LanguageServer, uri: str) -> tuple[Path, Text] | None:
    """The open agent file at a URI; None for other files."""
    path = file_path(uri)
    if path is None or not server.app.agent_files.covers(path):
        return None
    text = server.documents.text(path)
    return (path, text) if text is not None else None


def range_of(text: Text, span: editing.Span) -> types.Range:
    """A span in the positions of the protocol."""
    return types.Range(start=_position(text, span.start), end=_position(text, span.end))


def _position(text: Text, offset: int) -> types.Position:
    place = text.position(offset)
    return types.Position(line=place.line, character=place.character)


def _edit(server: LanguageServer, changes: Sequence[editing.Replacement]) -> types.WorkspaceEdit:
    """Versioned where the client takes that: an edit of a text that has changed meanwhile must not be applied."""
    texts = {change.place.path: Text(change.place.text) for change in changes}
    edits: dict[Path, list[types.TextEdit]] = {path: [] for path in texts}
    for change in changes:
        where = range_of(texts[change.place.path], change.place.span)
        edits[change.place.path].append(types.TextEdit(range=where, new_text=change.new))
    documents = server.documents
    if not server.client.versioned_edits:
        return types.WorkspaceEdit(changes={documents.uri(path): some for path, some in edits.items()})
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(
                text_document=types.OptionalVersionedTextDocumentIdentifier(
                    uri=documents.uri(path), version=documents.version(path)
                ),
                edits=list(some),
            )
            for path, some in edits.items()
        ]
    )


class _Files:
    """One method for each request."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server

    async def _ask(
        self, uri: str, position: types.Position, ask: Callable[[Path, str, int], T]
    ) -> tuple[Text, T] | None:
        found = _document(self._server, uri)
        if found is None:
            return None
        path, text = found
        return text, await asyncio.to_thread(ask, path, text.text, text.offset(position))

    async def complete(self, params: types.CompletionParams) -> list[types.CompletionItem] | None:
        found = await self._ask(params.text_document.uri, params.position, self._server.app.agent_files.complete)
        if found is None:
            return None
        text, suggestions = found
        return [
            types.CompletionItem(
                label=one.label,
                kind=_KINDS[one.kind],
                detail=one.detail or None,
                documentation=_markdown(one.help) if one.help else None,
                sort_text=f"{number:04}",
                filter_text=one.label,
                text_edit=types.TextEdit(range=range_of(text, one.span), new_text=one.insert),
            )
            for number, one in enumerate(suggestions)
        ]

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        found = await self._ask(params.text_document.uri, params.position, self._server.app.agent_files.hover)
        if found is None or found[1] is None:
            return None
        text, about = found[0], found[1]
        return types.Hover(contents=_markdown(about.text), range=range_of(text, about.span))

    async def definition(self, params: types.DefinitionParams) -> list[types.Location] | None:
        found = await self._ask(params.text_document.uri, params.position, self._server.app.agent_files.definitions)
        if found is None:
            return None
        uri = self._server.documents.uri
        return [types.Location(uri=uri(one.path), range=range_of(Text(one.text), one.span)) for one in found[1]]

    def prepare_rename(self, params: types.PrepareRenameParams) -> types.Range | None:
        found = _document(self._server, params.text_document.uri)
        if found is None:
            return None
        text = found[1]
        span = self._server.app.agent_files.renamable(text.text, text.offset(params.position))
        return range_of(text, span) if span is not None else None

    async def rename(self, params: types.RenameParams) -> types.WorkspaceEdit | None:
        def ask(path: Path, text: str, offset: int) -> tuple[editing.Replacement, ...]:
            return self._server.app.agent_files.rename(path, text, offset, params.new_name.strip())

        found = await self._ask(params.text_document.uri, params.position, ask)
        return _edit(self._server, found[1]) if found is not None else None

    def folds(self, params: types.FoldingRangeParams) -> list[types.FoldingRange] | None:
        found = _document(self._server, params.text_document.uri)
        if found is None:
            return None
        text = found[1]
        span = self._server.app.agent_files.folds(text.text)
        if span is None:
            return []
        last = text.position(span.end).line
        return [types.FoldingRange(start_line=0, end_line=last, kind=types.FoldingRangeKind.Region)]


def _markdown(text: str) -> types.MarkupContent:
    return types.MarkupContent(kind=types.MarkupKind.Markdown, value=text)
