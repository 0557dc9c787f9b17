"""`ensign/model/*`: which models there are, and a key from the editor's secret store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ensign.protocol import wire

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer


def register(server: LanguageServer) -> None:
    """Models: list and key."""
    server.method("ensign/model/list", wire.Empty, lambda app: app.api.model_list)
    server.method("ensign/model/key", wire.SecretSet, lambda app: app.api.model_key)
