"""The main agent's tools for the tasks it started: look, wait, stop, start, label, message (B5, B6)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ensign.protocol.access import Access, Effect
from ensign.protocol.codec import to_wire
from ensign.protocol.errors import ToolError, UserError
from ensign.protocol.messages import ToolCall, UserMessage
from ensign.protocol.tasks import TaskRecord
from ensign.protocol.value import frozen
from ensign.runtime.agent import Agent
from ensign.tasks.agent_tool import output_of
from ensign.tasks.envelope import launched
from ensign.tasks.manager import TaskManager
from ensign.tasks.order import Rules, order_of
from ensign.tasks.report import escaped
from ensign.tasks.task import Task
from ensign.tasks.teams import members
from ensign.tasks.words import text_of
from ensign.tools.base import Arguments, Tool, ToolContext, ToolOutput

AGENT = "the main agent"
WAIT_S = 600.0
"""At most so long does one `TaskOutput` wait."""
_TEXT = {"type": "string"}
_TASK = {"task_id": _TEXT | {"description": "Id, short id or name of the task"}}
_STOPPED = {"task_id": _TEXT | {"description": "Id, short id or name of the task, or the name of a team"}}


@frozen
class TaskTools:
    """What the tools work with.

    Attributes:
        agent: the `Agent` tool: whoever may not use it to start a type may not start it here either (A14).
        read: the end of this task has been read, so it need not be announced any more (N2).
        pending: whether the end of this task waits to be announced.
    """

    manager: TaskManager
    agent_of: Callable[[str], Agent]
    agent: Tool
    rules: Callable[[], Rules]
    read: Callable[[Task], None]
    pending: Callable[[Task], bool]

    def tools(self) -> tuple[Tool, ...]:
        """All of them, in the order in which models are told."""
        everything = {"all": {"type": "boolean", "description": "Also those that ended and were announced"}}
        wait = {"wait_seconds": {"type": "number", "minimum": 0, "maximum": WAIT_S}}
        order = {"prompt": _TEXT, "description": _TEXT, "subagent_type": _TEXT, "name": _TEXT}
        labels = {"description": _TEXT, "name": _TEXT}
        message = {"to": _TEXT | {"description": "Name, id or short id, or the name of a team"}, "message": _TEXT}
        return (
            session_tool("TaskList", everything, (), self.list),
            session_tool("TaskGet", _TASK, ("task_id",), self.get),
            session_tool("TaskOutput", _TASK | wait, ("task_id",), self.output),
            session_tool("TaskStop", _STOPPED, ("task_id",), self.stop),
            session_tool("TaskCreate", order, ("prompt", "description", "subagent_type"), self.create),
            session_tool("TaskUpdate", _TASK | labels, ("task_id",), self.update),
            session_tool("SendMessage", message, ("to", "message"), self.send),
        )

    async def list(self, _: ToolContext, arguments: Arguments) -> ToolOutput:
        """Live tasks and those whose end is not announced yet; with `all`, every one."""
        chosen = [
            task.record
            for task in self.manager.tasks.values()
            if arguments.get("all") or not task.state.terminal or self.pending(task)
        ]
        return ToolOutput(text=escaped([_row(record) for record in chosen]) if chosen else "no tasks")

    async def get(self, _: ToolContext, arguments: Arguments) -> ToolOutput:
        """The whole record."""
        return ToolOutput(text=escaped(to_wire(self._find(arguments["task_id"]).record)))

    async def output(self, _: ToolContext, arguments: Arguments) -> ToolOutput:
        """The report so far; waits for the end as long as it is told to."""
        task = self._find(arguments["task_id"])
        wait_s = min(float(arguments.get("wait_seconds", 0)), WAIT_S)
        if not task.state.terminal and wait_s > 0:
            ended = asyncio.ensure_future(task.ended.wait())
            await asyncio.wait({ended}, timeout=wait_s)
            ended.cancel()
        if task.record.envelope is not None:
            self.read(task)
            return output_of(task.record.envelope)
        so_far = "".join(task.partial).strip() or task.report
        state = {"taskId": task.id, "state": task.state.value, "activity": task.record.activity, "soFar": so_far}
        return ToolOutput(text=escaped(state))

    async def stop(self, _: ToolContext, arguments: Arguments) -> ToolOutput:
        """Stop a task with all it started, or the tasks of a team."""
        if team := members(self.manager, arguments["task_id"].strip()):
            ended = await asyncio.gather(*(self.manager.stop(task, AGENT) for task in team))
            names = [task.record.short_id for task, now in zip(team, ended, strict=True) if now]
            return ToolOutput(text=f"stopped: {', '.join(names) or 'none, all had ended'}")
        task = self._find(arguments["task_id"])
        stopped = await self.manager.stop(task, AGENT)
        if not stopped:
            return ToolOutput(text=f"task {task.record.short_id} had ended already ({task.state.value})")
        return ToolOutput(text=f"task {task.record.short_id} is stopped")

    async def create(self, ctx: ToolContext, arguments: Arguments) -> ToolOutput:
        """Start a subagent in the background."""
        caller = self.agent_of(ctx.agent_id)
        call = ToolCall(call_id=ctx.call_id, name=self.agent.name, arguments=arguments, raw=json.dumps(dict(arguments)))
        await caller.gate().permit(call, self.agent, ctx, self.agent.accesses(ctx, arguments))
        order = order_of(arguments, caller, ctx.call_id, self.rules())
        if not self.rules().settings.background:
            raise ToolError("background work is switched off (subagents.background); use Agent")
        task = self.manager.spawn(replace(order, background=True), caller)
        await task.ready.wait()
        return output_of(launched(task))

    async def update(self, _: ToolContext, arguments: Arguments) -> ToolOutput:
        """Change a task's labels."""
        task = self._find(arguments["task_id"])
        if name := arguments.get("name"):
            self.manager.rename(task, name)
        if description := arguments.get("description"):
            task.change(description=" ".join(description.split())[:200])
        task.tell()
        return ToolOutput(text=f"task {task.record.short_id}: {task.record.description}")

    async def send(self, _: ToolContext, arguments: Arguments) -> ToolOutput:
        """Send a message to a task, or to those of a team that run."""
        to = arguments["to"].strip()
        text = arguments["message"].strip()
        if not text:
            raise ToolError("the message is blank")
        if team := members(self.manager, to):
            return await self._send_to_all(team, text)
        task = self._find(to)
        done = await self.manager.send(task, UserMessage(text=text, origin="parent"))
        return ToolOutput(text=f"{done}{self.manager.named(to, task)}")

    async def _send_to_all(self, team: Sequence[Task], text: str) -> ToolOutput:
        """A message to a team resumes nobody: who has ended has reported."""
        said: list[str] = []
        for task in team:
            if task.state.terminal:
                said.append(f"{task.record.short_id} has ended ({task.state.value}) and was not told")
            else:
                said.append(await self.manager.send(task, UserMessage(text=text, origin="parent")))
        return ToolOutput(text="\n".join(said))

    def _find(self, identifier: str) -> Task:
        return find(self.manager, identifier)


