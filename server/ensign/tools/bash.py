"""The `Bash` tool: runs a command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ensign.protocol.access import Access, Effect
from ensign.protocol.errors import ToolError
from ensign.protocol.tasks import CommandRun
from ensign.tools.base import Arguments, Tool, ToolContext, ToolOutput
from ensign.tools.words import output_path, words_of
from ensign.workspace.processes import PROCESS_LIMIT, Command, CommandResult

DEFAULT_MS = 120_000
MAX_MS = 600_000


async def run(ctx: ToolContext, arguments: Arguments) -> ToolOutput:
    """Run the line in a shell of its own; what it leaves in the background ends with it."""
    line = arguments["command"]
    if not line.strip():
        raise ToolError("the command is empty")
    cwd = _folder(ctx)
    timeout_ms = arguments.get("timeout", DEFAULT_MS)
    ctx.files.command_started()
    try:
        result = await ctx.processes.run(
            Command(
                line=line,
                cwd=cwd,
                agent_id=ctx.agent_id,
                timeout_s=timeout_ms / 1000,
                output=output_path(ctx.output_dir, ctx.call_id),
                on_output=ctx.progress,
                confinement=ctx.confinement,
            )
        )
    finally:
        ctx.files.command_ended()
    notes = _notes(result, timeout_ms)
    if result.sandboxed and result.exit_code and ctx.confinement is not None:
        where = " outside of the workspace" if ctx.confinement.writable else ""
        notes.append(f"it ran in a sandbox: no network, no writing{where}, no secrets of the person's home folder")
    if cwd != ctx.cwd:
        notes.insert(0, f"the working directory {str(ctx.cwd)!r} is missing; the command ran in {str(cwd)!r}")
    text = result.output.text
    if text and notes and not text.endswith("\n"):
        text += "\n"
    return ToolOutput(
        text=(text + "\n".join(f"[{note}]" for note in notes)) or "[no output]",
        is_error=result.stopped is not None,
        command=CommandRun(command=line, exit_code=result.exit_code),
    )


def _notes(result: CommandResult, timeout_ms: int) -> list[str]:
    notes: list[str] = []
    if result.stopped == "time":
        notes.append(f"stopped after {timeout_ms / 1000:g} s, with all its processes; a longer timeout can be given")
    elif result.stopped == "processes":
        notes.append(f"stopped: it had started more than {PROCESS_LIMIT // 2:,} processes")
    elif result.exit_code:
        notes.append(f"exit code {result.exit_code}")
    if result.ended:
        notes.append(f"ended with the command, as nothing outlives it: {'; '.join(result.ended)}")
    if result.output.path is not None and "bytes cut here" not in result.output.text:
        notes.append(f"bytes that are no UTF-8 are shown as \ufffd; the output as it was is in {result.output.path}")
    return notes


def _folder(ctx: ToolContext) -> Path:
    """Return where to run: the working directory, or a workspace folder if that is gone."""
    found = next((folder for folder in (ctx.cwd, *ctx.roots) if folder.is_dir()), None)
    if found is None:
        raise ToolError(f"the working directory {str(ctx.cwd)!r} does not exist, nor does any workspace folder")
    return found


def accesses(ctx: ToolContext, arguments: Arguments) -> Sequence[Access]:
    return (Access(effect=Effect.EXECUTE, target=arguments["command"], path=_folder(ctx)),)


def activity(arguments: Arguments) -> str:
    return str(arguments.get("description") or f"running {arguments['command']}")


BASH = Tool(
    name="Bash",
    description=words_of(__file__),
    parameters={
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command line"},
            "timeout": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_MS,
                "description": f"Milliseconds after which it is stopped, {DEFAULT_MS} by default",
            },
            "description": {"type": "string", "description": "What it does, in 5 to 10 words, for the person"},
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    effect=Effect.EXECUTE,
    parallel=False,
    subagent=True,
    background=True,
    run=run,
    accesses=accesses,
    activity=activity,
)
