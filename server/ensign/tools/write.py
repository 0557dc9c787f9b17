"""The `Write` tool: creates a file, or replaces one whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ensign.protocol.access import Access, Effect
from ensign.protocol.errors import ToolError
from ensign.tools.base import Arguments, Preview, Tool, ToolContext, ToolOutput
from ensign.tools.changes import output_of
from ensign.tools.words import words_of
from ensign.workspace.contents import FileText, MissingFileError, unchanged
from ensign.workspace.textfile import refuse_surrogates, showable, undecodable, with_newlines

_ASK = "the editor holds unsaved text of this file, and all of it would be replaced"


async def run(ctx: ToolContext, arguments: Arguments) -> ToolOutput:
    """Put `content` into the file, which keeps encoding, line ends and mode if it exists."""
    path = _path(ctx, arguments)
    _refuse_losses(await _peek(ctx, path), arguments["content"])
    written = await ctx.files.write(path, arguments["content"])
    return await output_of(written, ctx.cwd, "Created" if written.before is None else "Replaced")


async def _peek(ctx: ToolContext, path: Path) -> FileText | None:
    try:
        return await ctx.files.peek(path)
    except MissingFileError:
        return None


def _refuse_losses(file: FileText | None, content: str) -> None:
    refuse_surrogates(content, "content")
    if file is not None and "\ufffd" in content and undecodable(file.text):
        raise ToolError(
            "the file has bytes that are no valid UTF-8, shown as \ufffd, and writing that back would lose them; "
            "use Edit on the parts that are to change"
        )


async def preview(ctx: ToolContext, arguments: Arguments) -> Preview:
    """Return the file before and after.

    Raises:
        ToolError: it cannot be written, in the words of the run.
    """
    path = _path(ctx, arguments)
    file = await ctx.files.before_change(path)
    _refuse_losses(file, arguments["content"])
    before = file.text if file else ""
    after = with_newlines(arguments["content"], before)
    if file is not None and before == after:
        raise unchanged(path)
    return Preview(path=path, before=showable(before), after=showable(after))


def _path(ctx: ToolContext, arguments: Arguments) -> Path:
    return ctx.files.resolve(arguments["file_path"], cwd=ctx.cwd, call_id=ctx.call_id)


def accesses(ctx: ToolContext, arguments: Arguments) -> Sequence[Access]:
    path = _path(ctx, arguments)
    # Should it get unsaved text after this, it is no longer what the agent read, and the write is refused.
    ask = _ASK if ctx.files.replaces_unsaved(path) else None
    return (Access(effect=Effect.WRITE, target=arguments["file_path"], path=path, ask=ask),)


def activity(arguments: Arguments) -> str:
    return f"writing {arguments['file_path']}"


WRITE = Tool(
    name="Write",
    description=words_of(__file__),
    parameters={
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "The file, absolute or relative to the working directory"},
            "content": {"type": "string", "description": "The whole text of the file"},
        },
        "required": ["file_path", "content"],
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
