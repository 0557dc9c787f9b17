"""Everything a session tells its readers: one closed union, past tense, in the order it happened.

Every event carries `agent_id`, and `task_id` when the agent is a subagent. Readers match on the class and end with
`assert_never`. The transcript stores all but the deltas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from ensign.protocol.approvals import ApprovalRequest, Outcome
from ensign.protocol.messages import Message, StopReason, ToolCall, Usage
from ensign.protocol.tasks import CommandRun, FileChange, TaskRecord
from ensign.protocol.value import Value, frozen


class Who(TypedDict):
    """The two fields that say whose event it is, to be spread into one."""

    agent_id: str
    task_id: str | None


@frozen
class _Of(Value):
    """Whose event it is."""

    agent_id: str
    task_id: str | None = None


@frozen
class TurnStarted(_Of):
    """A prompt began to be worked on. The first event of its turn."""

    turn_id: str
    kind: Literal["turn_started"] = "turn_started"


@frozen
class StepStarted(_Of):
    """A model request is about to be sent. `step` counts from 1 in its turn."""

    turn_id: str
    step: int
    model: str
    kind: Literal["step_started"] = "step_started"


@frozen
class StepRestarted(_Of):
    """The request is sent again: drop this step's deltas."""

    turn_id: str
    step: int
    reason: str
    kind: Literal["step_restarted"] = "step_restarted"


@frozen
class TextDelta(_Of):
    """A piece of assistant text. Concatenating all deltas of a step gives its full text."""

    turn_id: str
    text: str
    kind: Literal["text_delta"] = "text_delta"


@frozen
class ThinkingDelta(_Of):
    """A piece of the model's reasoning."""

    turn_id: str
    text: str
    kind: Literal["thinking_delta"] = "thinking_delta"


@frozen
class MessageAdded(_Of):
    """A message joined the conversation; after it the deltas of its step are obsolete."""

    message: Message
    kind: Literal["message_added"] = "message_added"


@frozen
class ToolStarted(_Of):
    """A call passed the gate and begins to run. `activity` is what it does, in words."""

    turn_id: str
    call: ToolCall
    activity: str
    kind: Literal["tool_started"] = "tool_started"


@frozen
class ToolProgress(_Of):
    """News of a running call, for people."""

    call_id: str
    text: str
    kind: Literal["tool_progress"] = "tool_progress"


@frozen
class ToolFinished(_Of):
    """The result of a call. Exactly one per call the model made, started or not.

    `diff` is a unified diff for people when a file was changed; `denied_by` names who refused `target`, if somebody
    did; `files` and `command` are what the runtime saw happen.
    """

    turn_id: str
    call_id: str
    tool: str
    text: str
    is_error: bool
    denied_by: str | None = None
    target: str = ""
    diff: str | None = None
    files: tuple[FileChange, ...] = ()
    command: CommandRun | None = None
    kind: Literal["tool_finished"] = "tool_finished"


@frozen
class ApprovalRequested(_Of):
    """A person is asked. Open until `ApprovalResolved` with the same id."""

    request: ApprovalRequest
    kind: Literal["approval_requested"] = "approval_requested"


@frozen
class ApprovalResolved(_Of):
    """The question is closed. `outcome` is None when nobody answered; `reason` then says why it counts as denied."""

    approval_id: str
    outcome: Outcome | None
    reason: str
    kind: Literal["approval_resolved"] = "approval_resolved"


@frozen
class TaskChanged(_Of):
    """A task's record, whole. The last one received is the truth."""

    record: TaskRecord
    kind: Literal["task_changed"] = "task_changed"


@frozen
class Todo(Value):
    """One entry of an agent's own to-do list."""

    content: str
    status: Literal["pending", "in_progress", "completed"]
    active_form: str


@frozen
class TodoChanged(_Of):
    """The agent's to-do list, whole."""

    todos: tuple[Todo, ...]
    kind: Literal["todo_changed"] = "todo_changed"


@frozen
class UsageReported(_Of):
    """What one request used (O2). Each request is reported once, by the agent that sent it.

    `price_usd` is by the prices of that day, None where they are not known.
    """

    model: str
    usage: Usage
    first_token_s: float | None
    wall_s: float
    price_usd: float | None = None
    purpose: Literal["step", "wrap_up", "summary", "compaction"] = "step"
    kind: Literal["usage_reported"] = "usage_reported"


@frozen
class Compacted(_Of):
    """The conversation was shortened. Token figures are estimates."""

    before_tokens: int
    after_tokens: int
    how: Literal["cleared", "summarized"]
    kind: Literal["compacted"] = "compacted"


@frozen
class Notice(_Of):
    """Something a person should know that is no one's message."""

    level: Literal["info", "warning", "error"]
    text: str
    kind: Literal["notice"] = "notice"


@frozen
class TurnEnded(_Of):
    """The turn came to an end it knows by name. Nothing with this `turn_id` comes after it."""

    turn_id: str
    stop: StopReason
    reason: str = ""
    kind: Literal["turn_ended"] = "turn_ended"


@frozen
class TurnFailed(_Of):
    """The turn broke. `message` is for people and says what to do; nothing with this `turn_id` comes after it."""

    turn_id: str
    message: str
    partial_text: str = ""
    kind: Literal["turn_failed"] = "turn_failed"


@frozen
class RunEnded(_Of):
    """The command line's last line."""

    status: str
    report: str
    usage: Usage
    tasks: tuple[Mapping[str, Any], ...]
    kind: Literal["run_ended"] = "run_ended"


Event = (
    TurnStarted
    | StepStarted
    | StepRestarted
    | TextDelta
    | ThinkingDelta
    | MessageAdded
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | ApprovalRequested
    | ApprovalResolved
    | TaskChanged
    | TodoChanged
    | UsageReported
    | Compacted
    | Notice
    | TurnEnded
    | TurnFailed
    | RunEnded
)
