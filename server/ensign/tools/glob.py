"""The `Glob` tool: files by name."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from ensign.protocol.access import Access, Effect
from ensign.tools import globs
from ensign.tools.base import Arguments, Tool, ToolContext, ToolOutput
from ensign.tools.ripgrep import list_files
from ensign.tools.words import count, words_of
from ensign.workspace.nofollow import opened_folder
from ensign.workspace.paths import display
from ensign.workspace.textfile import showable

MAX_SHOWN = 200


async def run(ctx: ToolContext, arguments: Arguments) -> ToolOutput:
    """Return matching files, the latest changed first, relative to the working directory where below it."""
    folder, pattern = _place(ctx, arguments)
    matches = globs.matcher(pattern, anchored="/" in arguments["pattern"])
    with opened_folder(folder) as held:
        names, whole = await list_files(ctx, held, matches)
        names = await asyncio.to_thread(_newest_first, held, names)
    where = display(folder, ctx.cwd)
    if not names:
        return ToolOutput(text=f"[no file matches {pattern!r} in {where!r}; ignored files do not count]")
    prefix = "" if where == "." else where.rstrip("/") + "/"
    lines = [showable(prefix + name) for name in names[:MAX_SHOWN]]
    if len(names) > MAX_SHOWN:
        lines.append(f"[the {MAX_SHOWN} latest changed of {count(len(names), 'file')}; narrow the pattern for others]")
    if not whole:
        lines.append("[stopped at the time or size limit: there may be more files]")
    return ToolOutput(text="\n".join(lines))


def _newest_first(folder: Path, names: list[str]) -> list[str]:
    aged: list[tuple[int, str]] = []
    for name in names:
        try:
            aged.append((-os.lstat(f"{folder}/{name}").st_mtime_ns, name))
        except OSError:
            continue  # gone since it was listed
    return [name for _, name in sorted(aged)]


def _place(ctx: ToolContext, arguments: Arguments) -> tuple[Path, str]:
    """Return the folder to search and what to look for in it; the pattern may begin with folders of its own."""
    base = arguments.get("path", "")
    start, pattern = globs.split(arguments["pattern"])
    spelled = start if start.startswith(("/", "~", "$")) or not base else f"{base}/{start}"
    return ctx.files.resolve(spelled or ".", cwd=ctx.cwd, call_id=ctx.call_id), pattern


def accesses(ctx: ToolContext, arguments: Arguments) -> Sequence[Access]:
    target = arguments.get("path") or globs.split(arguments["pattern"])[0] or "."
    return (Access(effect=Effect.READ, target=target, path=_place(ctx, arguments)[0]),)


def activity(arguments: Arguments) -> str:
    return f"looking for files {arguments['pattern']}"


GLOB = Tool(
    name="Glob",
    description=words_of(__file__),
    parameters={
        "type": "object",
        "properties": {
            "pattern": {
                "type": "string",
                "minLength": 1,
                "description": "For example `**/*.py` or `src/**/test_*.{ts,tsx}`",
            },
            "path": {"type": "string", "description": "The folder to look in; the working directory by default"},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
    effect=Effect.READ,
    parallel=True,
    subagent=True,
    background=True,
    run=run,
    accesses=accesses,
    activity=activity,
)
