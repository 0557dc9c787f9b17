"""`EnterWorktree` and `ExitWorktree`: an agent gives itself a git worktree, and leaves it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ensign.protocol.access import Effect, Mode
from ensign.protocol.errors import ToolError
from ensign.protocol.ids import short_id
from ensign.protocol.messages import AssistantMessage, Message
from ensign.protocol.value import frozen
from ensign.runtime.agent import Agent
from ensign.session.isolation import Entered, Isolation, told
from ensign.tasks.task import Task
from ensign.tasks.words import text_of
from ensign.tools.base import Arguments, Tool, ToolContext, ToolOutput, no_accesses

ENTER, EXIT = "EnterWorktree", "ExitWorktree"


@frozen
class WorktreeTools:
    """What the two tools work with.

    Attributes:
        agent_of: an agent by its id, with its task unless it is the main agent.
    """

    isolation: Isolation
    agent_of: Callable[[str], tuple[Agent, Task | None]]

    def tools(self) -> tuple[Tool, ...]:
        """Both, in the order in which models are told."""
        name = {
            "type": "string",
            "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$",
            "description": "Name of worktree and branch; by default one is made up",
        }
        return (_tool(ENTER, {"name": name}, self.enter), _tool(EXIT, {}, self.leave))

    async def enter(self, ctx: ToolContext, arguments: Arguments) -> ToolOutput:
        """Make a worktree and go there."""
        agent, task = self.agent_of(ctx.agent_id)
        if ctx.agent_id in self.isolation.entered or (task is not None and _live(task)):
            raise ToolError(f"you work in a worktree already: {ctx.cwd}")
        if agent.policy().mode is Mode.PLAN:
            raise ToolError("no worktree is made in plan mode, where nothing is changed")
        name = arguments.get("name") or f"agent-{task.record.short_id if task is not None else short_id(ctx.agent_id)}"
        made = await self.isolation.worktrees.create(agent.cwd, name, ctx.agent_id)
        self.isolation.entered[ctx.agent_id] = Entered(worktree=made, back=self.isolation.move(agent, made))
        if task is not None:
            task.change(worktree=made)
        return ToolOutput(text=told(made))

    async def leave(self, ctx: ToolContext, _: Arguments) -> ToolOutput:
        """Go back; what is empty is removed."""
        agent, task = self.agent_of(ctx.agent_id)
        entered = self.isolation.entered.pop(ctx.agent_id, None)
        if entered is None:
            raise ToolError("you are in no worktree that you entered with EnterWorktree, so there is none to leave")
        if task is not None:
            await self.isolation.over(task)
            after = task.record.worktree or entered.worktree
        else:
            after = await self.isolation.worktrees.settle(entered.worktree)
        entered.back()
        return ToolOutput(text=f"You work in {agent.cwd} again. {after.in_words}")


def inside(history: list[Message]) -> bool:
    """Whether a conversation ends in a worktree that its agent entered."""
    names = [call.name for one in history if isinstance(one, AssistantMessage) for call in one.calls]
    return next((name == ENTER for name in reversed(names) if name in {ENTER, EXIT}), False)


def _live(task: Task) -> bool:
    return task.record.worktree is not None and task.record.worktree.state == "live"


def _tool(
    name: str, properties: Mapping[str, Any], run: Callable[[ToolContext, Arguments], Awaitable[ToolOutput]]
) -> Tool:
    return Tool(
        name=name,
        description=text_of(name),
        parameters={"type": "object", "properties": dict(properties), "additionalProperties": False},
        effect=Effect.SESSION,
        parallel=False,
        subagent=True,
        background=True,
        run=run,
        accesses=no_accesses,
        activity=lambda _: "entering a worktree" if name == ENTER else "leaving its worktree",
    )
