"""What a person is asked, and what they may answer (P5)."""

from __future__ import annotations

from enum import StrEnum

from ensign.protocol.value import Value, frozen


class Outcome(StrEnum):
    """A person's answers."""

    ALLOW_ONCE = "allow_once"
    ALLOW_TASK = "allow_task"
    ALLOW_SESSION = "allow_session"
    ALLOW_ALWAYS = "allow_always"
    DENY = "deny"

    @property
    def allows(self) -> bool:
        """Whether the call may run."""
        return self is not Outcome.DENY


@frozen
class DiffPreview(Value):
    """What an edit would change; both texts whole, so that a client can open its own diff."""

    path: str
    before: str
    after: str


@frozen
class ApprovalPart(Value):
    """One judged piece of the call, for display; `decision` is allow, ask or deny."""

    text: str
    decision: str
    reason: str


@frozen
class Choice(Value):
    """One of the answers to a question that an agent asks."""

    label: str
    description: str


@frozen
class ApprovalRequest(Value):
    """An open question. Everything is made safe to show: control and invisible characters are visible (P12).

    Attributes:
        tag: who asks, `[name · task]` without the brackets' content posing as the main agent.
        title: one line, for example `Run a command` or `Edit src/a.py`.
        detail: the whole of what will run or change, nothing cut.
        rules: what "always" would save; empty when "always" is not offered.
        outcomes: the answers that are offered, in order.
        choices: of a question that is no approval: the answer is `allow_once` with a label, or own words, as `message`.
        since: Unix seconds.
        call_id: the call that asks; empty in transcripts of before there was this field.
    """

    id: str
    session_id: str
    agent_id: str
    task_id: str | None
    tag: str
    color: str | None
    tool: str
    title: str
    detail: str
    reason: str
    parts: tuple[ApprovalPart, ...]
    rules: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    diff: DiffPreview | None
    since: float
    choices: tuple[Choice, ...] = ()
    call_id: str = ""


@frozen
class Answer(Value):
    """A person's answer; `message` goes to the model with a denial."""

    outcome: Outcome
    message: str = ""
