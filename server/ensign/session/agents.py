"""Builds agents: a session's main agent, its subagents, forks, and those that go on from a transcript."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections import ChainMap
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from ensign.mcp.tools import is_remote
from ensign.models.base import Effort, Head, Model
from ensign.permissions.child import child_mode
from ensign.permissions.policy import Policy
from ensign.protocol import events
from ensign.protocol.approvals import Answer
from ensign.protocol.definition import AgentDefinition
from ensign.protocol.errors import UserError
from ensign.protocol.messages import Message, ToolCall, UserMessage
from ensign.protocol.run import LeftOpen
from ensign.protocol.value import frozen
from ensign.protocol.worktree import Worktree
from ensign.runtime.agent import Agent
from ensign.runtime.compaction import Compaction
from ensign.runtime.context import MAIN, AgentContext
from ensign.runtime.conversation import Conversation
from ensign.runtime.gate import Question
from ensign.runtime.inbox import Inbox
from ensign.runtime.prompt import Environment, read_branch, read_instructions, render, text_of
from ensign.session.authority import Authority
from ensign.session.isolation import placed, told
from ensign.session.mcp import RemoteTools
from ensign.session.services import Services
from ensign.session.task_context import context_of
from ensign.store.replay import Replay
from ensign.tasks.coordinator import of_coordinator, of_worker
from ensign.tasks.filter import Selection, refusal, select
from ensign.tasks.fork import directive, fork_conversation
from ensign.tasks.order import Order
from ensign.tasks.run import Birth
from ensign.tasks.task import Task
from ensign.tasks.words import text_of as words_of
from ensign.tools.base import TodoList, Tool
from ensign.workspace.history import History
from ensign.workspace.view import FileView

TRIMMED = frozenset({"Explore", "Plan"})
"""Built-ins that work without project instructions (C1)."""


@frozen
class Hooks:
    """What an agent needs of its session."""

    emit: Callable[[events.Event], None]
    ask: Callable[[Question], Awaitable[Answer]]
    intend: Callable[[ToolCall], Awaitable[None]]
    rewrite: Callable[[Sequence[Message]], None]


@frozen
class AgentFactory:
    """Builds the agents of one session.

    Attributes:
        tools: every tool of the session, in the order in which they are told to models.
    """

    services: Services
    session_id: str
    cwd: Path
    output_dir: Path
    history: Callable[[str], History | None]
    tools: tuple[Tool, ...]
    authority: Authority
    remote: RemoteTools

    async def main(
        self, agent_id: str, model: Model, policy: Callable[[], Policy], hooks: Hooks, past: Replay | None = None
    ) -> Agent:
        """Build the main agent, afresh or with what its transcript holds."""
        if past is None:
            system = await self._system(text_of("main"), self._main_role(), model, self.cwd, instructions=True)
            tools = [tool.schema() for tool in self._of_main(self.tools)]
            head = model.head(system=system, tools=tools, cache_key=self.session_id, effort=None)
            conversation = Conversation(model, head)
        else:
            system = past.head.system
            head = model.head(system=system, tools=past.head.tools, cache_key=past.head.cache_key, effort=None)
            conversation = Conversation(model, head, past.history)
        context = AgentContext(
            session_id=self.session_id,
            agent_id=agent_id,
            agent_name=MAIN,
            task_id=None,
            parent_agent_id=None,
            depth=0,
            query_source=MAIN,
            built_in=True,
        )
        return self._agent(
            context,
            conversation,
            policy,
            hooks,
            system=system,
            cwd=self.cwd,
            refused=self._refused_to_main,
            offered=self._of_main(self.tools),
            inbox=Inbox(),
            todos=past.todos if past is not None else (),
        )

    async def renewed(self, agent: Agent, tools: tuple[Tool, ...]) -> Head:
        """Render the main agent's prompt and tools anew, when its prefix changes anyway (A4)."""
        model = agent.conversation.model
        agent.system = await self._system(text_of("main"), self._main_role(), model, self.cwd, instructions=True)
        agent.tools = ChainMap({tool.name: tool for tool in tools}, self._live(None))
        agent.offered = self._of_main(self.remote.shown((*tools, *self.remote.tools().values())))
        return model.head(
            system=agent.system,
            tools=[tool.schema() for tool in agent.offered],
            cache_key=agent.conversation.head.cache_key,
            effort=agent.effort,
        )

    def _coordinates(self) -> bool:
        return self.services.settings().subagents.coordinator

    def _main_role(self) -> str:
        return words_of("coordinator") if self._coordinates() else ""

    def _of_main(self, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        return of_coordinator(tools) if self._coordinates() else tools

    def _refused_to_main(self, tool: Tool) -> str | None:
        """Why the main agent may not have a tool, also one that its conversation was begun with."""
        if self._coordinates() and not of_coordinator((tool,)):
            return "a coordinator only delegates (subagents.coordinator)"
        return self.remote.refusal(tool)

    def _of_subagents(self) -> tuple[Tool, ...]:
        return of_worker(self.tools) if self._coordinates() else self.tools

    async def definition(self, task: Task, order: Order, parent: Agent, hooks: Hooks) -> Birth:
        """Build a subagent by its definition: an empty conversation, then the task (I).

        One with a worktree is told of it; the caller moves it there.
        """
        definition = task.definition
        if definition is None:
            raise AssertionError("a fork has no definition")
        settings = self.services.settings()
        model = order.model or self._model_of(definition, parent, task)
        await self.remote.prepare(task, definition)
        selection = self._selection(task, definition, parent, background=task.record.background)
        for name in selection.unknown:
            task.facts.note(f"its definition names a tool that does not exist: {name}")
        if selection.unknown and not selection.tools:
            raise UserError(f"none of the tools of {definition.name!r} exist: {', '.join(selection.unknown)}")
        cwd = order.cwd or (Path(definition.cwd) if definition.cwd else parent.cwd)
        trimmed = settings.subagents.trim_read_only_context and definition.built_in and definition.name in TRIMMED
        system = await self._system(
            text_of("subagent"), definition.role, model, cwd, instructions=not trimmed, worktree=task.record.worktree
        )
        effort = effort_of(definition.effort)
        shown = self.remote.shown(selection.tools)
        head = model.head(
            system=system,
            tools=[tool.schema() for tool in shown],
            cache_key=f"{self.session_id}:{definition.name}",
            effort=effort,
        )
        agent = self._agent(
            context_of(task),
            Conversation(model, head),
            self._child_policy(parent, definition, task),
            hooks,
            system=system,
            cwd=cwd,
            refused=self._refusals(task, definition, parent, {tool.name for tool in shown}),
            offered=shown,
            inbox=task.inbox,
            task=task,
            effort=effort,
        )
        task.change(model=model.id)
        return birth_of(agent, (self.first_message(task),), hooks)

    def first_message(self, task: Task) -> UserMessage:
        """What a subagent is told first; a fork that never came to its first step is told so late, but the same."""
        if task.definition is None:
            words = f"\n\n{told(task.record.worktree)}" if task.record.worktree is not None else ""
            return UserMessage(text=directive(task.spec.prompt) + words, origin="parent")
        before = (task.definition.initial_prompt or "").strip()
        return UserMessage(text=f"{before}\n\n{task.spec.prompt}" if before else task.spec.prompt, origin="parent")

    def fork(self, task: Task, order: Order, parent: Agent, hooks: Hooks) -> Birth:
        """Build a fork: the parent's conversation and head, byte for byte, then the directive (F1, F2)."""
        conversation, first = fork_conversation(parent.conversation, order.prompt)
        agent = self._agent(
            context_of(task),
            conversation,
            self._child_policy(parent, None, task),
            hooks,
            system=parent.system,
            cwd=parent.cwd,
            refused=lambda tool: refusal(tool, background=task.record.background) or self.remote.refusal(tool),
            offered=parent.offered,
            inbox=task.inbox,
            task=task,
            effort=parent.effort,
            files=parent,
        )
        return birth_of(agent, (first,), hooks)

    def revived(self, task: Task, past: Replay, parent: Agent, hooks: Hooks) -> Agent:
        """Build the agent of a task that goes on from its transcript, with today's rules and no tool it lost (B4)."""
        head = past.head
        model = self._recorded_model(head.model, parent, task)
        if task.definition is None:
            offered = parent.offered
        else:
            recorded = {tool.name for tool in head.tools}
            selection = self._selection(task, task.definition, parent, background=True)
            offered = tuple(tool for tool in selection.tools if tool.name in recorded)
        kept = {tool.name for tool in offered}
        new_head = model.head(
            system=head.system,
            tools=[tool for tool in head.tools if tool.name in kept],
            cache_key=head.cache_key,
            effort=effort_of(head.effort),
        )
        return self._agent(
            replace(context_of(task), spawn="resume"),
            Conversation(model, new_head, past.history),
            self._child_policy(parent, task.definition, task),
            hooks,
            system=head.system,
            cwd=Path(head.cwd),
            refused=self._refusals(task, task.definition, parent, kept),
            offered=offered,
            inbox=task.inbox,
            task=task,
            effort=effort_of(head.effort),
            todos=past.todos,
        )

    def _selection(self, task: Task, definition: AgentDefinition, parent: Agent, *, background: bool) -> Selection:
        """The tools that a definition's subagent may have now."""
        tools = (*self._of_subagents(), *self.remote.tools(task).values())
        return self._select(tools, definition, parent, background=background)

    def _select(
        self, tools: Sequence[Tool], definition: AgentDefinition, parent: Agent, *, background: bool
    ) -> Selection:
        settings = self.services.settings().subagents
        mode = child_mode(parent.policy().mode, definition, allow_dont_ask=settings.allow_dont_ask)
        return select(
            tools, definition, background=background, mode=mode, file_disallowed=settings.file_disallowed_tools
        )

    def _refusals(
        self, task: Task, definition: AgentDefinition | None, parent: Agent, offered: set[str]
    ) -> Callable[[Tool], str | None]:
        """Why a subagent may not have a tool; one of a server that it was not told of, it may if it would be now."""

        def refused(tool: Tool) -> str | None:
            if reason := self.remote.refusal(tool):
                return reason
            found = is_remote(tool) and definition is not None and tool.name not in offered
            if found and definition is not None:
                chosen = self._select((tool,), definition, parent, background=task.record.background)
                return None if chosen.tools else "its definition does not include it"
            return task_refusal(tool, task, offered)

        return refused

    def _live(self, task: Task | None) -> MutableMapping[str, Tool]:
        return cast("MutableMapping[str, Tool]", self.remote.tools(task))

    def _recorded_model(self, name: str, parent: Agent, task: Task) -> Model:
        try:
            return self.services.models.model(name)
        except UserError as error:
            task.facts.note(f"its model {name!r} is not to be had any more, so it went on with its parent's: {error}")
            return parent.conversation.model

    def _agent(
        self,
        context: AgentContext,
        conversation: Conversation,
        policy: Callable[[], Policy],
        hooks: Hooks,
        *,
        system: str,
        cwd: Path,
        refused: Callable[[Tool], str | None],
        offered: tuple[Tool, ...],
        inbox: Inbox,
        effort: Effort | None = None,
        files: Agent | None = None,
        todos: tuple[events.Todo, ...] = (),
        task: Task | None = None,
    ) -> Agent:
        services = self.services
        name = context.agent_name
        # Only a task's changes are undone as a whole; the main agent's are the person's own conversation.
        history = self.history(context.agent_id) if context.task_id is not None else None
        return Agent(
            context=context,
            conversation=conversation,
            tools=ChainMap({tool.name: tool for tool in self.tools}, self._live(task)),
            offered=offered,
            policy=policy,
            engine=services.engine,
            ask=hooks.ask,
            # A command-line run has nobody to show edits to; rules and mode decide there.
            reviews=lambda: not services.headless and services.settings().review_edits == "ask",
            refused=refused,
            emit=hooks.emit,
            intend=hooks.intend,
            files=FileView(agent_id=context.agent_id, agent_name=name, registry=services.registry, history=history)
            if files is None
            else files.files.clone(agent_id=context.agent_id, agent_name=name, history=history),
            processes=services.processes,
            cwd=cwd,
            roots=services.roots,
            output_dir=self.output_dir,
            inbox=inbox,
            system=system,
            effort=effort,
            todos=TodoList(todos),
        )

    def _child_policy(self, parent: Agent, definition: AgentDefinition | None, task: Task) -> Callable[[], Policy]:
        agent_id = task.record.agent_id
        return lambda: self.authority.of_child(parent.policy(), definition, agent_id)

    def _model_of(self, definition: AgentDefinition, parent: Agent, task: Task) -> Model:
        wanted = definition.model
        if wanted in {None, "inherit"}:
            return parent.conversation.model
        try:
            model = self.services.model_or_none(str(wanted))
        except UserError as error:
            task.facts.note(f"its model {wanted!r} is not to be had, so it used its parent's: {error}")
            return parent.conversation.model
        if model is None:
            task.facts.note(f"no model is set for {wanted!r}, so it used its parent's")
            return parent.conversation.model
        return model

    async def _system(
        self, base: str, role: str, model: Model, cwd: Path, *, instructions: bool, worktree: Worktree | None = None
    ) -> str:
        roots = self.services.roots
        if worktree is not None:
            cwd = placed(cwd, worktree)
        environment = Environment(
            cwd=cwd,
            roots=roots if worktree is None else (Path(worktree.path),),
            worktree="" if worktree is None else told(worktree),
            platform=self.services.platform,
            date=dt.datetime.fromtimestamp(self.services.clock(), tz=dt.UTC).date().isoformat(),
            model=model.id,
            branch=await asyncio.to_thread(read_branch, cwd) if instructions else None,
        )
        text = await read_instructions(roots) if instructions else ""
        return render(base=base, role=role, environment=environment, instructions=text)


def birth_of(agent: Agent, prompt: tuple[Message, ...], hooks: Hooks, left_open: LeftOpen | None = None) -> Birth:
    """An agent that is ready to run, with a compaction of its own."""
    return Birth(agent=agent, prompt=prompt, compaction=Compaction(agent, record=hooks.rewrite), left_open=left_open)


def task_refusal(tool: Tool, task: Task, offered: set[str]) -> str | None:
    """Why a definition's subagent may not have a tool: it was not offered, or it is not fit for the background."""
    if tool.name not in offered:
        return "its definition does not include it"
    return refusal(tool, background=task.record.background)


def effort_of(value: str | None) -> Effort | None:
    """A definition's effort; without one a subagent does not think at length (A13)."""
    match value:
        case "low" | "medium" | "high":
            return value
        case _:
            return "none"
