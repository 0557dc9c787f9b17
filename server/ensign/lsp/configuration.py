"""The editor's settings as they change; what is not ours is left alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from ensign.lsp.guard import json_array, json_object

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer
    from ensign.lsp.standard import Standard

SECTION = "ensign"


def register(server: LanguageServer, standard: Standard) -> None:
    """`workspace/didChangeConfiguration`: with the settings, or as a sign that they can be asked for."""

    async def changed(params: types.DidChangeConfigurationParams) -> None:
        options = _ours(params.settings)
        if options is None and server.client.asks_settings:
            items = [{"section": SECTION}]
            answer = json_array(await server.peer.request("workspace/configuration", {"items": items}))
            options = json_object(answer[0]) if answer else None
        if options is not None:
            await server.app.configure(options)

    standard.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION, types.DidChangeConfigurationParams, changed)


def _ours(settings: Any) -> Mapping[str, Any] | None:
    """Settings below `ensign`, nested or dotted; None where none are. Other servers' may stand beside them."""
    found = json_object(settings)
    if found is None:
        return None
    if (nested := json_object(found.get(SECTION))) is not None:
        return nested
    prefix = f"{SECTION}."
    return {name.removeprefix(prefix): value for name, value in found.items() if name.startswith(prefix)} or None
