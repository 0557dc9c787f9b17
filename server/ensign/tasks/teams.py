"""Teams: running tasks under one name, so that their leader messages, lists and stops them together (X3)."""

from __future__ import annotations

from collections.abc import Sequence

from ensign.protocol.errors import ToolError
from ensign.tasks.manager import TaskManager
from ensign.tasks.task import Task

FORMED = "part of a team now"


def members(manager: TaskManager, team: str) -> list[Task]:
    """The tasks of a team, oldest first; a team is what its members' records say, so it outlives the process."""
    return [task for task in manager.tasks.values() if task.record.team == team]


def form(manager: TaskManager, team: str, tasks: Sequence[Task]) -> None:
    """Make these running tasks a team. They belong to nobody's call any more: a leader's turn may end before them.

    Raises:
        ToolError: the name is taken, or a task has ended or is in a team.
    """
    if members(manager, team):
        raise ToolError(f"there is a team {team!r} already; end it with TeamDelete, or take another name")
    if manager.find(team) is not None:
        raise ToolError(f"a task goes by {team!r}; take another name")
    for task in tasks:
        if task.state.terminal:
            raise ToolError(f"task {task.record.short_id} has ended ({task.state.value}); a team is of running tasks")
        if task.record.team is not None:
            raise ToolError(f"task {task.record.short_id} is in team {task.record.team!r}")
    for task in tasks:
        if not task.record.background:
            manager.background(task, FORMED)
        task.change(team=team)
        task.tell()


def disband(manager: TaskManager, team: str) -> list[Task]:
    """End a team and return its members, who go on as they are."""
    found = members(manager, team)
    for task in found:
        task.change(team=None)
        task.tell()
    return found
