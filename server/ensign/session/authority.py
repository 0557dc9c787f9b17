"""What the agents of a session may do: the settings in force, the session's mode, and the answers people gave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path

from ensign.permissions.engine import PermissionEngine
from ensign.permissions.grants import grants_of
from ensign.permissions.policy import Policy
from ensign.permissions.policy import Question as Judged
from ensign.protocol.access import Access, Decision, Effect, Mode
from ensign.protocol.approvals import Outcome
from ensign.protocol.definition import AgentDefinition
from ensign.protocol.errors import DeniedError
from ensign.protocol.settings import Settings
from ensign.runtime.gate import Question
from ensign.tasks.task import Task


class Authority:
    """The main agent's policy, and the way answers become grants.

    Attributes:
        mode: the session's permission mode.
        grants: the session's.
    """

    def __init__(
        self,
        *,
        settings: Callable[[], Settings],
        engine: PermissionEngine,
        add_rule: Callable[[Path, str], Awaitable[None]],
        base: Policy,
        cwd: Path,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._add_rule = add_rule
        self._base = base
        self._cwd = cwd
        self.mode: Mode = settings().mode
        self.grants: tuple[str, ...] = ()

    def policy(self) -> Policy:
        """The main agent's policy as it is now."""
        return replace(self._base, layers=self._settings().layers, mode=self.mode, grants=self.grants)

    def may_spawn(self, agents: Iterable[AgentDefinition]) -> list[AgentDefinition]:
        """Leave out the definitions that rules forbid to start (A14)."""
        policy = self.policy()

        def denied(name: str) -> bool:
            access = Access(effect=Effect.SESSION, target=name)
            question = Judged(tool="Agent", effect=Effect.SESSION, accesses=(access,), cwd=self._cwd)
            return self._engine.judge(question, policy).decision is Decision.DENY

        return [agent for agent in agents if not denied(agent.name)]

    def refuse_to_ask(self, policy: Policy, *, background: bool) -> None:
        """Deny at once what a background task may not ask a person (P6).

        Raises:
            DeniedError: background tasks do not ask, by the settings.
        """
        if background and policy.mode is not Mode.BUBBLE and self._settings().subagents.background_approvals == "deny":
            raise DeniedError(
                "this needs a person's approval, and background tasks do not ask (subagents.backgroundApprovals). "
                "Go on without it",
                by="mode",
            )

    async def remember(self, outcome: Outcome, question: Question, task: Task | None) -> None:
        """Turn an answer into grants of its scope (P4)."""
        rules = grants_of(question.verdict)
        match outcome:
            case Outcome.ALLOW_TASK if task is not None:
                task.grants = with_rules(task.grants, rules)
            case Outcome.ALLOW_SESSION:
                self.grants = with_rules(self.grants, rules)
            case Outcome.ALLOW_ALWAYS:
                self.grants = with_rules(self.grants, rules)
                for rule in question.verdict.suggestions:
                    await self._add_rule(self._cwd, rule)
            case _:
                pass


def with_rules(old: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    """Both, each rule once."""
    return tuple(dict.fromkeys((*old, *new)))
