"""The reports of tasks that a command of this client started: shown when the task has ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ensign.lsp.editor import LspEditor
from ensign.lsp.guard import encode
from ensign.lsp.target import Target
from ensign.protocol import wire
from ensign.protocol.events import Event, TaskChanged
from ensign.protocol.tasks import TaskRecord, TaskState

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer

_WARNING, _INFO = 2, 3  # MessageType of the protocol


class Reports:
    """Shows the report of each task that a command of this client started."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._started: set[str] = set()
        server.listeners.append(self._on_event)

    async def run(self, agent: str, prompt: str, target: Target | None) -> Any:
        """Start an agent and return the answer to the command that asks for it."""
        started = await self._server.app.api.agent_run(
            wire.AgentRun(
                agent=agent,
                prompt=prompt,
                uri=str(target.path) if target else None,
                range=target.range if target else None,
            )
        )
        await self._follow(started.task_id)
        return encode(started)

    async def resume(self, params: wire.TaskSend) -> Any:
        """Go on with a task and return the answer to the command that asks for it."""
        api = self._server.app.api
        await api.task_resume(params)
        record = await api.task_get(wire.TaskRef(id=params.id))
        await self._follow(record.id)
        return encode(wire.TaskStarted(task_id=record.id, session_id=record.session_id))

    async def _follow(self, task_id: str) -> None:
        self._started.add(task_id)
        # It may have ended before we knew its id.
        self._look(await self._server.app.api.task_get(wire.TaskRef(id=task_id)))

    def _on_event(self, session_id: str, seq: int, event: Event) -> None:
        if isinstance(event, TaskChanged):
            self._look(event.record)

    def _look(self, record: TaskRecord) -> None:
        if record.state.terminal and record.id in self._started:
            self._started.discard(record.id)
            self._server.peer.spawn(self._show(record), f"showing the report of {record.id}")

    async def _show(self, record: TaskRecord) -> None:
        has_report = record.envelope is not None and record.envelope.report != ""
        if has_report and await LspEditor(self._server).show(path=Path(record.output_file)):
            return
        good = record.state is TaskState.COMPLETED
        kind = _INFO if good else _WARNING
        why = f" ({record.reason})" if record.reason else ""
        where = f"; its report is in {record.output_file}" if has_report else ""
        message = f"{record.agent}: {record.description}: {record.state.value}{why}{where}"
        self._server.peer.notify("window/showMessage", {"type": kind, "message": message})
