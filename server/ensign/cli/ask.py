"""Questions in a terminal, one at a time: `ensign run --ask`."""

from __future__ import annotations

import asyncio
import difflib
from threading import Thread

from ensign.app import App
from ensign.cli.console import Console
from ensign.cli.progress import Progress
from ensign.cli.text import harmless
from ensign.protocol import events, wire
from ensign.protocol.approvals import ApprovalRequest, DiffPreview, Outcome

_KEYS = {
    Outcome.ALLOW_ONCE: ("y", "allow once"),
    Outcome.ALLOW_TASK: ("t", "for this task"),
    Outcome.ALLOW_SESSION: ("s", "for this session"),
    Outcome.ALLOW_ALWAYS: ("a", "always"),
    Outcome.DENY: ("n", "deny"),
}


class Terminal:
    """Puts open questions to whoever sits at the terminal; an empty line or the end of input denies (P7)."""

    def __init__(self, app: App, console: Console, progress: Progress) -> None:
        self._app = app
        self._console = console
        self._progress = progress
        self._waiting: asyncio.Queue[ApprovalRequest] = asyncio.Queue()
        self._asking: asyncio.Task[None] | None = None

    def read(self, _session_id: str, _seq: int, event: events.Event) -> None:
        """Queue a question that was raised."""
        if isinstance(event, events.ApprovalRequested):
            self._waiting.put_nowait(event.request)
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(self._ask_all(), name="ask")

    async def _ask_all(self) -> None:
        with self._progress.held():
            while not self._waiting.empty():
                request = self._waiting.get_nowait()
                self._console.err.write(text_of(request))
                outcome, message = answer_of(request, (await self._line()).strip())
                answer = wire.ApprovalAnswer(id=request.id, outcome=outcome, message=message)
                await self._app.api.approval_answer(answer)

    async def _line(self) -> str:
        """Read a line in a thread that the end of the process does not wait for."""
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()

        def read() -> None:
            source = self._console.source
            text = source.readline() if source is not None else ""
            loop.call_soon_threadsafe(answer, text)

        def answer(text: str) -> None:
            if not line.done():
                line.set_result(text)

        Thread(target=read, name="read a line", daemon=True).start()
        return await line


def answer_of(request: ApprovalRequest, line: str) -> tuple[Outcome, str]:
    """What a line comes to: a key, or the number of a choice or own words where there are choices."""
    if not request.choices:
        return next((one for one in request.outcomes if _KEYS[one][0] == line[:1].lower()), Outcome.DENY), ""
    if line.isdecimal() and 1 <= int(line) <= len(request.choices):
        line = request.choices[int(line) - 1].label
    return (Outcome.ALLOW_ONCE, line) if line else (Outcome.DENY, "")


def text_of(request: ApprovalRequest) -> str:
    """The whole question: who asks, what would run or change, why it is asked, and the answers there are."""
    if request.choices:
        listed = [f"  {number}. {line}" for number, line in enumerate(request.detail.split("\n"), 1)]
        head = harmless("\n".join([f"\n[{request.tag}] {request.title}", *listed]))
        return f"{head}\n  (a number, or your own words; nothing for no answer) "
    lines = [f"\n[{request.tag}] {request.title}", *_indented(request.detail)]
    if request.diff is not None:
        lines += _indented(_diff(request.diff))
    lines += [f"  because: {request.reason}"]
    if Outcome.ALLOW_ALWAYS in request.outcomes and request.rules:
        lines.append(f"  always saves: {', '.join(request.rules)}")
    keys = ", ".join(f"{_KEYS[outcome][0]} = {_KEYS[outcome][1]}" for outcome in request.outcomes)
    return harmless("\n".join(lines)) + f"\n  ({keys}) "


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.split("\n")]


def _diff(diff: DiffPreview) -> str:
    before, after = (diff.before or "").splitlines(), diff.after.splitlines()
    return "\n".join(difflib.unified_diff(before, after, "before", "after", lineterm=""))
