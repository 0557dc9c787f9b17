"""Code actions: "Explore this with a subagent" and "Ask a subagent…" on a selection or the symbol under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from ensign.lsp.agent_files import fixes
from ensign.lsp.guard import encode
from ensign.lsp.lifecycle import ASK, EXPLORE
from ensign.lsp.target import target_at
from ensign.lsp.uris import file_path
from ensign.protocol import wire

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer
    from ensign.lsp.standard import Standard


def register(server: LanguageServer, standard: Standard) -> None:
    """`textDocument/codeAction`."""

    async def offer(params: types.CodeActionParams) -> list[types.Command | types.CodeAction]:
        """Fixes of an agent file first, then what can be asked about the place."""
        return [*await fixes(server, params), *ask_about(params)]

    def ask_about(params: types.CodeActionParams) -> list[types.Command | types.CodeAction]:
        """Nothing between words: a light bulb everywhere is one that nobody looks at."""
        uri = params.text_document.uri
        # Ours have no kind, so a client that wants one kind only wants none of ours.
        if file_path(uri) is None or params.context.only:
            return []
        where = _range(params.range)
        target = target_at(server, uri, where, what="params.textDocument.uri")
        if not target.selection and not target.symbol:
            return []
        argument = {"uri": uri, "range": encode(where)}
        # Our extension has commands of its own behind the same words.
        explore, ask = ("ensign.explore", "ensign.ask") if server.client.ours else (EXPLORE, ASK)
        return [
            _action(server, "Explore this with a subagent", explore, argument),
            _action(server, "Ask a subagent…", ask, argument),
        ]

    standard.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionParams, offer)


def _range(where: types.Range) -> wire.Range:
    return wire.Range(
        start=wire.Position(line=where.start.line, character=where.start.character),
        end=wire.Position(line=where.end.line, character=where.end.character),
    )


def _action(
    server: LanguageServer, title: str, command: str, argument: dict[str, Any]
) -> types.Command | types.CodeAction:
    call = types.Command(title=title, command=command, arguments=[argument])
    return types.CodeAction(title=title, command=call) if server.client.takes_action_literals else call
