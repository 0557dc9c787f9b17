"""Open questions to people: state of the session, answered once, never by silence (P5, P7, P11)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from ensign.protocol import events
from ensign.protocol.approvals import Answer, ApprovalRequest
from ensign.protocol.errors import DeniedError


@dataclass(slots=True)
class _Open:
    request: ApprovalRequest
    who: events.Who
    answer: asyncio.Future[Answer]


class Approvals:
    """The questions of one session.

    A question is open from `approval_requested` to `approval_resolved`; the first answer wins. `channel` says whether
    anybody could answer at all; without it a question is a denial at once. A client that goes away later leaves its
    questions open for the next one, up to the time limit. While `leaving`, what is taken back is not resolved either:
    the transcript has it as asked and not answered, for the next process to ask again (B10).
    """

    __slots__ = ("_emit", "_open", "_timeout_s", "channel", "leaving")

    def __init__(self, emit: Callable[[events.Event], None], timeout_s: Callable[[], float]) -> None:
        self._emit = emit
        self._open: dict[str, _Open] = {}
        self._timeout_s = timeout_s
        self.channel = False
        self.leaving = False

    def open(self) -> tuple[ApprovalRequest, ...]:
        """Every open question, oldest first."""
        return tuple(entry.request for entry in self._open.values())

    async def ask(self, who: events.Who, request: ApprovalRequest) -> Answer:
        """Put a question and wait for a person's answer.

        Raises:
            DeniedError: nobody can be asked, or nobody answered in time.
        """
        if not self.channel:
            raise DeniedError(
                f"not allowed: {request.reason}, and nobody is there to be asked. Go on without it",
                by="no client",
                target=request.detail,
            )
        entry = _Open(request=request, who=who, answer=asyncio.get_running_loop().create_future())
        self._open[request.id] = entry
        self._emit(events.ApprovalRequested(**who, request=request))
        outcome, reason = None, "the agent that asked was stopped"
        try:
            async with asyncio.timeout(self._timeout_s()):
                answer = await entry.answer
            outcome, reason = answer.outcome, answer.message or "answered"
        except TimeoutError as error:
            reason = f"nobody answered within {self._timeout_s():g} seconds"
            raise DeniedError(
                f"not allowed: {reason}. Go on without it", by="timeout", target=request.detail
            ) from error
        else:
            return answer
        finally:
            del self._open[request.id]
            if outcome is not None or not self.leaving:
                self._emit(events.ApprovalResolved(**who, approval_id=request.id, outcome=outcome, reason=reason))

    def answer(self, approval_id: str, answer: Answer) -> bool:
        """Take a person's answer; False, and without effect, when the question is not open or does not offer it."""
        entry = self._open.get(approval_id)
        if entry is None or entry.answer.done() or answer.outcome not in entry.request.outcomes:
            return False
        if entry.request.choices and answer.outcome.allows and not answer.message.strip():
            return False
        entry.answer.set_result(answer)
        return True
