"""`ensign/session/*`: conversations, open and stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ensign.lsp.uris import absolute
from ensign.protocol import usage, wire

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer


def register(server: LanguageServer) -> None:
    """Sessions: open, list, rename, delete, close, snapshot, set; and what they used."""
    server.method("ensign/session/open", wire.SessionOpen, lambda app: app.api.session_open, read=_with_path)
    server.method("ensign/session/list", wire.Empty, lambda app: app.api.session_list)
    server.method("ensign/session/rename", wire.SessionRename, lambda app: app.api.session_rename)
    server.method("ensign/session/delete", wire.SessionRef, lambda app: app.api.session_delete)
    server.method("ensign/session/close", wire.SessionRef, lambda app: app.api.session_close)
    server.method("ensign/session/snapshot", wire.SessionRef, lambda app: app.api.session_snapshot)
    server.method("ensign/session/set", wire.SessionSet, lambda app: app.api.session_set)
    server.method("ensign/usage/get", usage.UsageGet, lambda app: app.api.usage_get)


def _with_path(params: wire.SessionOpen) -> wire.SessionOpen:
    return replace(params, cwd=absolute(params.cwd, what="params.cwd"))
