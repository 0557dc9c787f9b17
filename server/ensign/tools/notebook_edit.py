"""The `NotebookEdit` tool: changes one cell of a Jupyter notebook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ensign.protocol.access import Access, Effect
from ensign.protocol.errors import ToolError
from ensign.tools import notebook
from ensign.tools.base import Arguments, Preview, Tool, ToolContext, ToolOutput
from ensign.tools.changes import output_of
from ensign.tools.notebook_cells import Notebook
from ensign.tools.words import words_of
from ensign.workspace.contents import MissingFileError
from ensign.workspace.paths import display
from ensign.workspace.textfile import refuse_surrogates, showable


async def run(ctx: ToolContext, arguments: Arguments) -> ToolOutput:
    """Replace, insert or delete a cell; the rest of the file stays as it is."""
    path = _path(ctx, arguments)
    if path.suffix != ".ipynb":
        raise ToolError(f"{display(path, ctx.cwd)!r} is no notebook; Edit changes text files")
    refuse_surrogates(arguments["new_source"], "new_source")
    await ctx.files.refuse_unsaved_notebook(path)
    done: list[str] = []

    def change(text: str) -> str:
        after, what = changed(text, arguments)
        done.append(what)
        return after

    try:
        written = await ctx.files.edit(path, lambda file: change(file.text))
    except MissingFileError as error:
        raise _missing(display(path, ctx.cwd)) from error
    return await output_of(written, ctx.cwd, "Edited", done[-1])


def changed(text: str, arguments: Arguments) -> tuple[str, str]:
    """Return the text of a notebook with the change made, and what was changed, in words.

    Raises:
        ToolError: it is no notebook, there is no such cell, or the arguments do not go together.
    """
    book = Notebook(text)
    mode = arguments.get("edit_mode", "replace")
    cell_id, source, kind = arguments.get("cell_id"), arguments["new_source"], arguments.get("cell_type")
    if mode == "insert":
        if kind is None:
            raise ToolError("'insert' needs cell_type: code, markdown or raw")
        at = book.find(cell_id) if cell_id is not None else None
        after, made = book.inserted(at, source, kind)
        return after, f"new {kind} cell {(0 if at is None else at + 1) + 1}" + (f", id {made}" if made else "")
    if cell_id is None:
        raise ToolError(f"{mode!r} needs cell_id")
    index = book.find(cell_id)
    if mode == "delete":
        if source:
            raise ToolError("'delete' takes an empty new_source")
        return book.deleted(index), f"cell {index + 1} deleted"
    return book.replaced(index, source, kind), f"cell {index + 1}"


async def preview(ctx: ToolContext, arguments: Arguments) -> Preview:
    """Return the notebook as text before and after.

    Raises:
        ToolError: it cannot be changed so, in the words of the run.
    """
    path = _path(ctx, arguments)
    file = await ctx.files.before_change(path)
    if file is None:
        raise _missing(display(path, ctx.cwd))
    after, _ = changed(file.text, arguments)
    return Preview(path=path, before=showable(notebook.as_text(file.text)), after=showable(notebook.as_text(after)))


def _missing(name: str) -> ToolError:
    return ToolError(f"{name!r} does not exist; Write creates a notebook")


def _path(ctx: ToolContext, arguments: Arguments) -> Path:
    return ctx.files.resolve(arguments["notebook_path"], cwd=ctx.cwd, call_id=ctx.call_id)


def accesses(ctx: ToolContext, arguments: Arguments) -> Sequence[Access]:
    return (Access(effect=Effect.WRITE, target=arguments["notebook_path"], path=_path(ctx, arguments)),)


def activity(arguments: Arguments) -> str:
    return f"editing {arguments['notebook_path']}"


NOTEBOOK_EDIT = Tool(
    name="NotebookEdit",
    description=words_of(__file__),
    parameters={
        "type": "object",
        "properties": {
            "notebook_path": {"type": "string", "description": "The notebook, absolute or relative"},
            "cell_id": {"type": "string", "description": "The cell; for insert, the one before the new cell"},
            "new_source": {"type": "string", "description": "The whole source of the cell"},
            "cell_type": {"enum": ["code", "markdown", "raw"]},
            "edit_mode": {"enum": ["replace", "insert", "delete"], "description": "replace by default"},
        },
        "required": ["notebook_path", "new_source"],
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
