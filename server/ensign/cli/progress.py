"""What a run is doing, on standard error: a live tree of agents in a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

from ensign.cli.output import Output
from ensign.cli.text import cut, one_line
from ensign.protocol import events
from ensign.protocol.messages import Usage
from ensign.protocol.tasks import TaskRecord, TaskState

LINE_WIDTH = 160
"""Two lines of an old terminal; what an agent does may be a regular expression of any length."""
REDRAW_S = 0.05

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
_COLORS = {
    "red": "31",
    "blue": "34",
    "green": "32",
    "yellow": "33",
    "purple": "35",
    "orange": "38;5;208",
    "pink": "38;5;205",
    "cyan": "36",
}


class Progress(Protocol):
    """Shows events to a person while a command runs."""

    def read(self, event: events.Event) -> None:
        """Take in an event."""
        ...

    def note(self, text: str) -> None:
        """Show a line that is no event."""
        ...

    def held(self) -> AbstractContextManager[None]:
        """Keep quiet inside: somebody else has the terminal."""
        ...

    def close(self) -> None:
        """Leave the terminal as it should be for what is printed next."""
        ...


def progress_for(output: Output, environment: Mapping[str, str], *, tree: bool) -> Progress:
    """A tree where it can be drawn and is wanted, lines where not."""
    if tree and output.terminal and environment.get("TERM", "dumb") != "dumb":
        return Tree(output, colors=not environment.get("NO_COLOR"))
    return Lines(output)


class Lines:
    """A line for each thing that happens; what is repeated is left out."""

    def __init__(self, output: Output) -> None:
        self._output = output
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
                    self.note(f"{record.agent}: {record.state.value}{reason}: {record.description}")
                    if record.state.terminal and record.worktree is not None and record.worktree.there:
                        # Whole, since its path is what one goes on with.
                        self._output.write(one_line(f"{record.agent}: {record.worktree.in_words}") + "\n")
            case events.ToolStarted(activity=activity):
                self.note(f"{self._name(event)}: {activity}")
            case events.ToolFinished(denied_by=str() as by, tool=tool, target=target):
                self.note(f"{self._name(event)}: {tool} denied ({by}): {target}")
            case events.StepRestarted(reason=reason):
                self.note(f"{self._name(event)}: asking again: {reason}")
            case events.Notice(text=text, level=level):
                self.note(f"{level}: {text}")
            case _:
                pass

    def note(self, text: str) -> None:
        """Print a line, not too long."""
        self._output.write(cut(one_line(text), LINE_WIDTH) + "\n")

    def held(self) -> AbstractContextManager[None]:
        """Lines disturb nobody."""
        return nullcontext()

    def close(self) -> None:
        """Nothing is left to mend."""

    def _name(self, event: events.Event) -> str:
        return self._names.get(event.agent_id, "main")


class Tree:
    """The main agent and its tasks, redrawn in place; the last picture stays."""

    def __init__(self, output: Output, *, colors: bool) -> None:
        self._output = output
        self._colors = colors
        self._main = ""
        self._calls = 0
        self._usage = Usage()
        self._tasks: dict[str, TaskRecord] = {}
        self._drawn = 0
        self._holds = 0
        self._timer: asyncio.TimerHandle | None = None

    def read(self, event: events.Event) -> None:
        """Redraw soon when something changed."""
        match event:
            case events.TaskChanged(record=record):
                self._tasks[record.id] = record
            case events.ToolStarted(activity=activity, task_id=None):
                self._main, self._calls = activity, self._calls + 1
            case events.StepStarted(task_id=None):
                self._main = "thinking"
            case events.StepRestarted(task_id=None, reason=reason):
                self._main = f"asking again: {reason}"
            case events.UsageReported(task_id=None, usage=usage):
                self._usage += usage
            case events.TurnEnded(task_id=None) | events.TurnFailed(task_id=None):
                self._main = "done"
            case events.Notice(text=text):
                self.note(text)
                return
            case _:
                return
        self._draw_soon()

    def note(self, text: str) -> None:
        """Print a line above the tree."""
        self._clear()
        self._output.write(f"{one_line(text)}\n")
        self._draw_soon()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Take the tree away while inside."""
        self._clear()
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self._draw_soon()

    def close(self) -> None:
        """Draw the last picture."""
        if self._timer is not None:
            self._timer.cancel()
        if self._main or self._tasks:
            self._draw()

    def _draw_soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(REDRAW_S, self._draw)

    def _draw(self) -> None:
        self._timer = None
        if self._holds:
            return
        width, height = self._output.size()
        lines = list(self._lines(width - 1, height - 2))
        self._clear()
        self._output.write("".join(f"{line}\n" for line in lines))
        self._drawn = len(lines)

    def _lines(self, width: int, room: int) -> Iterator[str]:
        """What fits: where there is no room for all tasks, those that have ended go first."""
        if self._main:
            figures = figures_of(self._calls, self._usage)
            yield self._line(f"{'✓' if self._main == 'done' else '▸'} main", None, f": {self._main} · {figures}", width)
            room -= 1
        records = list(self._tasks.values())
        if len(records) > room:
            records.sort(key=lambda record: record.state.terminal)
        for record in records[:room]:
            what = record.activity or record.reason or record.state.value
            figures = figures_of(record.tool_calls, record.usage)
            rest = f": {record.description}: {what} · {figures}"
            yield self._line(f"  {_MARKS[record.state]} {record.agent}", record.color, rest, width)
        if len(records) > room:
            yield f"  … {len(records) - room} more"

    def _line(self, head: str, color: str | None, rest: str, width: int) -> str:
        line = cut(f"{head}{one_line(rest)}", width)
        if color is None or not self._colors or not line.startswith(head):
            return line
        return f"\x1b[{_COLORS[color]}m{head}\x1b[0m{line[len(head) :]}"

    def _clear(self) -> None:
        if self._drawn:
            self._output.write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0


def figures_of(calls: int, usage: Usage) -> str:
    """What an agent has done and used."""
    return f"{calls} call{'s' if calls != 1 else ''}, {usage.total:,} tokens"
