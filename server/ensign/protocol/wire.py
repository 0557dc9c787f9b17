"""JSON-RPC parameters and results (`contract.md`), decoded strictly at the border and generated into TypeScript.

Each class is the shape of one message; field names are snake_case here and camelCase on the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ensign.protocol.access import Decision, Mode
from ensign.protocol.approvals import ApprovalRequest, Outcome
from ensign.protocol.definition import Severity
from ensign.protocol.events import Event, Todo
from ensign.protocol.messages import Message, Usage
from ensign.protocol.tasks import TaskRecord
from ensign.protocol.value import Value, frozen


@frozen
class Position(Value):
    """Zero-based line and UTF-16 character, as in LSP."""

    line: int
    character: int


@frozen
class Range(Value):
    """Half-open, as in LSP."""

    start: Position
    end: Position


@frozen
class ContextItem(Value):
    """Something the person attached to a prompt."""

    uri: str
    range: Range | None = None
    text: str | None = None


@frozen
class SessionOpen(Value):
    """`ensign/session/open`: a new session in `cwd`, or the stored one with `id`."""

    cwd: str
    id: str | None = None


@frozen
class SessionRef(Value):
    """Names a session."""

    session_id: str


@frozen
class SessionRename(Value):
    """`ensign/session/rename`."""

    session_id: str
    title: str


@frozen
class SessionSet(Value):
    """`ensign/session/set`: what is left out stays."""

    session_id: str
    mode: Mode | None = None
    model: str | None = None


@frozen
class TurnStart(Value):
    """`ensign/turn/start`: queued while a turn runs."""

    session_id: str
    text: str
    context: tuple[ContextItem, ...] = ()


@frozen
class AgentList(Value):
    """`ensign/agent/list`; `cwd` defaults to the first workspace folder."""

    cwd: str | None = None


@frozen
class AgentRun(Value):
    """`ensign/agent/run`: a person starts a subagent (N4)."""

    agent: str
    prompt: str
    session_id: str | None = None
    uri: str | None = None
    range: Range | None = None


@frozen
class TaskList(Value):
    """`ensign/task/list`; without `session_id`, every open session's."""

    session_id: str | None = None


@frozen
class TaskRef(Value):
    """Names a task by id or short id."""

    id: str


@frozen
class TaskStop(Value):
    """`ensign/task/stop`."""

    ids: tuple[str, ...]


@frozen
class TaskSend(Value):
    """`ensign/task/send` and `ensign/task/resume`; the message may be left out when resuming."""

    id: str
    message: str | None = None


@frozen
class ApprovalAnswer(Value):
    """`ensign/approval/answer`."""

    id: str
    outcome: Outcome
    message: str = ""


@frozen
class ViewSubscribe(Value):
    """`ensign/view/subscribe`: the tasks a client looks at now (X4)."""

    task_ids: tuple[str, ...]


@frozen
class Empty(Value):
    """No parameters, or a bare acknowledgement."""


@frozen
class PartialStep(Value):
    """What the running step has said so far, for a client that joins in the middle."""

    agent_id: str
    text: str
    thinking: str


@frozen
class SessionInfo(Value):
    """One row of `ensign/session/list`. Times are Unix seconds."""

    session_id: str
    title: str
    cwd: str
    created_at: float
    last_event_at: float
    open: bool


@frozen
class ChatEntry(Value):
    """One entry of the main agent's chat, in order: a message, or an event worth showing."""

    message: Message | None = None
    event: Event | None = None


@frozen
class Snapshot(Value):
    """The state of a session at `seq`; a client that has it goes on from the next event."""

    info: SessionInfo
    mode: Mode
    model: str
    entries: tuple[ChatEntry, ...]
    partial: tuple[PartialStep, ...]
    tasks: tuple[TaskRecord, ...]
    approvals: tuple[ApprovalRequest, ...]
    todos: tuple[Todo, ...]
    turn_id: str | None
    queued: tuple[str, ...]
    usage: Usage


@frozen
class SessionOpened(Value):
    """Answer to `ensign/session/open` and `ensign/session/snapshot`."""

    session_id: str
    snapshot: Snapshot
    seq: int