def find(manager: TaskManager, identifier: str) -> Task:
    """Return the task with this id, short id or name.

    Raises:
        ToolError: there is none, and which there are.
    """
    task = manager.find(identifier.strip())
    if task is None:
        known = ", ".join(one.record.name or one.record.short_id for one in manager.tasks.values())
        raise ToolError(f"there is no task {identifier!r}; there are: {known or 'none'}")
    return task


def _row(record: TaskRecord) -> Mapping[str, Any]:
    return {
        "id": record.short_id,
        "name": record.name,
        "agent": record.agent,
        "description": record.description,
        "team": record.team,
        "state": record.state.value,
        "reason": record.reason,
        "activity": record.activity,
        "toolCalls": record.tool_calls,
        "outputFile": record.output_file,
    }


def _nothing(_ctx: ToolContext, _arguments: Arguments) -> Sequence[Access]:
    return ()


def session_tool(
    name: str,
    properties: Mapping[str, Any],
    required: tuple[str, ...],
    run: Callable[[ToolContext, Arguments], Awaitable[ToolOutput]],
) -> Tool:
    """Return a tool of the main agent that works on the session's records, with its words from `words/`."""

    async def guarded(ctx: ToolContext, arguments: Arguments) -> ToolOutput:
        try:
            return await run(ctx, arguments)
        except UserError as error:
            raise ToolError(str(error)) from error

    def activity(arguments: Arguments) -> str:
        target = arguments.get("task_id") or arguments.get("to") or arguments.get("description") or ""
        return f"{name} {target}".strip()

    schema = {"type": "object", "properties": dict(properties), "required": list(required)}
    return Tool(
        name=name,
        description=text_of(name),
        parameters=schema | {"additionalProperties": False},
        effect=Effect.SESSION,
        parallel=False,
        subagent=False,
        background=False,
        run=guarded,
        accesses=_nothing,
        activity=activity,
    )
