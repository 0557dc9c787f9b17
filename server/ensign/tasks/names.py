"""Names under which agents reach tasks (B5): one holder at a time, the latest; earlier ones are reached by their id."""

from __future__ import annotations

from collections.abc import Callable

from ensign.protocol.errors import ToolError
from ensign.tasks.task import Task


class Names:
    """Which task a name means."""

    __slots__ = ("_holders", "_tasks")

    def __init__(self, tasks: Callable[[], list[Task]]) -> None:
        self._tasks = tasks
        self._holders: dict[str, str] = {}

    def holder(self, name: str) -> str | None:
        """The id of the task that the name means, None when it means none."""
        return self._holders.get(name)

    def refuse_taken(self, name: str | None) -> None:
        """Refuse a name that a task which has not ended has, or is being started under.

        Raises:
            ToolError: says which.
        """
        for task in self._tasks() if name else ():
            if task.record.name == name and not task.state.terminal:
                raise ToolError(f"the name {name!r} belongs to task {task.record.short_id}, which has not ended")

    def give(self, task: Task) -> None:
        """Let the task's name mean it from now on."""
        if task.record.name:
            self._holders[task.record.name] = task.id

    def free(self, task: Task) -> None:
        """Let no name mean the task any more."""
        self._holders = {name: holder for name, holder in self._holders.items() if holder != task.id}

    def note(self, name: str, meant: Task) -> str:
        """Say whom a name does not mean any more, where that could be mistaken; empty when it could not."""
        earlier = [one for one in self._tasks() if one.record.name == name and one is not meant]
        if not earlier or self.holder(name) != meant.id:
            return ""
        known = ", ".join(one.record.short_id for one in earlier)
        return f" (the name {name!r} means this task now; the earlier one is reached by its id: {known})"
