"""The editor as the runtime sees it (`protocol/ports.py`): edits of open documents, saving, showing a file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ensign.lsp.guard import RpcError, encode_standard, member
from ensign.lsp.rpc import ClientGoneError
from ensign.lsp.text import minimal_edits
from ensign.protocol.ports import EditOutcome
from ensign.protocol.wire import Range

if TYPE_CHECKING:
    from lsprotocol import types

    from ensign.lsp.server import LanguageServer

log = logging.getLogger(__name__)

_ANSWER_S = 30.0
"""An editor applies, saves and shows without asking anybody; one that takes longer than this hangs."""

_ANNOTATION = "ensign"


class LspEditor:
    """Implements `ensign.protocol.ports.Editor` by requests to the client."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server

    async def apply(self, *, path: Path, version: int, before: str, after: str, label: str) -> EditOutcome:
        """Send one `workspace/applyEdit`, which editors make one undo step.

        The client checks the version once more where it can: the person may type while the edit is under way.
        """
        server = self._server
        known = server.documents.version(path)
        text = server.documents.text(path)
        if known != version or text is None or text.text != before:
            return EditOutcome(applied=False, reason=f"{str(path)!r} was changed in the editor; read it again")
        edit = self._workspace_edit(path, version, minimal_edits(before, after), label)
        try:
            result = await server.peer.request(
                "workspace/applyEdit", {"label": label, "edit": encode_standard(edit)}, timeout_s=_ANSWER_S
            )
        except RpcError as error:
            return EditOutcome(applied=False, reason=f"the editor refused the edit: {error}")
        except TimeoutError:
            return EditOutcome(applied=False, reason="the editor did not answer; read the file again before editing it")
        except ClientGoneError:
            return EditOutcome(applied=False, reason="the editor is gone")
        if member(result, "applied") is True:
            return EditOutcome(applied=True)
        reason = member(result, "failureReason")
        if not reason and server.documents.version(path) != version:
            reason = f"{str(path)!r} was changed in the editor; read it again"
        return EditOutcome(
            applied=False, reason=str(reason or "the editor did not apply the edit; read the file again")
        )

    def _workspace_edit(
        self, path: Path, version: int, edits: list[tuple[Range, str]], label: str
    ) -> types.WorkspaceEdit:
        from lsprotocol import types

        client, uri = self._server.client, self._server.documents.uri(path)
        ranged = [(_range(where), new) for where, new in edits]
        if not client.versioned_edits:
            return types.WorkspaceEdit(changes={uri: [types.TextEdit(range=at, new_text=new) for at, new in ranged]})
        annotated = client.annotated_edits
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(
                    text_document=types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version),
                    edits=[
                        types.AnnotatedTextEdit(range=at, new_text=new, annotation_id=_ANNOTATION)
                        if annotated
                        else types.TextEdit(range=at, new_text=new)
                        for at, new in ranged
                    ],
                )
            ],
            change_annotations={_ANNOTATION: types.ChangeAnnotation(label=label)} if annotated else None,
        )

    async def save(self, *, path: Path, version: int) -> bool:
        """Ask for `ensign/document/save`, which is no standard request: only our own clients know it."""
        if not self._server.client.ours:
            return False
        params = {"uri": self._server.documents.uri(path), "version": version}
        result = await self._ask("ensign/document/save", params)
        return member(result, "saved") is True

    async def unsaved_notebook(self, *, path: Path) -> bool:
        """Ask for `ensign/notebook/unsaved`: notebooks are no text documents, so nobody tells us of their changes."""
        if not self._server.client.ours:
            return False
        result = await self._ask("ensign/notebook/unsaved", {"uri": self._server.documents.uri(path)})
        return member(result, "unsaved") is True

    async def show(self, *, path: Path, line: int | None = None) -> bool:
        """Ask for `window/showDocument`, beside what the person is doing; `line` counts from 1."""
        if not self._server.client.shows_documents:
            return False
        params: dict[str, Any] = {"uri": self._server.documents.uri(path), "takeFocus": False}
        if line is not None:
            start = {"line": max(line, 1) - 1, "character": 0}
            params["selection"] = {"start": start, "end": start}
        result = await self._ask("window/showDocument", params)
        return member(result, "success") is True

    async def _ask(self, method: str, params: dict[str, Any]) -> Any:
        """Return the client's answer, or None for a client that cannot or did not."""
        try:
            return await self._server.peer.request(method, params, timeout_s=_ANSWER_S)
        except (RpcError, TimeoutError, ClientGoneError) as error:
            log.info("%s was not done: %s", method, error)
            return None


def _range(where: Range) -> types.Range:
    from lsprotocol import types

    return types.Range(
        start=types.Position(line=where.start.line, character=where.start.character),
        end=types.Position(line=where.end.line, character=where.end.character),
    )
