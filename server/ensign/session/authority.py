"""What the agents of a session may do: the settings in force, the session's mode, and the answers people gave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path

from ensign.permissions.child import child_policy
from ensign.permissions.engine import PermissionEngine
from ensign.permissions.grants import Grants
from ensign.permissions.policy import Policy
from ensign.protocol.access import Decision, Mode
from ensign.protocol.approvals import Outcome
from ensign.protocol.definition import AgentDefinition
from ensign.protocol.errors import DeniedError
from ensign.protocol.settings import Settings
from ensign.runtime.gate import Question


class Authority:
    """The main agent's policy, and the way answers become grants.

    Attributes:
        grants: every answer that holds, the session's and each task's.
    """

    def __init__(
        self,
        *,
        settings: Callable[[], Settings],
        trusts: Callable[[AgentDefinition], bool],
        engine: PermissionEngine,
        add_rule: Callable[[Path, str], Awaitable[None]],
        base: Policy,
        cwd: Path,
    ) -> None:
        self._settings = settings
        self._trusts = trusts
        self._engine = engine
        self._add_rule = add_rule
        self._base = base
        self._cwd = cwd
        self._chosen: Mode | None = None
        self.grants = Grants()

    @property
    def mode(self) -> Mode:
        """The session's permission mode: that of the settings in force, until a person chooses one."""
        return self._chosen or self._settings().mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._chosen = mode

    def policy(self) -> Policy:
        """The main agent's policy as it is now."""
        settings = self._settings()
        return replace(
            self._base,
            layers=settings.layers,
            mode=self.mode,
            grants=self.grants.of_session(),
            sandbox=settings.sandbox,
            git_runs=settings.git_runs,
        )

    def may_spawn(self, agents: Iterable[AgentDefinition]) -> list[AgentDefinition]:
        """Leave out the definitions that rules forbid to start (A14)."""
        policy = self.policy()
        return [agent for agent in agents if self._engine.may_spawn(agent.name, policy) is not Decision.DENY]

    def of_child(self, parent: Policy, definition: AgentDefinition | None, agent_id: str) -> Policy:
        """A child's policy as it is now: it follows its parent's, and its own answers come on top (P4, P10)."""
        settings = self._settings().subagents
        if definition is not None and definition.trusted and not self._trusts(definition):
            definition = replace(definition, trusted=False)  # it was, when the child started with it
        child = child_policy(
            parent,
            definition,
            allow_dont_ask=settings.allow_dont_ask,
            inherit_approvals=settings.inherit_approvals,
            session_grants=self.grants.of_session(),
        )
        own = tuple(rule for rule in self.grants.of(agent_id) if rule not in child.grants)
        session = self.grants.of_session()
        return replace(child, grants=(*child.grants, *(rule for rule in own if rule not in session)))

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

    async def remember(self, outcome: Outcome, question: Question, agent_id: str) -> None:
        """Turn an answer into grants of its scope, and an "always" into rules of the local settings (P4)."""
        for rule in self.grants.remember(outcome, question.verdict, agent_id):
            await self._add_rule(self._cwd, rule)
