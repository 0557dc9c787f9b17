"""What a run is doing, on standard error: a live tree of agents in a terminal, plain lines elsewhere."""

from __future__ import annotations

import shutil
from typing import Protocol, TextIO

from ensign.protocol import events
from ensign.protocol.tasks import TaskRecord, TaskState

_MARKS = {
    TaskState.QUEUED: "·",
    TaskState.RUNNING: "▸",
    TaskState.WAITING: "?",
    TaskState.STOPPING: "◌",
    TaskState.COMPLETED: "✓",
    TaskState.PARTIAL: "◐",
    TaskState.FAILED: "✗",
    TaskState.STOPPED: "■",
    TaskState.INTERRUPTED: "■",
}


class Progress(Protocol):
    """Shows events to a person while a command runs."""

    def read(self, event: events.Event) -> None:
        """Take in an event."""
        ...

    def close(self) -> None:
        """Leave the terminal as it should be for what is printed next."""
        ...


def progress_for(stream: TextIO) -> Progress:
    """A tree where the stream is a terminal, lines where it is not."""
    return Tree(stream) if stream.isatty() else Lines(stream)


def line_of(record: TaskRecord) -> str:
    """One task in one line."""
    what = record.activity or record.reason or record.state.value
    figures = f"{record.tool_calls} calls, {record.usage.total:,} tokens"
    return f"{_MARKS[record.state]} {record.agent} ({record.description}): {what} · {figures}"


class Lines:
    """A line for each thing that happens; what is repeated is left out."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._names: dict[str, str] = {}
        self._states: dict[str, TaskState] = {}

    def read(self, event: events.Event) -> None:
        """Print what is news."""
        match event:
            case events.TaskChanged(record=record):
                self._names[record.agent_id] = record.agent
                if self._states.get(record.id) is not record.state:
                    self._states[record.id] = record.state
                    reason = f" ({record.reason})" if record.reason else ""
                    self._say(f"{record.agent}: {record.state.value}{reason}: {record.description}")
            case events.ToolStarted(activity=activity):
                self._say(f"{self._name(event)}: {activity}")
            case events.ToolFinished(denied_by=str() as by, tool=tool):
                self._say(f"{self._name(event)}: {tool} denied by {by}")
            case events.StepRestarted(reason=reason):
                self._say(f"{self._name(event)}: asking again: {reason}")
            case events.Notice(text=text, level=level):
                self._say(f"{level}: {text}")
            case events.TurnFailed(message=message):
                self._say(f"{self._name(event)}: failed: {message}")
            case _:
                pass

    def close(self) -> None:
        """Nothing is left to mend."""

    def _name(self, event: events.Event) -> str:
        return self._names.get(event.agent_id, "main")

    def _say(self, line: str) -> None:
        self._stream.write(f"{line}\n")
        self._stream.flush()


class Tree:
    """The main agent and its tasks, redrawn in place."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._main = "thinking"
        self._tasks: dict[str, TaskRecord] = {}
        self._drawn = 0

    def read(self, event: events.Event) -> None:
        """Redraw when something changed."""
        match event:
            case events.TaskChanged(record=record):
                self._tasks[record.id] = record
            case events.ToolStarted(activity=activity, task_id=None):
                self._main = activity
            case events.StepStarted(task_id=None):
                self._main = "thinking"
            case events.Notice(text=text):
                self._clear()
                self._stream.write(f"{text}\n")
            case _:
                return
        self._draw()

    def close(self) -> None:
        """Take the tree away."""
        self._clear()
        self._stream.flush()

    def _draw(self) -> None:
        width = shutil.get_terminal_size().columns - 1
        lines = [f"▸ main: {self._main}", *(f"  {line_of(record)}" for record in self._tasks.values())]
        self._clear()
        self._stream.write("".join(f"{line[:width]}\n" for line in lines))
        self._stream.flush()
        self._drawn = len(lines)

    def _clear(self) -> None:
        if self._drawn:
            self._stream.write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0
