"""The `Agent` tool: delegation, a tool like any other (A1). It starts a task and awaits "done or detached"."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ensign.protocol.access import Access, Effect
from ensign.protocol.definition import AgentDefinition
from ensign.protocol.errors import ToolError, UserError
from ensign.protocol.messages import Usage
from ensign.protocol.settings import SubagentSettings
from ensign.protocol.tasks import Envelope
from ensign.protocol.value import frozen
from ensign.runtime.agent import Agent
from ensign.tasks.agent_schema import description, may_fork, parameters
from ensign.tasks.coordinator import suggestion
from ensign.tasks.envelope import launched, moved
from ensign.tasks.manager import TaskManager
from ensign.tasks.order import DEFAULT_AGENT, FORK, Rules, order_of
from ensign.tasks.report import as_text
from ensign.tasks.task import Task
from ensign.tools.base import Arguments, Tool, ToolContext, ToolOutput

PARENT = "its parent's turn, which was cancelled"


@frozen
class Delegation:
    """What the tool works with: the manager, who calls, and what orders are checked against."""

    manager: TaskManager
    agent_of: Callable[[str], Agent]
    rules: Callable[[], Rules]
    price: Callable[[str, Usage], float | None]

    async def run(self, ctx: ToolContext, arguments: Arguments) -> ToolOutput:
        """Start a subagent; in the foreground, wait for its end and return its envelope."""
        caller = self.agent_of(ctx.agent_id)
        rules = self.rules()
        try:
            task = self.manager.spawn(order_of(arguments, caller, ctx.call_id, rules), caller)
        except UserError as error:
            raise ToolError(f"the subagent was not started: {error}") from error
        if task.record.background:
            # What is acknowledged is on disk.
            await task.ready.wait()
            return output_of(launched(task))
        envelope = await self.attached(task, rules.settings)
        output = output_of(envelope)
        return replace(output, text=output.text + suggestion(envelope.report)) if rules.settings.coordinator else output

    async def attached(self, task: Task, settings: SubagentSettings) -> Envelope:
        """Wait until a foreground run ends or belongs to nobody's call any more; cancelled, take it along (I1)."""
        over = task.ended
        ended = asyncio.ensure_future(over.wait())
        detached = asyncio.ensure_future(task.detached.wait())
        limit = settings.foreground_seconds if settings.background else None
        try:
            done, _ = await asyncio.wait({ended, detached}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.manager.abandon(task, over, PARENT)
            raise
        finally:
            ended.cancel()
            detached.cancel()
        if not done and not over.is_set():
            self.manager.background(task, f"moved to the background after {limit:g} seconds")
        # A run that was let go and ended in one moment is told by its notification, so not here as well. One that a
        # message made go on in the moment it ended has still ended for this call.
        if over.is_set() and task.last is not None and not task.notification:
            return task.last
        return moved(task, settings.report_chars)

    def accesses(self, ctx: ToolContext, arguments: Arguments) -> Sequence[Access]:
        """Which type is spawned (rules `Agent(name)`), and the folder it is sent to; a costly fork asks first (F5)."""
        rules = self.rules()
        kind = kind_of(arguments, rules)
        ask = self._cost(ctx, rules.settings) if kind == FORK else None
        spawn = Access(effect=Effect.SESSION, target=kind, ask=ask)
        cwd = arguments.get("cwd")
        if not cwd:
            return (spawn,)
        return (
            spawn,
            Access(
                effect=Effect.READ, target=str(cwd), path=ctx.files.resolve(str(cwd), cwd=ctx.cwd, call_id=ctx.call_id)
            ),
        )

    def _cost(self, ctx: ToolContext, settings: SubagentSettings) -> str | None:
        """Why a fork is to be asked about: it sends a long conversation at each of its steps."""
        conversation = self.agent_of(ctx.agent_id).conversation
        if conversation.tokens <= settings.fork_ask_tokens:
            return None
        dollars = self.price(conversation.model.id, Usage(cache_read=conversation.tokens))
        cost = f", at least ${dollars:.2f} a step," if dollars else ""
        return f"this fork starts with about {conversation.tokens:,} tokens{cost} and sends them at each of its steps"


def kind_of(arguments: Arguments, rules: Rules) -> str:
    """The type that a call would start; without one, a fork or what stands in for it."""
    named = str(arguments.get("subagent_type") or "").strip()
    return named or (FORK if may_fork(rules.settings, headless=rules.headless) else DEFAULT_AGENT)


def output_of(envelope: Envelope) -> ToolOutput:
    """The tool's output: the envelope; a run that failed is an error the model should notice."""
    return ToolOutput(text=as_text(envelope), is_error=envelope.status == "failed")


def activity(arguments: Arguments) -> str:
    """What a call does, in words."""
    return f"{arguments.get('subagent_type') or FORK}: {arguments.get('description', '')}"


def agent_tool(
    delegation: Delegation,
    definitions: Iterable[AgentDefinition],
    settings: SubagentSettings,
    *,
    headless: bool,
    git: bool,
) -> Tool:
    """Build the tool; its words and schema are fixed for the conversation it is built for (A4)."""
    return Tool(
        name="Agent",
        description=description(definitions, settings, headless=headless),
        parameters=parameters(settings, git=git),
        effect=Effect.SESSION,
        parallel=True,
        subagent=False,
        background=False,
        run=delegation.run,
        accesses=delegation.accesses,
        activity=activity,
    )
