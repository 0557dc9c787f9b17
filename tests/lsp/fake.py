"""A runtime that does what the text of a prompt says, so that tests of the face need no model."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ensign.protocol import events, setup, wire
from ensign.protocol.access import Mode
from ensign.protocol.approvals import ApprovalRequest, Outcome
from ensign.protocol.errors import UserError
from ensign.protocol.messages import Usage
from ensign.protocol.ports import Editor
from ensign.protocol.tasks import TaskRecord, TaskState
from ensign.protocol.trust import TrustListed, TrustSet

if TYPE_CHECKING:
    from ensign.app import App

OnEvent = Callable[[str, int, events.Event], None]


def record(task_id: str, **changes: Any) -> TaskRecord:
    """A task that runs, changed as wanted."""
    running = TaskRecord(
        id=task_id,
        short_id=task_id,
        session_id="s1",
        call_id=None,
        name=None,
        agent="Explore",
        description="find it",
        parent_agent_id=None,
        parent_task_id=None,
        agent_id=f"agent-{task_id}",
        depth=1,
        color=None,
        state=TaskState.RUNNING,
        reason="",
        background=True,
        waiting_for=None,
        waiting_since=None,
        created_at=1.0,
        started_at=1.0,
        ended_at=None,
        last_event_at=1.0,
        activity="searching",
        summary="",
        steps=0,
        tool_calls=0,
        usage=Usage(),
        report_tokens=0,
        model="offline",
        files_changed=(),
        output_file=f"/reports/{task_id}.md",
        worktree=None,
        resumable=False,
    )
    return replace(running, **changes)


def question(number: int, **changes: Any) -> ApprovalRequest:
    """An open question, changed as wanted."""
    asked = ApprovalRequest(
        id=f"q{number}",
        session_id="s1",
        agent_id=f"agent-{number}",
        task_id=f"t{number}",
        tag=f"Explore · task {number}",
        color="blue",
        tool="Bash",
        title="Run a command",
        detail=f"touch file{number}",
        reason="no rule allows it",
        parts=(),
        rules=("Bash(touch:*)",),
        outcomes=tuple(Outcome),
        diff=None,
        since=1.0,
    )
    return replace(asked, **changes)


@dataclass
class FakeDocuments:
    """Remembers what the face said."""

    said: list[tuple[Any, ...]] = field(default_factory=list)

    def opened(self, path: Path, version: int, text: str) -> None:
        self.said.append(("opened", str(path), version, text))

    def changed(self, path: Path, version: int, text: str) -> None:
        self.said.append(("changed", str(path), version, text))

    def saved(self, path: Path) -> None:
        self.said.append(("saved", str(path)))

    def closed(self, path: Path) -> None:
        self.said.append(("closed", str(path)))


class NoAgentFiles:
    """No file is an agent file."""

    own: tuple[Path, ...] = ()

    def covers(self, path: Path) -> bool:
        return False


class FakeTrusts:
    """What is listed, and what a person said to it."""

    def __init__(self) -> None:
        self.listed = TrustListed(folders=())
        self.said: list[TrustSet] = []
        self.restricted = False

    async def get(self, _: wire.Empty) -> TrustListed:
        return self.listed

    async def set(self, params: TrustSet) -> TrustListed:
        self.said.append(params)
        return self.listed


class FakeApp:
    """An `App` and its `Api` in one. `calls` holds the parameters that arrived, decoded."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.arguments = arguments
        self.api = self
        self.trust = FakeTrusts()
        self.documents = FakeDocuments()
        self.agent_files = NoAgentFiles()
        self.editor: Editor | None = None
        self.calls: list[Any] = []
        self.tasks: dict[str, TaskRecord] = {}
        self.questions: dict[str, ApprovalRequest] = {}
        self.closed: list[str] = []
        self.called = asyncio.Event()
        self._readers: list[tuple[OnEvent, Callable[[str], None]]] = []
        self._seq = itertools.count(1)

    def emit(self, event: events.Event) -> None:
        seq = next(self._seq)
        if isinstance(event, events.TaskChanged):
            self.tasks[event.record.id] = event.record
        for on_event, _ in self._readers:
            on_event("s1", seq, event)

    def restrict(self) -> None:
        self.trust.restricted = True

    def change(self, what: str) -> None:
        for _, on_changed in self._readers:
            on_changed(what)

    def ask(self, request: ApprovalRequest) -> None:
        self.questions[request.id] = request
        self.emit(events.ApprovalRequested(agent_id=request.agent_id, request=request))

    def resolve(self, approval_id: str, outcome: Outcome | None, reason: str = "") -> bool:
        asked = self.questions.pop(approval_id, None)
        if asked is not None:
            self.emit(
                events.ApprovalResolved(
                    agent_id=asked.agent_id, approval_id=approval_id, outcome=outcome, reason=reason
                )
            )
        return asked is not None

    def task(self, task_id: str, **changes: Any) -> None:
        self.emit(events.TaskChanged(agent_id=f"agent-{task_id}", task_id=task_id, record=record(task_id, **changes)))

    # ---- App ---------------------------------------------------------------------------------------------------------

    def subscribe(self, on_event: OnEvent, on_changed: Callable[[str], None]) -> Callable[[], None]:
        self._readers.append((on_event, on_changed))
        return lambda: self._readers.remove((on_event, on_changed))

    def attach(self, *, editor: Editor | None, answers: bool) -> None:
        self.editor = editor

    def settings_faults(self) -> dict[Path, Any]:
        return {}

    async def close(self, reason: str) -> None:
        self.closed.append(reason)
        sys.stderr.write(f"closed: {reason}\n")

    # ---- Api ---------------------------------------------------------------------------------------------------------

    def _note(self, params: Any) -> None:
        self.calls.append(params)
        self.called.set()

    async def session_open(self, params: wire.SessionOpen) -> wire.SessionOpened:
        self._note(params)
        info = wire.SessionInfo(session_id="s1", title="", cwd=params.cwd, created_at=1.0, last_event_at=1.0, open=True)
        snapshot = wire.Snapshot(
            info=info,
            mode=Mode.DEFAULT,
            model="offline",
            entries=(),
            partial=(),
            tasks=(),
            approvals=(),
            todos=(),
            turn_id=None,
            queued=(),
            usage=Usage(),
        )
        return wire.SessionOpened(session_id="s1", snapshot=snapshot, seq=0)

    async def session_list(self, params: wire.Empty) -> wire.SessionListed:
        self._note(params)
        return wire.SessionListed(sessions=())

    async def session_rename(self, params: wire.SessionRename) -> wire.Empty:
        raise UserError(f"no session {params.session_id!r}")

    async def session_delete(self, params: wire.SessionRef) -> wire.Empty:
        raise ZeroDivisionError("a bug with /secret/paths")

    async def session_close(self, params: wire.SessionRef) -> wire.Empty:
        return wire.Empty()

    async def session_snapshot(self, params: wire.SessionRef) -> wire.SessionOpened:
        return await self.session_open(wire.SessionOpen(cwd="/"))

    async def session_set(self, params: wire.SessionSet) -> wire.Empty:
        return wire.Empty()

    async def turn_start(self, params: wire.TurnStart) -> wire.TurnAccepted:
        """Do what the text says; the words are the cases below."""
        self._note(params)
        match params.text.split(" "):
            case ["wait"]:
                await asyncio.Event().wait()
            case ["print"]:
                print("stray words on standard output")  # noqa: T201 - that is the point
                os.write(1, b"and more of them\n")
            case ["child"]:
                stolen = subprocess.run(["cat"], stdout=None, check=True)  # noqa: ASYNC221 - reads what it inherits
                subprocess.run(["echo", "from a child"], check=True)  # noqa: ASYNC221
                assert stolen.returncode == 0
            case ["deltas", count]:
                for number in range(int(count)):
                    self.emit(events.TextDelta(agent_id="main", turn_id="1", text=f"{number} "))
            case ["slow", "thread"]:
                await asyncio.to_thread(_sit)
            case ["half", "a", "pair"]:
                return wire.TurnAccepted(turn_id="\ud83d")
            case _:
                pass
        return wire.TurnAccepted(turn_id="1")

    async def turn_cancel(self, params: wire.SessionRef) -> wire.Empty:
        return wire.Empty()

    async def agent_list(self, params: wire.AgentList) -> wire.AgentsListed:
        self._note(params)
        return wire.AgentsListed(agents=(), diagnostics=())

    async def agent_run(self, params: wire.AgentRun) -> wire.TaskStarted:
        self._note(params)
        task_id = f"t{len(self.tasks) + 1}"
        self.task(task_id, agent=params.agent)
        if params.prompt == "end at once":
            self.task(task_id, agent=params.agent, state=TaskState.FAILED, reason="at once")
        return wire.TaskStarted(task_id=task_id, session_id="s1")

    async def task_list(self, params: wire.TaskList) -> wire.TasksListed:
        return wire.TasksListed(tasks=tuple(self.tasks.values()))

    async def task_get(self, params: wire.TaskRef) -> TaskRecord:
        return self.tasks[params.id]

    async def task_stop(self, params: wire.TaskStop) -> wire.TasksStopped:
        self._note(params)
        return wire.TasksStopped(stopped=params.ids, not_found=())

    async def task_wrap_up(self, params: wire.TaskRef) -> wire.Empty:
        raise UserError("params.id: is not running")

    async def task_resume(self, params: wire.TaskSend) -> wire.Empty:
        self._note(params)
        self.task(params.id)
        return wire.Empty()

    async def task_send(self, params: wire.TaskSend) -> wire.Empty:
        self._note(params)
        return wire.Empty()

    async def task_background(self, params: wire.TaskRef) -> wire.Empty:
        return wire.Empty()

    async def task_clear(self, params: wire.SessionRef) -> wire.Empty:
        return wire.Empty()

    async def task_transcript(self, params: wire.TaskRef) -> wire.Transcript:
        return wire.Transcript(task_id=params.id, markdown="", path="")

    async def approval_list(self, params: wire.Empty) -> wire.ApprovalsListed:
        return wire.ApprovalsListed(approvals=tuple(self.questions.values()))

    async def approval_answer(self, params: wire.ApprovalAnswer) -> wire.Answered:
        self._note(params)
        return wire.Answered(accepted=self.resolve(params.id, params.outcome))

    async def view_subscribe(self, params: wire.ViewSubscribe) -> wire.Empty:
        return wire.Empty()

    async def model_list(self, params: setup.ModelList) -> wire.ModelsListed:
        return wire.ModelsListed(models=(), roles={})

    async def model_key(self, params: setup.SecretSet) -> wire.Empty:
        return wire.Empty()


def _sit() -> None:
    import time

    time.sleep(30)  # a thread that nothing can interrupt


class Builder:
    """Builds one fake runtime and keeps it for the test to look at."""

    def __init__(self) -> None:
        self.app: FakeApp | None = None
        self.questions: list[ApprovalRequest] = []
        """Open already when the client comes."""

    def __call__(
        self,
        *,
        options: Mapping[str, Any],
        roots: Sequence[Path],
        environment: Mapping[str, str],
        command_line: Mapping[str, Any],
        client_name: str,
    ) -> App:
        if "refuse" in options:
            raise UserError(str(options["refuse"]))
        if "break" in options:
            raise ZeroDivisionError
        self.app = FakeApp({"options": options, "roots": tuple(roots), "client_name": client_name})
        self.app.questions = {asked.id: asked for asked in self.questions}
        return cast("App", self.app)
