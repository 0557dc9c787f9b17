"""Questions to people: `ensign/approval/*` for clients that draw them, `window/showMessageRequest` for all others.

A message that is closed without an answer is a denial, and so is an answer that was not offered (docs/decisions/0040).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ensign.lsp.guard import RpcError, member
from ensign.lsp.rpc import ClientGoneError
from ensign.protocol import wire
from ensign.protocol.approvals import ApprovalRequest, Outcome
from ensign.protocol.events import ApprovalRequested, ApprovalResolved, Event

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer

_WARNING = 2  # MessageType of the protocol

_TITLES = {
    Outcome.ALLOW_ONCE: "Allow once",
    Outcome.ALLOW_TASK: "Allow for this task",
    Outcome.ALLOW_SESSION: "Allow for this session",
    Outcome.DENY: "Deny",
}


def register(server: LanguageServer) -> None:
    """Approvals: list and answer; and the questions themselves, to a client that does not draw them."""
    server.method("ensign/approval/list", wire.Empty, lambda app: app.api.approval_list)
    server.method("ensign/approval/answer", wire.ApprovalAnswer, lambda app: app.api.approval_answer)
    questions = _Questions(server)
    server.listeners.append(questions.on_event)
    server.on_ready.append(questions.start)


class _Questions:
    """Asks one question at a time, oldest first. A question that is closed elsewhere is taken back."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._open: dict[str, ApprovalRequest] = {}
        self._more = asyncio.Event()
        self._asking: tuple[str, asyncio.Task[Any]] | None = None

    def start(self) -> None:
        if not self._server.client.draws_approvals:
            self._server.peer.spawn(self._ask_all(), "asking for approvals")

    def on_event(self, session_id: str, seq: int, event: Event) -> None:
        if isinstance(event, ApprovalRequested):
            self._open[event.request.id] = event.request
            self._more.set()
        elif isinstance(event, ApprovalResolved):
            self._open.pop(event.approval_id, None)
            if self._asking is not None and self._asking[0] == event.approval_id:
                self._asking[1].cancel()

    async def _ask_all(self) -> None:
        api = self._server.app.api
        waiting = (await api.approval_list(wire.Empty())).approvals
        # Asked before this client came; what came meanwhile by event is newer.
        self._open = {request.id: request for request in waiting} | self._open
        while True:
            while self._open:
                request = next(iter(self._open.values()))
                outcome, message = await self._ask(request)
                if self._open.pop(request.id, None) is not None:
                    await api.approval_answer(wire.ApprovalAnswer(id=request.id, outcome=outcome, message=message))
            self._more.clear()
            await self._more.wait()

    async def _ask(self, request: ApprovalRequest) -> tuple[Outcome, str]:
        titles = _titles(request)
        params = {
            "type": _WARNING,
            "message": _message(request),
            "actions": [{"title": title} for title in titles],
        }
        asking = asyncio.create_task(self._server.peer.request("window/showMessageRequest", params))
        self._asking = (request.id, asking)
        try:
            await asyncio.wait({asking})
        finally:
            self._asking = None
            asking.cancel()
        if asking.cancelled():
            return Outcome.DENY, "the question was closed elsewhere"
        return _outcome(asking, titles)


def _outcome(asking: asyncio.Task[Any], titles: dict[str, tuple[Outcome, str]]) -> tuple[Outcome, str]:
    error = asking.exception()
    if isinstance(error, ClientGoneError):
        raise error  # no answer: the question stays open for the next client (B10)
    if isinstance(error, RpcError):
        return Outcome.DENY, f"this editor cannot ask: {error}"
    answer = asking.result()
    if answer is None:
        return Outcome.DENY, "the question was dismissed"
    title = member(answer, "title")
    chosen = titles.get(title) if isinstance(title, str) else None
    return chosen or (Outcome.DENY, "the editor's answer was none of those offered")


def _titles(request: ApprovalRequest) -> dict[str, tuple[Outcome, str]]:
    """The answers that are offered, with what each comes to."""
    if request.choices:
        return {choice.label: (Outcome.ALLOW_ONCE, choice.label) for choice in request.choices}
    return {_title(outcome, request): (outcome, "") for outcome in request.outcomes}


def _title(outcome: Outcome, request: ApprovalRequest) -> str:
    """Name an answer; "always" shows the rules that it would save."""
    return _TITLES.get(outcome) or f"Always allow {', '.join(request.rules)}"


def _message(request: ApprovalRequest) -> str:
    """Everything that will run or change, whole (P12)."""
    title = f"[{request.tag}] {request.title}" if request.tag else request.title
    return "\n".join(part for part in (title, request.detail, request.reason) if part)
