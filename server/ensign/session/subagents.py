"""What a session does for its subagents: births, messages that survive a crash, deaths, and the news for the parent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ensign.protocol.ids import new_id
from ensign.protocol.messages import Message, UserMessage
from ensign.protocol.tasks import Envelope, TaskState
from ensign.protocol.value import frozen
from ensign.runtime.agent import Agent
from ensign.session.agents import AgentFactory, Hooks, birth_of
from ensign.session.authority import Authority
from ensign.session.isolation import Isolation, made_anew, told, with_words
from ensign.session.mcp import RemoteTools
from ensign.session.records import Records
from ensign.session.services import Services
from ensign.session.turns import Turns
from ensign.tasks.death import Step
from ensign.tasks.order import Order
from ensign.tasks.report import as_notification
from ensign.tasks.run import Birth
from ensign.tasks.task import Task

GO_ON = "This comes from the Ensign runtime: you were interrupted and go on now. Check what was left half done first."


@frozen
class Subagents:
    """The session's part in the life of its tasks; the manager says when.

    Attributes:
        factory, remote, main, turns: read at each use, since a session has them only once it has begun.
    """

    services: Services
    records: Records
    authority: Authority
    factory: Callable[[], AgentFactory]
    remote: Callable[[], RemoteTools]
    main: Callable[[], Agent]
    turns: Callable[[], Turns]
    hooks: Callable[[Task], Hooks]
    isolation: Isolation

    def born(self, task: Task, order: Order, parent: Agent) -> Callable[[], Awaitable[Birth]]:
        """Prepare a birth. A fork is made here and now: its parent's conversation goes on while it waits (F2)."""
        hooks = self.hooks(task)
        fork = self.factory().fork(task, order, parent, hooks) if order.definition is None else None
        if fork is not None:
            self.records.begin_task(task, fork.agent, fork_of=parent)

        async def build() -> Birth:
            worktree = await self.isolation.born(task)
            if fork is not None:
                birth = fork
                if worktree is not None:
                    birth = replace(fork, prompt=(with_words(fork.prompt[0], told(worktree)), *fork.prompt[1:]))
            else:
                birth = await self.factory().definition(task, order, parent, hooks)
                self.records.begin_task(task, birth.agent, fork_of=None)
            if worktree is not None:
                self.isolation.move(birth.agent, worktree)
            return birth

        return build

    async def reborn(self, task: Task, message: UserMessage | None) -> Birth:
        """Build the agent of a task that goes on: with what waits in its transcript, and with the message (B4, B5)."""
        worktree, anew = await self.isolation.reborn(task)
        past = await self.records.reopen(task)
        prompt: list[Message] = [] if past.begun else [self.factory().first_message(task)]
        prompt += [self.records.message_of(letter) for letter in past.inbox.pending()]
        if message is not None:
            prompt.append(self.accept(task, message))
        # Who says something new is not asked about what was to be done before.
        left_open = past.left_open if message is None else None
        if not prompt and left_open is None:
            prompt.append(UserMessage(text=GO_ON, origin="runtime"))
        if task.definition is not None:
            await self.remote().prepare(task, task.definition)
        if worktree is not None and anew:
            prompt.insert(0, made_anew(worktree))
        hooks = self.hooks(task)
        agent = self.factory().revived(task, past, self.main(), hooks)
        if worktree is not None:
            agent.cwd = Path(task.spec.cwd)
            self.isolation.move(agent, worktree)
        return birth_of(agent, tuple(prompt), hooks, left_open)

    def accept(self, task: Task, message: UserMessage) -> UserMessage:
        """Make a message to a task durable; what is returned delivers it."""
        return self.records.accept_message(task, message)

    def unannounced(self, task: Task) -> bool:
        """Whether the main agent has yet to hear of the task's end."""
        return bool(task.notification) and self.main().inbox.holds(task.notification)

    def withdraw(self, task: Task) -> None:
        """The task's end needs no telling any more: it was read otherwise (N2), or the task goes on by itself (B10)."""
        if task.notification and self.main().inbox.withdraw(task.notification):
            self.records.delivered((task.notification,))

    def release(self, task: Task) -> Sequence[Step]:
        """What a run held, in the order in which it is let go (L2); the manager adds the last step, its end."""

        async def processes() -> None:
            await self.services.processes.kill_all(task.record.agent_id)

        async def servers() -> None:
            await self.remote().close(task)

        async def grants() -> None:
            self.authority.grants.forget(task.record.agent_id)

        async def files() -> None:
            if task.agent is not None:
                task.agent.files.clear()

        async def changes() -> None:
            if task.spec.starter == "agent":
                for path, who in await self.main().files.changed_by_others():
                    task.facts.note(
                        f"{path}, which you had read, was changed by {who}; read it again before editing it"
                    )

        async def transcript() -> None:
            await self.records.at_hand(task)

        async def partial() -> None:
            self.records.partial(task.record.agent_id, task.id, "".join(task.partial))

        async def report() -> None:
            facts = task.facts.in_full()
            await self.records.write_report(task.id, f"{task.report}\n\n---\n{facts}\n" if facts else task.report)

        return [
            ("processes", processes),
            ("MCP servers", servers),
            ("transcript", transcript),
            ("partial text", partial),
            ("report file", report),
            ("grants", grants),
            ("files", files),
            ("changed files", changes),
            ("worktree", lambda: self.isolation.over(task)),
        ]

    def finish(self, task: Task, state: TaskState, envelope: Envelope) -> None:
        """Write a run's end and, for one whose call does not wait for it, tell its parent, exactly once (N1, N2)."""
        told = task.detached.is_set() and task.spec.starter == "agent"
        task.notification = new_id() if told else ""
        try:
            self.records.end(task, state, envelope, notify=task.notification or None)
        finally:
            if told:
                self._tell(task, envelope)

    def tell(self, task: Task, envelope: Envelope) -> None:
        """Tell the parent of an end that was recorded without, since the call that waited for it is gone."""
        task.notification = new_id()
        self._tell(task, envelope)

    def _tell(self, task: Task, envelope: Envelope) -> None:
        try:
            self.records.accept_notification(task.notification, envelope)
        finally:
            text = as_notification(envelope, task.record.description)
            news = UserMessage(text=text, origin="runtime", delivers=(task.notification,))
            # A stop is told at the next step and wakes nobody (B3).
            self.main().inbox.put(news, rouses=task.told_to_stop is None)
            self.turns().wake()
