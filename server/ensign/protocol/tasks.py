"""The record of a subagent: its states, what the runtime saw it do, what it hands back."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from ensign.protocol.messages import Usage
from ensign.protocol.value import Value, frozen
from ensign.protocol.worktree import Worktree


class TaskState(StrEnum):
    """Where a task stands (B1). Each run reaches exactly one terminal state."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    STOPPING = "stopping"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"

    @property
    def terminal(self) -> bool:
        """Whether a run in this state is over."""
        return self in TERMINAL


WINDOW_CLOSED = "window closed"
"""Why runs were interrupted whose client has gone; when it is soon back they go on by themselves (B10)."""

TERMINAL = frozenset(
    {TaskState.COMPLETED, TaskState.PARTIAL, TaskState.FAILED, TaskState.STOPPED, TaskState.INTERRUPTED}
)

EnvelopeStatus = Literal[
    "completed", "partial", "failed", "stopped", "interrupted", "async_launched", "moved_to_background"
]


@frozen
class FileChange(Value):
    """A file that a run changed."""

    path: str
    change: Literal["created", "modified", "deleted"]
    added: int = 0
    removed: int = 0


@frozen
class CommandRun(Value):
    """A command that a run executed; the runtime cannot undo it."""

    command: str
    exit_code: int | None
    undoable: bool = False


@frozen
class DeniedCall(Value):
    """A call that was refused."""

    tool: str
    target: str
    by: str


@frozen
class Facts(Value):
    """What the runtime itself saw, whatever the report says. Lists hold the first 20; totals count all (A6)."""

    files_changed: tuple[FileChange, ...] = ()
    commands: tuple[CommandRun, ...] = ()
    denied: tuple[DeniedCall, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Things the runtime did differently from what was asked, in words (a model that fell back, a flag ignored)."""
    kept: tuple[str, ...] = ()
    worktree: Worktree | None = None
    files_changed_total: int = 0
    commands_total: int = 0
    denied_total: int = 0
    errors_total: int = 0
    tool_calls: int = 0
    tool_failures: int = 0


@frozen
class Envelope(Value):
    """What a subagent hands back, the same in the tool result, the record, the notification and on disk (A6).

    Attributes:
        reason: why it ended so, first cause first; empty for `completed`.
        report: at most `subagents.reportChars` characters, cut at a line boundary.
        cut: whether the report was cut; `output_file` has all of it.
        report_tokens: estimate of what the report adds to the parent's context (A12).
    """

    status: EnvelopeStatus
    reason: str
    agent_id: str
    task_id: str
    report: str
    cut: bool
    facts: Facts
    usage: Usage
    output_file: str
    can_read_output_file: bool
    report_tokens: int = 0


Color = Literal["red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"]


@frozen
class TaskRecord(Value):
    """The whole record of a task as clients see it. Times are Unix seconds; None where it has not happened."""

    id: str
    short_id: str
    session_id: str
    name: str | None
    agent: str
    description: str
    parent_agent_id: str | None
    parent_task_id: str | None
    agent_id: str
    call_id: str | None
    """The `Agent` call that started it, so that a chat can put its card in place."""
    depth: int
    color: Color | None
    state: TaskState
    reason: str
    background: bool
    waiting_for: str | None
    waiting_since: float | None
    created_at: float
    started_at: float | None
    ended_at: float | None
    last_event_at: float
    activity: str
    summary: str
    steps: int
    tool_calls: int
    usage: Usage
    report_tokens: int
    model: str
    files_changed: tuple[FileChange, ...]
    output_file: str
    worktree: Worktree | None
    resumable: bool
    envelope: Envelope | None = None
    team: str | None = None
    """The team it belongs to (X3)."""
