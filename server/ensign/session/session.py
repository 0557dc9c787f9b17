"""A session: one main agent, its turns, the tasks started in it, and everything it tells its readers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from pathlib import Path

from ensign.models.base import Head
from ensign.models.prices import price
from ensign.permissions.display import tag, visible
from ensign.protocol import events
from ensign.protocol.access import Mode
from ensign.protocol.approvals import Answer
from ensign.protocol.ids import new_id
from ensign.protocol.messages import Usage, UserMessage
from ensign.runtime.agent import Agent
from ensign.runtime.compaction import Compaction
from ensign.runtime.gate import Question
from ensign.session.agents import AgentFactory, Hooks
from ensign.session.approvals import Approvals
from ensign.session.authority import Authority
from ensign.session.chat import Chat
from ensign.session.isolation import Isolation
from ensign.session.late_tools import LateTools
from ensign.session.log import EventLog
from ensign.session.mcp import RemoteTools
from ensign.session.model_choice import ModelChoice
from ensign.session.questions import inquiry_of, request_of
from ensign.session.records import Records
from ensign.session.services import Services
from ensign.session.subagents import Subagents
from ensign.session.told import changed_agents, described, in_words, left_worktree
from ensign.session.turns import Terms, Turns, main_limits
from ensign.session.worktree_tools import WorktreeTools, inside
from ensign.store.errors import StoreError
from ensign.tasks.agent_tool import Delegation, agent_tool
from ensign.tasks.coordinator import only_reads
from ensign.tasks.manager import Surroundings, TaskManager
from ensign.tasks.order import Order, Rules
from ensign.tasks.synthetic_output import synthetic_output
from ensign.tasks.task import Task
from ensign.tasks.task_tools import TaskTools
from ensign.tasks.team_tools import TeamTools
from ensign.tools.ask_user_question import Inquiry, ask_user_question_tool
from ensign.tools.base import Tool
from ensign.workspace.git import in_git

TITLE_CHARS = 60

log = logging.getLogger(__name__)


class Session:
    """Commands in, events out. Usable after `begin`; lives on one event loop.

    Attributes:
        main: the main agent; `turns` runs its prompts.
        title: the first prompt's beginning, until a person names the session.
    """

    def __init__(self, services: Services, records: Records, cwd: Path, *, created_at: float) -> None:
        self.services = services
        self.records = records
        self.id = records.session_id
        self.cwd = cwd
        self.created_at = created_at
        self.title = ""
        self.usage = Usage()
        self.log = EventLog(records.keep)
        self.chat = Chat()
        self.approvals = Approvals(self.emit, lambda: services.settings().subagents.approval_timeout_seconds)
        self.authority = Authority(
            trusts=services.trusts,
            settings=services.settings,
            engine=services.engine,
            add_rule=services.add_rule,
            base=services.base_policy(records.output_dir),
            cwd=cwd,
        )
        self.isolation = Isolation(services.worktrees)
        self.subagents = Subagents(
            services=services,
            records=records,
            authority=self.authority,
            factory=lambda: self.factory,
            remote=lambda: self.remote,
            main=lambda: self.main,
            turns=lambda: self.turns,
            hooks=self._hooks,
            isolation=self.isolation,
        )
        self.late = LateTools(
            remote=lambda: self.remote,
            main=lambda: self.main,
            subagents=lambda: [task.agent for task in self.manager.tasks.values() if task.agent is not None],
            renew=self._renew,
            renewed=records.renewed,
            emit=self.emit,
        )
        self.remote = RemoteTools(services, self.late.found)
        self._unlisten = services.servers.listen(self.late.changed)
        self.manager = TaskManager(self._surroundings())
        self._announced = described(services.definitions())
        self.factory: AgentFactory
        self._choice: ModelChoice
        self.main: Agent
        self.turns: Turns

    async def begin(self, model_name: str | None = None) -> None:
        """Build the main agent, afresh or from its transcript."""
        past = self.records.past
        known = past.head.model if past is not None else "default"
        self._choice = ModelChoice(self.services.models, model_name or known)
        model = self._choice.model
        factory = self.factory = AgentFactory(
            services=self.services,
            session_id=self.id,
            cwd=self.cwd,
            output_dir=self.records.output_dir,
            history=self.records.history,
            tools=self._tools(),
            authority=self.authority,
            remote=self.remote,
        )
        agent_id = past.head.agent_id if past is not None else new_id()
        self.main = await factory.main(agent_id, model, self.authority.policy, self._hooks(None), past)
        compaction = Compaction(
            self.main,
            tasks=self._tasks_in_words,
            record=lambda messages: self.records.rewrite(agent_id, messages),
            renew=self._renew,
        )
        self.turns = Turns(self.main, compaction, self._terms())
        self.chat.main_agent_id = agent_id
        self.records.begin_main(self.main)
        await self.remote.start()
        if past is not None:
            self.title = past.title
            self.usage = past.usage
            if inside(past.history):
                self.main.inbox.put(left_worktree(self.cwd), rouses=False)
            self.chat.load(past)

    def emit(self, event: events.Event) -> None:
        """Publish an event of any agent of this session."""
        if isinstance(event, events.UsageReported):
            self.usage += event.usage
            if event.task_id is None:
                self.turns.count(event.usage)
        self.chat.read(event)
        self.log.emit(event)

    def prompt(self, text: str) -> str:
        """Run a turn for a person's words, after those before it; return the turn's id."""
        turn_id = new_id()
        if self.late.is_ready:
            # What a server lacked may be there by now; nobody waits for it.
            self.services.servers.shared.retry()
        self.records.accept_prompt(turn_id, text)
        self.turns.start(UserMessage(text=text, delivers=(turn_id,)), turn_id)
        if not self.title:
            try:
                self.rename(" ".join(text[: TITLE_CHARS * 4].split())[:TITLE_CHARS])
            except StoreError as error:
                log.warning("the session's title was not recorded: %s", error)
        return turn_id

    def rename(self, title: str) -> None:
        """Give the session a name."""
        self.title = title
        self.records.title(title)

    def run_agent(self, order: Order) -> Task:
        """Start a subagent for a person: it has no parent agent, and its report goes to the person (N4)."""
        self.turns.hush(quiet=False)
        return self.manager.spawn(order, self.main)

    async def resume(self, task: Task, message: UserMessage | None) -> None:
        """Go on with an ended task for a person; returns once the message is on disk.

        Raises:
            UserError: it runs, or has completed and there is nothing to go on with.
        """
        self.manager.resume(task, message)
        self.turns.hush(quiet=False)
        await task.ready.wait()

    def clear(self) -> None:
        """Hide the tasks that have ended; disk keeps them (B9)."""
        self.manager.clear(self.records.hide)

    def hush_if_all(self, stopping: Collection[Task]) -> None:
        """A person who stops everything wants quiet: then no end starts a turn (B3)."""
        active = self.manager.active()
        if active and all(task in stopping for task in active):
            self.turns.hush()

    def set_mode(self, mode: Mode) -> None:
        """Change the permission mode, from the next call on."""
        self.authority.mode = mode

    def set_model(self, name: str) -> None:
        """Change the main agent's model, from the next turn on.

        Raises:
            UserError: there is no such model.
        """
        self.turns.retarget(self._choice.take(name))

    def settings_changed(self) -> None:
        """Resolve the main agent's model anew, for its next turn."""
        if model := self._choice.again(self.main.who, self.emit):
            self.turns.retarget(model)

    async def settled(self) -> None:
        """Return once nothing runs and nothing waits to be told."""
        while True:
            await self.turns.idle.wait()
            active = self.manager.active()
            if not active and self.turns.idle.is_set():
                return
            await asyncio.gather(*(task.ended.wait() for task in active))

    async def wrap_up(self, reason: str) -> None:
        """Have everything report now, and return once it has or the time for that is over (A10)."""
        self.turns.hush()
        self.turns.wrap_up(reason)
        for task in self.manager.active():
            task.interrupt.request(reason)
        try:
            async with asyncio.timeout(self.services.settings().subagents.wrap_up_seconds):
                await self.settled()
        except TimeoutError:
            # What did not report in time is ended with the session.
            return

    async def close(self, reason: str) -> None:
        """End everything that runs as interrupted, and let go of the session."""
        self._unlisten()
        self.approvals.leaving = True
        # Before the turn is cancelled, which would stop its foreground children on its own account.
        ending = self.manager.interrupt_all(reason)
        await self.turns.close(reason)
        await asyncio.gather(*(task.ended.wait() for task in ending))
        await self.isolation.close()
        self.records.close()

    def _agent(self, agent_id: str) -> tuple[Agent, Task | None]:
        """An agent that runs, by its id, and its task."""
        for task in self.manager.active():
            if task.agent is not None and task.record.agent_id == agent_id:
                return task.agent, task
        return self.main, None

    def rules(self) -> Rules:
        """What an order is checked against now."""
        return Rules(
            settings=self.services.settings().subagents,
            definitions=self.services.definitions(),
            resolve_model=self.services.model_or_none,
            only_reads=lambda definition: only_reads(definition, self.factory.tools),
            headless=self.services.headless,
        )

    def _tools(self) -> tuple[Tool, ...]:
        """Every tool of the session: the shared ones, and those that work on its tasks."""
        services, settings = self.services, self.services.settings()
        delegation = Delegation(manager=self.manager, agent_of=lambda _: self.main, rules=self.rules, price=price)
        agents = self.authority.may_spawn(services.definitions())
        git = in_git(self.cwd)
        agent = agent_tool(delegation, agents, settings.subagents, headless=services.headless, git=git)
        task_tools = TaskTools(
            manager=self.manager,
            agent_of=lambda _: self.main,
            agent=agent,
            rules=self.rules,
            read=self.subagents.withdraw,
            pending=self.subagents.unannounced,
        )
        teams = TeamTools(manager=self.manager).tools() if settings.subagents.background else ()
        ask = ask_user_question_tool(self._inquire)
        worktrees = WorktreeTools(isolation=self.isolation, agent_of=self._agent).tools() if git else ()
        own = tuple(
            tool
            for tool in (agent, *task_tools.tools(), *teams, ask, synthetic_output(self._say), *worktrees)
            if settings.tools is None or tool.name in settings.tools
        )
        return (*services.tools, *own, *self.remote.search())

    def _say(self, task_id: str | None, text: str) -> None:
        """Show a text of an agent in the chat, with the tag of the subagent it is of."""
        task = self.manager.tasks.get(task_id) if task_id is not None else None
        shown = f"[{tag(task.record.agent, task.record.description)}] {text}" if task is not None else text
        self.emit(events.Notice(**self.main.who, level="info", text=visible(shown)))

    def _tasks_in_words(self) -> str:
        tasks = self.manager.tasks.values()
        return in_words(one.record for one in tasks if not one.state.terminal or self.subagents.unannounced(one))

    async def _renew(self) -> Head:
        self._announced = described(self.services.definitions())
        return await self.factory.renewed(self.main, self._tools())

    def definitions_changed(self) -> None:
        """Tell the main agent which subagents there are now; its tool's words stay as they were sent (A4)."""
        now = described(self.services.definitions())
        if news := changed_agents(self._announced, now):
            self._announced = now
            self.main.inbox.put(news, rouses=False)

    def _terms(self) -> Terms:
        settings = self.services.settings
        return Terms(
            limits=lambda: main_limits(settings()),
            wrap_up_s=lambda: settings().subagents.wrap_up_seconds,
            session_left=self._tokens_left,
            wake=lambda: settings().subagents.wake_on_notification,
            ready=self.late.ready,
        )

    def _tokens_left(self) -> int | None:
        budget = self.services.settings().subagents.session_tokens
        return None if budget is None else budget - self.usage.total

    def _surroundings(self) -> Surroundings:
        own = self.subagents
        return Surroundings(
            settings=self.services.settings,
            emit=self.emit,
            born=own.born,
            reborn=own.reborn,
            release=own.release,
            finish=own.finish,
            tell=own.tell,
            closed=self.records.finish,
            accept=own.accept,
            unannounced=own.unannounced,
            output_file=lambda task_id: str(self.records.output_file(task_id)),
            session_left=self._tokens_left,
            clock=self.services.clock,
        )

    def _hooks(self, task: Task | None) -> Hooks:
        async def ask(question: Question) -> Answer:
            return await self._ask(question, task)

        def agent_id() -> str:
            return task.record.agent_id if task is not None else self.main.context.agent_id

        return Hooks(
            emit=task.emit if task is not None else self.emit,
            ask=ask,
            intend=lambda call: self.records.intend(agent_id(), call),
            rewrite=lambda messages: self.records.rewrite(agent_id(), messages),
        )

    async def _inquire(self, inquiry: Inquiry) -> Answer:
        with self.turns.paused():
            request = inquiry_of(inquiry, self.main.context, since=self.services.clock())
            return await self.approvals.ask(self.main.who, request)

    async def _ask(self, question: Question, task: Task | None) -> Answer:
        agent = task.agent if task is not None and task.agent is not None else self.main
        if task is None:
            request = request_of(question, agent.context, None, since=self.services.clock())
            with self.turns.paused():
                answer = await self.approvals.ask(agent.who, request)
        else:
            self.authority.refuse_to_ask(agent.policy(), background=task.record.background)
            request = request_of(question, agent.context, task.record, since=self.services.clock())
            async with task.waiting(request.title, self.manager.places):
                answer = await self.approvals.ask(agent.who, request)
        await self.authority.remember(answer.outcome, question, agent.context.agent_id)
        return answer
