"""`TeamCreate` and `TeamDelete` (X3)."""

from __future__ import annotations

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen
from ensign.tasks.manager import TaskManager
from ensign.tasks.task_tools import find, session_tool
from ensign.tasks.teams import disband, form
from ensign.tools.base import Arguments, Tool, ToolContext, ToolOutput

_TEXT = {"type": "string", "minLength": 1, "maxLength": 64}


@frozen
class TeamTools:
    """What the tools work with."""

    manager: TaskManager

    def tools(self) -> tuple[Tool, ...]:
        """Both."""
        name = {"name": _TEXT | {"description": "The team's name; SendMessage, TaskList and TaskStop take it"}}
        who = {
            "type": "array",
            "items": _TEXT,
            "minItems": 1,
            "description": "Ids, short ids or names of running tasks",
        }
        return (
            session_tool("TeamCreate", name | {"members": who}, ("name", "members"), self.create),
            session_tool("TeamDelete", name, ("name",), self.delete),
        )

    async def create(self, _: ToolContext, arguments: Arguments) -> ToolOutput:
        """Name running tasks as a team."""
        team = arguments["name"].strip()
        tasks = {task.id: task for task in (find(self.manager, one) for one in arguments["members"])}
        form(self.manager, team, tuple(tasks.values()))
        listed = ", ".join(task.record.name or task.record.short_id for task in tasks.values())
        return ToolOutput(text=f"team {team}: {listed}")

    async def delete(self, _: ToolContext, arguments: Arguments) -> ToolOutput:
        """End a team; its members go on."""
        team = arguments["name"].strip()
        if not disband(self.manager, team):
            raise ToolError(f"there is no team {team!r}")
        return ToolOutput(text=f"team {team} is no more; its members go on")
