"""The one place in these tests that knows how an app is built: real files, a scripted model over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from ensign.app import App, build
from ensign.protocol import events, wire
from ensign.protocol.approvals import ApprovalRequest, Outcome
from ensign.protocol.tasks import TaskRecord, TaskState
from ensign.testing.http_server import RecordedRequest
from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply

MAIN = "You are Ensign"
CHILD = "You are a subagent"

E = TypeVar("E", bound=events.Event)


class Bench:
    """An app on a workspace, its events, and the model server it talks to."""

    def __init__(self, app: App, server: ModelServer, root: Path) -> None:
        self.app = app
        self.api = app.api
        self.server = server
        self.root = root
        self.session_id = ""
        self.events: list[events.Event] = []
        self.seqs: list[int] = []
        self._news = asyncio.Condition()
        self._waking: set[asyncio.Task[None]] = set()
        app.subscribe(self._read, lambda _: None)

    def _read(self, session_id: str, seq: int, event: events.Event) -> None:
        if self.session_id in ("", session_id):
            self.events.append(event)
            self.seqs.append(seq)
            waking = asyncio.ensure_future(self._wake())
            self._waking.add(waking)
            waking.add_done_callback(self._waking.discard)

    async def _wake(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def until(self, kind: type[E], fits: Callable[[E], bool] = lambda _: True, *, count: int = 1) -> E:
        """Wait for the `count`-th event of a kind that fits, past or to come."""
        found: list[E] = []

        def there() -> bool:
            found[:] = [event for event in self.events if isinstance(event, kind) and fits(event)]
            return len(found) >= count

        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(there)
        return found[count - 1]

    async def open(self, session_id: str | None = None) -> wire.SessionOpened:
        """Open a session and make it the one that is watched."""
        opened = await self.api.session_open(wire.SessionOpen(cwd=str(self.root), id=session_id))
        self.session_id = opened.session_id
        return opened

    async def say(self, text: str) -> str:
        """Start a turn; return its id."""
        return (await self.api.turn_start(wire.TurnStart(session_id=self.session_id, text=text))).turn_id

    async def turn(self, text: str) -> events.TurnEnded | events.TurnFailed:
        """Run a turn to its end."""
        turn_id = await self.say(text)
        ends = (events.TurnEnded, events.TurnFailed)

        def ended(event: Any) -> bool:
            return isinstance(event, ends) and event.turn_id == turn_id

        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(lambda: any(ended(event) for event in self.events))
        return next(event for event in self.events if ended(event))  # type: ignore[return-value]

    async def settle(self) -> None:
        """Wait until nothing runs."""
        async with asyncio.timeout(20):
            await self.api.session_settle(wire.SessionRef(session_id=self.session_id))

    async def tasks(self) -> tuple[TaskRecord, ...]:
        """Every task of the session."""
        return (await self.api.task_list(wire.TaskList(session_id=self.session_id))).tasks

    async def task_in(self, state: TaskState, *, agent: str | None = None) -> TaskRecord:
        """Wait until a task is in a state."""
        event = await self.until(
            events.TaskChanged, lambda e: e.record.state is state and (agent is None or e.record.agent == agent)
        )
        return event.record

    async def asked(self, count: int = 1) -> ApprovalRequest:
        """Wait for a question."""
        return (await self.until(events.ApprovalRequested, count=count)).request

    async def answer(self, request: ApprovalRequest, outcome: Outcome, message: str = "") -> bool:
        """Answer a question."""
        answer = wire.ApprovalAnswer(id=request.id, outcome=outcome, message=message)
        return (await self.api.approval_answer(answer)).accepted

    def main_requests(self) -> list[RecordedRequest]:
        """The main agent's requests, in order."""
        return [one for one in self.server.requests if one.json["messages"][0]["content"].startswith(MAIN)]

    def child_requests(self) -> list[RecordedRequest]:
        """The requests of definition subagents, in the order of arrival."""
        return [one for one in self.server.requests if one.json["messages"][0]["content"].startswith(CHILD)]

    def tool_results(self, number: int = -1) -> list[str]:
        """The tool results in the body of a request of the main agent, in order (Chat Completions)."""
        messages = self.main_requests()[number].json["messages"]
        return [message["content"] for message in messages if message["role"] == "tool"]


@asynccontextmanager
async def bench(
    root: Path,
    *script: Reply,
    options: Mapping[str, Any] | None = None,
    command_line: Mapping[str, Any] | None = None,
    home: Path | None = None,
    headless: bool = False,
    answers: bool = True,
    open_session: bool = True,
) -> AsyncIterator[Bench]:
    """Run an app over a workspace at `root`; its own state is beside it."""
    home = home or root.parent / f"{root.name}-home"
    home.mkdir(exist_ok=True)
    root.mkdir(exist_ok=True)
    async with ModelServer(*script) as server:
        environment = {
            "HOME": str(home),
            "ENSIGN_HOME": str(home / "ensign"),
            "PATH": "/usr/bin:/bin",
            "ENSIGN_MODEL": "openai/scripted",
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "sk-test",
        }
        app = build(
            options=options or {},
            roots=(root,),
            environment=environment,
            command_line=command_line or {},
            client_name="test",
            headless=headless,
        )
        app.attach(editor=None, answers=answers)
        built = Bench(app, server, root)
        try:
            if open_session:
                await built.open()
            yield built
        finally:
            await app.close("the test ended")


def delegate(agent: str | None, prompt: str = "look", **more: Any) -> tuple[str, dict[str, Any]]:
    """An `Agent` call."""
    arguments: dict[str, Any] = {"prompt": prompt, "description": f"{prompt} for me please", **more}
    if agent is not None:
        arguments["subagent_type"] = agent
    return ("Agent", arguments)
