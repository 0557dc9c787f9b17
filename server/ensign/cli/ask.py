"""Questions in a terminal, one at a time: `ensign run --ask`."""

from __future__ import annotations

import asyncio
from typing import TextIO

from ensign.app import App
from ensign.protocol import events, wire
from ensign.protocol.approvals import ApprovalRequest, Outcome

_KEYS = {
    Outcome.ALLOW_ONCE: ("y", "allow once"),
    Outcome.ALLOW_TASK: ("t", "for this task"),
    Outcome.ALLOW_SESSION: ("s", "for this session"),
    Outcome.ALLOW_ALWAYS: ("a", "always"),
    Outcome.DENY: ("n", "deny"),
}


class Terminal:
    """Puts open questions to whoever sits at the terminal; an empty line or the end of input denies (P7)."""

    def __init__(self, app: App, source: TextIO, target: TextIO) -> None:
        self._app = app
        self._source = source
        self._target = target
        self._waiting: asyncio.Queue[ApprovalRequest] = asyncio.Queue()
        self._asking: asyncio.Task[None] | None = None

    def read(self, _session_id: str, _seq: int, event: events.Event) -> None:
        """Queue a question that was raised."""
        if isinstance(event, events.ApprovalRequested):
            self._waiting.put_nowait(event.request)
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(self._ask_all())

    async def _ask_all(self) -> None:
        while not self._waiting.empty():
            request = self._waiting.get_nowait()
            line = await asyncio.to_thread(self._ask, request)
            outcome = next((o for o in request.outcomes if _KEYS[o][0] == line.strip().lower()[:1]), Outcome.DENY)
            await self._app.api.approval_answer(wire.ApprovalAnswer(id=request.id, outcome=outcome))

    def _ask(self, request: ApprovalRequest) -> str:
        keys = ", ".join(f"{_KEYS[outcome][0]} = {_KEYS[outcome][1]}" for outcome in request.outcomes)
        rules = f"  always saves: {', '.join(request.rules)}\n" if request.rules else ""
        self._target.write(
            f"\n[{request.tag}] {request.title}\n  {request.detail}\n  {request.reason}\n{rules}  ({keys}) "
        )
        self._target.flush()
        return self._source.readline()
