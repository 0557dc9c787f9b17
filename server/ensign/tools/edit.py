"""The `Edit` tool: replaces an exact piece of a file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from ensign.protocol.access import Access, Effect
from ensign.protocol.errors import ToolError
from ensign.tools.base import Arguments, Preview, Tool, ToolContext, ToolOutput
from ensign.tools.changes import output_of
from ensign.tools.replacing import Replaced, replace_exactly
from ensign.tools.words import count, words_of
from ensign.workspace.contents import FileText, MissingFileError
from ensign.workspace.paths import display
from ensign.workspace.textfile import refuse_surrogates, showable

_SLOW_CHARS = 1_000_000


async def run(ctx: ToolContext, arguments: Arguments) -> ToolOutput:
    """Replace `old_string` by `new_string`, or create a file when `old_string` is empty."""
    path = _path(ctx, arguments)
    refuse_surrogates(arguments["new_string"], "new_string")
    name = display(path, ctx.cwd)
    if arguments["old_string"] == "":
        written = await ctx.files.write(path, _created(await _peek(ctx, path), arguments, name))
        return await output_of(written, ctx.cwd, "Created")
    replaced: list[Replaced] = []

    def change(file: FileText) -> str:
        replaced.append(_replaced(file.text, arguments))
        return replaced[-1].text

    try:
        written = await ctx.files.edit(path, change)
    except MissingFileError as error:
        raise _missing(name) from error
    lines = replaced[-1].lines
    where = (
        f"{count(len(lines), 'replacement')}, line {lines[0]}" if len(lines) == 1 else count(len(lines), "replacement")
    )
    return await output_of(written, ctx.cwd, "Edited", where)


def _replaced(text: str, arguments: Arguments) -> Replaced:
    every = arguments.get("replace_all", False)
    return replace_exactly(text, arguments["old_string"], arguments["new_string"], every=every)


def _created(file: FileText | None, arguments: Arguments, name: str) -> str:
    if file is not None and file.text:
        raise ToolError(f"{name!r} exists and is not empty; an empty old_string only creates files")
    return str(arguments["new_string"])


async def _peek(ctx: ToolContext, path: Path) -> FileText | None:
    try:
        return await ctx.files.peek(path)
    except MissingFileError:
        return None


async def preview(ctx: ToolContext, arguments: Arguments) -> Preview:
    """Return the change as it would be made now.

    Raises:
        ToolError: it cannot be made, in the words of the run.
    """
    refuse_surrogates(arguments["new_string"], "new_string")
    path = _path(ctx, arguments)
    name = display(path, ctx.cwd)
    if arguments["old_string"] == "":
        # What an unread file holds is nothing that a refusal may tell, so that it comes before the guard.
        before, after = "", _created(await _peek(ctx, path), arguments, name)
        await ctx.files.before_change(path)
    elif (file := await ctx.files.before_change(path)) is None:
        raise _missing(name)
    else:
        before = file.text
        slow = len(before) > _SLOW_CHARS
        done = await asyncio.to_thread(_replaced, before, arguments) if slow else _replaced(before, arguments)
        after = done.text
    return Preview(path=path, before=showable(before), after=showable(after))


def _missing(name: str) -> ToolError:
    return ToolError(f"{name!r} does not exist; with an empty old_string it is created")


def _path(ctx: ToolContext, arguments: Arguments) -> Path:
    return ctx.files.resolve(arguments["file_path"], cwd=ctx.cwd, call_id=ctx.call_id)


def accesses(ctx: ToolContext, arguments: Arguments) -> Sequence[Access]:
    return (Access(effect=Effect.WRITE, target=arguments["file_path"], path=_path(ctx, arguments)),)


def activity(arguments: Arguments) -> str:
    return f"editing {arguments['file_path']}"


EDIT = Tool(
    name="Edit",
    description=words_of(__file__),
    parameters={
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "The file, absolute or relative to the working directory"},
            "old_string": {"type": "string", "description": "The exact text to replace; empty creates the file"},
            "new_string": {"type": "string", "description": "The text to put there, taken literally"},
            "replace_all": {"type": "boolean", "description": "Replace every occurrence; false by default"},
        },
        "required": ["file_path", "old_string", "new_string"],
        "additionalProperties": False,
    },
    effect=Effect.WRITE,
    parallel=False,
    subagent=True,
    background=True,
    run=run,
    accesses=accesses,
    activity=activity,
    preview=preview,
)