@frozen
class SessionListed(Value):
    """Answer to `ensign/session/list`, newest first."""

    sessions: tuple[SessionInfo, ...]


@frozen
class TurnAccepted(Value):
    """Answer to `ensign/turn/start`."""

    turn_id: str


@frozen
class AgentInfo(Value):
    """A definition as the Agents view and `ensign agents --json` show it.

    `tools` None means all that a subagent may use; `shadows` and `shadowed_by` hold paths or source names.
    """

    name: str
    description: str
    source: str
    path: str | None
    tools: tuple[str, ...] | None
    disallowed_tools: tuple[str, ...]
    model: str | None
    color: str | None
    background: bool
    permission_mode: str | None
    max_turns: int | None
    shadows: tuple[str, ...]
    shadowed_by: str | None
    unserved: tuple[str, ...]
    trusted: bool


@frozen
class DiagnosticInfo(Value):
    """A fault in an agent file; line and column count from 1."""

    path: str
    line: int
    column: int
    severity: Severity
    code: str
    message: str


@frozen
class AgentsListed(Value):
    """Answer to `ensign/agent/list`."""

    agents: tuple[AgentInfo, ...]
    diagnostics: tuple[DiagnosticInfo, ...]


@frozen
class TaskStarted(Value):
    """Answer to `ensign/agent/run` and to every `executeCommand` that starts one."""

    task_id: str
    session_id: str


@frozen
class TasksListed(Value):
    """Answer to `ensign/task/list`, oldest first."""

    tasks: tuple[TaskRecord, ...]


@frozen
class TasksStopped(Value):
    """Answer to `ensign/task/stop`; ids as they were given."""

    stopped: tuple[str, ...]
    not_found: tuple[str, ...]


@frozen
class Transcript(Value):
    """Answer to `ensign/task/transcript`: the conversation as Markdown for people, and the file it lives in."""

    task_id: str
    markdown: str
    path: str


@frozen
class ApprovalsListed(Value):
    """Answer to `ensign/approval/list`, oldest first."""

    approvals: tuple[ApprovalRequest, ...]


@frozen
class Answered(Value):
    """Answer to `ensign/approval/answer`; False when the question was already closed."""

    accepted: bool


@frozen
class ModelInfo(Value):
    """A model that can be chosen. `ready` is False when `problem` says what is missing (a key, a server)."""

    id: str
    label: str
    provider: str
    ready: bool
    problem: str = ""


@frozen
class ModelsListed(Value):
    """Answer to `ensign/model/list`; `roles` maps `default`, `small`, `large` to ids."""

    models: tuple[ModelInfo, ...]
    roles: Mapping[str, str]


@frozen
class ExplainedPart(Value):
    """One judged piece of a call."""

    text: str
    decision: Decision
    reason: str
    rule: str | None


@frozen
class Explained(Value):
    """What would be decided about a call, without running it (`ensign explain`)."""

    decision: Decision
    reason: str
    rule: str | None
    parts: tuple[ExplainedPart, ...]


@frozen
class Check(Value):
    """One line of `ensign doctor`; `step` is what to do about it, where that is not plain from `detail`."""

    name: str
    state: Literal["ok", "warning", "failed"]
    detail: str
    step: str = ""


@frozen
class EventNotification(Value):
    """`ensign/event`; `seq` has no gaps in a session."""

    session_id: str
    seq: int
    event: Event


@frozen
class Changed(Value):
    """`ensign/changed`: ask again."""

    what: Literal["agents", "sessions", "settings", "trust"]


@frozen
class DocumentSave(Value):
    """Server to client: `ensign/document/save`."""

    uri: str
    version: int


@frozen
class DocumentSaved(Value):
    """Its answer."""

    saved: bool


@frozen
class NotebookAsk(Value):
    """Server to client: `ensign/notebook/unsaved`, asked before a notebook is changed on disk."""

    uri: str


@frozen
class NotebookAnswer(Value):
    """Its answer."""

    unsaved: bool


Options = Mapping[str, Any]
"""Initialization options: settings below `ensign.`, as JSON."""
