"""`ensign/task/*` and `ensign/view/subscribe`: subagents seen, read and stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ensign.protocol import wire

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer


def register(server: LanguageServer) -> None:
    """Tasks: list, get, transcript, stop, and which of them a client looks at."""
    server.method("ensign/task/list", wire.TaskList, lambda api: api.task_list)
    server.method("ensign/task/get", wire.TaskRef, lambda api: api.task_get)
    server.method("ensign/task/transcript", wire.TaskRef, lambda api: api.task_transcript)
    server.method("ensign/task/stop", wire.TaskStop, lambda api: api.task_stop)
    server.method("ensign/view/subscribe", wire.ViewSubscribe, lambda api: api.view_subscribe)
