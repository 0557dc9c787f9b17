"""`ensign/task/*` and `ensign/view/subscribe`: subagents seen, read, steered and stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ensign.protocol import undo, wire

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer


def register(server: LanguageServer) -> None:
    """Tasks: what they are, the ways to act on them, and which of them a client looks at."""
    server.method("ensign/task/list", wire.TaskList, lambda app: app.api.task_list)
    server.method("ensign/task/get", wire.TaskRef, lambda app: app.api.task_get)
    server.method("ensign/task/transcript", wire.TaskRef, lambda app: app.api.task_transcript)
    server.method("ensign/task/stop", wire.TaskStop, lambda app: app.api.task_stop)
    server.method("ensign/task/wrapUp", wire.TaskRef, lambda app: app.api.task_wrap_up)
    server.method("ensign/task/resume", wire.TaskSend, lambda app: app.api.task_resume)
    server.method("ensign/task/send", wire.TaskSend, lambda app: app.api.task_send)
    server.method("ensign/task/background", wire.TaskRef, lambda app: app.api.task_background)
    server.method("ensign/task/undo", wire.TaskRef, lambda app: app.api.task_undo)
    server.method("ensign/task/before", undo.TaskBefore, lambda app: app.api.task_before)
    server.method("ensign/task/clear", wire.SessionRef, lambda app: app.api.task_clear)
    server.method("ensign/worktree/merge", wire.TaskRef, lambda app: app.api.worktree_merge)
    server.method("ensign/worktree/discard", wire.TaskRef, lambda app: app.api.worktree_discard)
    server.method("ensign/view/subscribe", wire.ViewSubscribe, lambda app: app.api.view_subscribe)
