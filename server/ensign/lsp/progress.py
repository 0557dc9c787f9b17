"""Progress of tasks by `window/workDoneProgress`, for clients without our panel. Cancelling it stops the task."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ensign.lsp.guard import RpcError
from ensign.protocol import wire
from ensign.protocol.events import Event, TaskChanged
from ensign.protocol.tasks import TaskRecord

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer

_CREATE_S = 10.0


class Progress:
    """Shows the running tasks."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._bars: dict[str, _Bar] = {}
        server.listeners.append(self._on_event)

    async def cancel(self, token: int | str) -> None:
        """Stop the task that a token stands for."""
        bar = next((bar for bar in self._bars.values() if bar.token == token), None)
        if bar is not None:
            await self._server.app.api.task_stop(wire.TaskStop(ids=(bar.record.id,)))

    def _on_event(self, session_id: str, seq: int, event: Event) -> None:
        client = self._server.client
        if not isinstance(event, TaskChanged) or client.ours or not client.shows_progress:
            return
        record = event.record
        bar = self._bars.get(record.id)
        if bar is not None:
            bar.take(record)
        elif not record.state.terminal:
            self._bars[record.id] = _Bar(self._server, record)
            self._server.peer.spawn(self._show(self._bars[record.id]), f"progress of {record.id}")

    async def _show(self, bar: _Bar) -> None:
        try:
            await bar.show()
        finally:
            del self._bars[bar.record.id]


class _Bar:
    """One task's progress. Only the latest record counts: a slow client sees fewer steps, never old ones."""

    def __init__(self, server: LanguageServer, record: TaskRecord) -> None:
        self.record = record
        self.token = f"ensign/task/{record.id}"
        self._server = server
        self._changed = asyncio.Event()

    def take(self, record: TaskRecord) -> None:
        self.record = record
        self._changed.set()

    async def show(self) -> None:
        try:
            await self._server.peer.request(
                "window/workDoneProgress/create", {"token": self.token}, timeout_s=_CREATE_S
            )
        except (RpcError, TimeoutError):
            return  # a client that says it has progress and has none
        self._send({"kind": "begin", "title": f"{self.record.agent}: {self.record.description}", "cancellable": True})
        said = ""
        while not self.record.state.terminal:
            message = _message(self.record)
            if message != said:
                self._send({"kind": "report", "message": message, "cancellable": True})
                said = message
            self._changed.clear()
            await self._changed.wait()
        self._send({"kind": "end", "message": self.record.state.value})

    def _send(self, value: dict[str, Any]) -> None:
        self._server.peer.notify("$/progress", {"token": self.token, "value": value})


def _message(record: TaskRecord) -> str:
    return record.waiting_for or record.activity or record.state.value
