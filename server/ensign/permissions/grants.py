"""Remembered answers: who gave them to what, and for how long (P4)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ensign.protocol.access import Verdict
from ensign.protocol.approvals import Outcome
from ensign.protocol.value import frozen


@frozen
class Grant:
    """An answer that still holds: one exact rule, for a session or for one task's agent."""

    rule: str
    agent_id: str | None


@dataclass(slots=True)
class Grants:
    """The answers of one session, in memory: lost at a restart; "always" is a rule in the local settings."""

    _given: list[Grant] = field(default_factory=list[Grant])

    def remember(self, outcome: Outcome, verdict: Verdict, agent_id: str) -> tuple[str, ...]:
        """Keep a person's answer to the very question that `verdict` was.

        Returns:
            The rules to append to the local settings: the suggestions that were shown, for "always" alone.
        """
        if outcome is Outcome.ALLOW_TASK:
            self._given += [Grant(rule=rule, agent_id=agent_id) for rule in verdict.grants]
        elif outcome is Outcome.ALLOW_SESSION:
            self._given += [Grant(rule=rule, agent_id=None) for rule in verdict.grants]
        elif outcome is Outcome.ALLOW_ALWAYS:
            # Until the settings are read again the session remembers what was saved.
            self._given += [Grant(rule=rule, agent_id=None) for rule in verdict.suggestions]
            return verdict.suggestions
        return ()

    def of(self, agent_id: str) -> tuple[str, ...]:
        """The rules that hold for an agent: the session's and its own, never another's."""
        return tuple(dict.fromkeys(grant.rule for grant in self._given if grant.agent_id in (None, agent_id)))

    def of_session(self) -> tuple[str, ...]:
        """The rules that may pass to a child (**inheritApprovals**)."""
        return tuple(dict.fromkeys(grant.rule for grant in self._given if grant.agent_id is None))

    def forget(self, agent_id: str) -> None:
        """Drop what was answered for one task; called when it ends."""
        self._given = [grant for grant in self._given if grant.agent_id != agent_id]


def offered(verdict: Verdict) -> tuple[Outcome, ...]:
    """The answers that a person may give to a question, in order; "always" only where a rule would be saved."""
    always = (Outcome.ALLOW_ALWAYS,) if verdict.suggestions else ()
    return (Outcome.ALLOW_ONCE, Outcome.ALLOW_TASK, Outcome.ALLOW_SESSION, *always, Outcome.DENY)
