"""`ensign/turn/*`: prompts to the main agent of a session."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ensign.lsp.uris import absolute
from ensign.protocol import wire

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer


def register(server: LanguageServer) -> None:
    """Turns: start (answered at once, queued while one runs) and cancel."""
    server.method("ensign/turn/start", wire.TurnStart, lambda app: app.api.turn_start, read=_with_paths)
    server.method("ensign/turn/cancel", wire.SessionRef, lambda app: app.api.turn_cancel)


def _with_paths(params: wire.TurnStart) -> wire.TurnStart:
    context = tuple(
        replace(item, uri=absolute(item.uri, what=f"params.context.{index}.uri"))
        for index, item in enumerate(params.context)
    )
    return replace(params, context=context)
