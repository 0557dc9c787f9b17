"""What a tool is: its words for the model, what it would touch, and how it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ensign.protocol.access import Access, Effect
from ensign.protocol.events import Todo
from ensign.protocol.messages import Image, ToolSchema
from ensign.protocol.tasks import CommandRun, FileChange
from ensign.protocol.value import frozen
from ensign.workspace.processes import Processes
from ensign.workspace.sandbox import Confinement
from ensign.workspace.view import FileView

Arguments = Mapping[str, Any]
BUILT_IN = "built-in"


@dataclass(slots=True)
class TodoList:
    """An agent's own to-do list; `TodoWrite` replaces it whole."""

    todos: tuple[Todo, ...] = ()


@frozen
class ToolContext:
    """What a tool may touch. Nothing else reaches it: no globals, no cwd, no environment.

    Attributes:
        agent_name: the subagent's name, or `main`; labels edits and refusals.
        cwd: the agent's working directory, absolute; relative paths resolve against it.
        roots: the workspace folders.
        files: this agent's view of files (what it has read, in which version).
        output_dir: where long outputs are spilled; reading it needs no approval.
        progress: tells people what a running call does; never waits.
        require: the gate once more, for accesses that are known only while running.
        confinement: the sandbox of this agent's commands, or None.
        allows: whether such accesses would pass without a question; nobody is asked.

    Raises (from `require`):
        DeniedError: the access was not allowed.
    """

    session_id: str
    agent_id: str
    task_id: str | None
    call_id: str
    agent_name: str
    cwd: Path
    roots: tuple[Path, ...]
    files: FileView
    processes: Processes
    todos: TodoList
    output_dir: Path
    progress: Callable[[str], None]
    require: Callable[[Sequence[Access]], Awaitable[None]]
    confinement: Confinement | None
    allows: Callable[[Sequence[Access]], bool]


@frozen
class ToolOutput:
    """What a tool returns: `text` for the model, the rest for the record and for people.

    Attributes:
        is_error: the call ran but failed in a way the model must see (a command's non-zero exit is not an error).
        diff: a unified diff for people.
    """

    text: str
    images: tuple[Image, ...] = ()
    is_error: bool = False
    files: tuple[FileChange, ...] = ()
    command: CommandRun | None = None
    diff: str | None = None


@frozen
class Preview:
    """What an edit would change, shown before a person answers."""

    path: Path
    before: str
    after: str


def no_accesses(_ctx: ToolContext, _arguments: Arguments) -> Sequence[Access]:
    """For tools that touch nothing but the session's records."""
    return ()


@frozen
class Tool:
    """A tool, declared in one place (T2); there is no other list that says what it may do.

    Attributes:
        parameters: JSON Schema of the arguments; they are checked against it before `accesses` and `run`.
        effect: what the tool does at most; decides permission defaults.
        parallel: whether neighbouring calls of one message may run side by side.
        subagent, background: whether a subagent, and one in the background, may have it.
        accesses: what a call with these arguments would touch, without doing it; may stat, never blocks for long.
        run: does it. Raises `ToolError` with a sentence for the model.
        activity: what a call does in words for people (`searching for "parse_"`).
        preview: for edits, the change before it is made. Raises `ToolError`, as `run`, where it cannot be made.
        origin: who brings the tool along: `built-in`, or an MCP server by name.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    effect: Effect
    parallel: bool
    subagent: bool
    background: bool
    run: Callable[[ToolContext, Arguments], Awaitable[ToolOutput]]
    accesses: Callable[[ToolContext, Arguments], Sequence[Access]]
    activity: Callable[[Arguments], str]
    preview: Callable[[ToolContext, Arguments], Awaitable[Preview]] | None = None
    origin: str = BUILT_IN

    def schema(self) -> ToolSchema:
        """What the model is told."""
        return ToolSchema(name=self.name, description=self.description, parameters=self.parameters)
