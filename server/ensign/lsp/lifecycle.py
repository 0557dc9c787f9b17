"""The first and the last messages of a connection: `initialize`, `shutdown`, `exit`."""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ensign
from ensign.lsp.client import read_client
from ensign.lsp.guard import INVALID_REQUEST, RpcError, params_object
from ensign.lsp.registration import offered_at_once
from ensign.protocol.tasks import WINDOW_CLOSED

if TYPE_CHECKING:
    from ensign.lsp.client import Client
    from ensign.lsp.server import LanguageServer

EXPLORE = "ensign.server.explore"
ASK = "ensign.server.ask"
COMMANDS = (EXPLORE, ASK, *(f"ensign.server.{name}" for name in ("tasks", "stop", "resume", "send")))

CLOSED = WINDOW_CLOSED
"""What runs are told that end with their client (B10), however it left."""

_SHUTDOWN_S = 1.5
"""VS Code kills a server that has not answered `shutdown` and gone within two seconds."""


def register(server: LanguageServer) -> None:
    """`initialize`, `initialized`, `shutdown`, `exit`, and `$/setTrace`, which changes nothing here."""

    def initialize(raw: Any) -> Any:
        client = read_client(params_object(raw))
        if server.start.token is not None:
            client = _shown_token(server, client, server.start.token)
        server.initialized(client)
        return {"capabilities": _capabilities(server), "serverInfo": {"name": "ensign", "version": ensign.__version__}}

    async def shutdown(raw: Any) -> None:
        server.peer.cancel_running()
        await asyncio.wait({server.close_app(CLOSED)}, timeout=_SHUTDOWN_S)

    def begin_shutdown(raw: Any) -> Any:
        server.shut_down = True  # at once: what comes next in the stream is already refused
        return shutdown(raw)

    def end(raw: Any) -> None:
        server.stop(CLOSED, 0 if server.shut_down else 1)

    server.raw("initialize", initialize)
    server.raw("initialized", _nothing)
    server.raw("$/setTrace", _nothing)
    server.raw("shutdown", begin_shutdown)
    server.raw("exit", end)


def _nothing(raw: Any) -> None:
    """Take a notification that needs no act."""


def _shown_token(server: LanguageServer, client: Client, token: str) -> Client:
    """Return the client without its token; a connection that has not shown the right one ends with the answer.

    Raises:
        RpcError: it has not shown the right one.
    """
    shown = client.options.get("token")
    if not isinstance(shown, str) or not hmac.compare_digest(shown.encode(), token.encode()):
        server.stop("a client without the token", 1)
        raise RpcError(
            INVALID_REQUEST,
            "initializationOptions.token: must be the token that `ensign serve` wrote to standard error",
        )
    return replace(client, options={name: value for name, value in client.options.items() if name != "token"})


def _capabilities(server: LanguageServer) -> dict[str, Any]:
    """Written out: the typed ones would make an editor wait for the import of all types of the protocol.

    Positions are always UTF-16, which every client must support and our own messages use (docs/decisions/0042).
    To a client with our own commands none are advertised: their ids would clash.
    """
    incremental = 2
    commands = {} if server.client.ours else {"executeCommandProvider": {"commands": [*COMMANDS]}}
    return {
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": True, "change": incremental, "save": {"includeText": False}},
        "codeActionProvider": True,
        **offered_at_once(server.client.registers),
        **commands,
        "experimental": {"ensign": {"methods": sorted(server.methods)}},
    }
