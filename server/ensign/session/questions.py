"""From a call that needs a person to a question made safe to show, and from the answer to grants (P5, P12)."""

from __future__ import annotations

from ensign.permissions.display import tag, visible
from ensign.permissions.grants import offered
from ensign.protocol.access import Effect, Verdict
from ensign.protocol.approvals import ApprovalPart, ApprovalRequest, Choice, DiffPreview, Outcome
from ensign.protocol.ids import new_id
from ensign.protocol.tasks import TaskRecord
from ensign.runtime.context import AgentContext
from ensign.runtime.gate import Question
from ensign.tools.ask_user_question import Inquiry
from ensign.tools.base import BUILT_IN

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
        detail=visible(detail_of(question)),
        reason=visible(verdict.reason),
        parts=tuple(
            ApprovalPart(text=visible(part.text), decision=part.decision.value, reason=visible(part.reason))
            for part in verdict.parts
        ),
        rules=verdict.suggestions,
        outcomes=outcomes_of(verdict, is_task=record is not None),
        diff=None
        if preview is None
        else DiffPreview(path=str(preview.path), before=preview.before, after=preview.after),
        since=since,
        call_id=question.call.call_id,
    )


def inquiry_of(inquiry: Inquiry, context: AgentContext, *, since: float) -> ApprovalRequest:
    """Build an agent's own question to the person; every string in it is safe to show."""
    choices = tuple(Choice(label=visible(one.label), description=visible(one.description)) for one in inquiry.choices)
    return ApprovalRequest(
        id=new_id(),
        session_id=context.session_id,
        agent_id=context.agent_id,
        task_id=context.task_id,
        tag=tag_of(None),
        color=None,
        tool="AskUserQuestion",
        title=visible(inquiry.question),
        detail="\n".join(f"{one.label}: {one.description}" if one.description else one.label for one in choices),
        reason=visible(inquiry.header),
        parts=(),
        rules=(),
        outcomes=(Outcome.ALLOW_ONCE, Outcome.DENY),
        diff=None,
        since=since,
        choices=choices,
        call_id=inquiry.call_id,
    )


def outcomes_of(verdict: Verdict, *, is_task: bool) -> tuple[Outcome, ...]:
    """The answers that mean something: for a task only a task's, and nothing lasting where no rule would hold."""
    senseless = {Outcome.ALLOW_TASK, Outcome.ALLOW_SESSION} if not verdict.grants else set[Outcome]()
    if not is_task:
        senseless.add(Outcome.ALLOW_TASK)
    return tuple(one for one in offered(verdict) if one not in senseless)


def tag_of(record: TaskRecord | None) -> str:
    """Who asks: `name · task` of a subagent, or `main agent`."""
    if record is None:
        return "main agent"
    return tag(record.agent, record.description)


def title_of(question: Question) -> str:
    """What kind of thing is asked, in one line."""
    if question.preview is not None:
        return f"{'Change' if question.preview.before else 'Create'} {visible(question.preview.path.name)}"
    if question.tool.origin != BUILT_IN:
        return f"Use {visible(question.tool.name)}, a tool of the {visible(question.tool.origin)}"
    return _TITLES[question.tool.effect]


def detail_of(question: Question) -> str:
    """The whole of what will run or change."""
    arguments = question.call.arguments or {}
    if question.tool.origin != BUILT_IN:
        return question.call.raw
    for key in ("command", "file_path", "url", "path", "notebook_path"):
        if key in arguments:
            return str(arguments[key])
    return question.call.raw
