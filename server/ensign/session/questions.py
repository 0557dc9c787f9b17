"""From a call that needs a person to a question made safe to show, and from the answer to grants (P5, P12)."""

from __future__ import annotations

from collections.abc import Sequence

from ensign.permissions.display import visible_line, visible_text
from ensign.protocol.access import Effect
from ensign.protocol.approvals import ApprovalPart, ApprovalRequest, DiffPreview, Outcome
from ensign.protocol.ids import new_id
from ensign.protocol.tasks import TaskRecord
from ensign.runtime.context import AgentContext
from ensign.runtime.gate import Question

_TITLES = {
    Effect.EXECUTE: "Run a command",
    Effect.WRITE: "Change a file",
    Effect.READ: "Read",
    Effect.NETWORK: "Connect to the network",
    Effect.SESSION: "Start a subagent",
}


def request_of(
    question: Question, context: AgentContext, record: TaskRecord | None, *, since: float
) -> ApprovalRequest:
    """Build the question; every string in it is safe to show."""
    verdict = question.verdict
    preview = question.preview
    return ApprovalRequest(
        id=new_id(),
        session_id=context.session_id,
        agent_id=context.agent_id,
        task_id=context.task_id,
        tag=tag_of(record),
        color=record.color if record is not None else None,
        tool=question.tool.name,
        title=title_of(question),
        detail=visible_text(detail_of(question)),
        reason=visible_line(verdict.reason),
        parts=tuple(
            ApprovalPart(text=visible_text(part.text), decision=part.decision.value, reason=visible_line(part.reason))
            for part in verdict.parts
        ),
        rules=verdict.suggestions,
        outcomes=outcomes(verdict.suggestions, in_task=record is not None),
        diff=None
        if preview is None
        else DiffPreview(path=str(preview.path), before=preview.before, after=preview.after),
        since=since,
    )


def tag_of(record: TaskRecord | None) -> str:
    """Who asks: `name · task` of a subagent, or `main agent`."""
    if record is None:
        return "main agent"
    return f"{visible_line(record.agent, 40)} · {visible_line(record.description, 80)}"


def title_of(question: Question) -> str:
    """What kind of thing is asked, in one line."""
    if question.preview is not None:
        return f"{'Change' if question.preview.before else 'Create'} {visible_line(question.preview.path.name, 80)}"
    return _TITLES[question.tool.effect]


def detail_of(question: Question) -> str:
    """The whole of what will run or change."""
    arguments = question.call.arguments or {}
    for key in ("command", "file_path", "url", "path", "notebook_path"):
        if key in arguments:
            return str(arguments[key])
    return question.call.raw


def outcomes(rules: Sequence[str], *, in_task: bool) -> tuple[Outcome, ...]:
    """The answers that are offered; "always" only where there is a rule that it would save (P15)."""
    offered = [Outcome.ALLOW_ONCE]
    if in_task:
        offered.append(Outcome.ALLOW_TASK)
    offered.append(Outcome.ALLOW_SESSION)
    if rules:
        offered.append(Outcome.ALLOW_ALWAYS)
    return (*offered, Outcome.DENY)
