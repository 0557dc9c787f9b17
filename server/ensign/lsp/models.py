"""`ensign/model/*`: which models there are, and a key from the editor's secret store; `ensign/doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ensign.protocol import wire
from ensign.protocol.setup import ModelList, SecretSet

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer


def register(server: LanguageServer) -> None:
    """Models: list and key; and the doctor, who is asked when one does not answer."""
    server.method("ensign/model/list", ModelList, lambda app: app.api.model_list)
    server.method("ensign/doctor", wire.Empty, lambda app: app.api.doctor)
    server.method("ensign/model/key", SecretSet, lambda app: app.api.model_key)
