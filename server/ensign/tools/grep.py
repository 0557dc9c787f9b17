"""The `Grep` tool: searches files, and the editor's unsaved text in their place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ensign.protocol.access import Access, Effect
from ensign.protocol.errors import DeniedError
from ensign.tools.base import Arguments, Tool, ToolContext, ToolOutput
from ensign.tools.matches import Line
from ensign.tools.search import Query, Result, search
from ensign.tools.words import count, words_of
from ensign.workspace.paths import display
from ensign.workspace.textfile import showable

HEAD_LIMIT = 250
MAX_OUTPUT_BYTES = 40_000


async def run(ctx: ToolContext, arguments: Arguments) -> ToolOutput:
    """Return matching files, lines or counts, by path; what was cut or left out is said in brackets."""
    target = _target(ctx, arguments)
    mode = arguments.get("output_mode", "files_with_matches")
    query = Query(
        pattern=arguments["pattern"],
        mode=mode,
        glob=arguments.get("glob"),
        type=arguments.get("type"),
        before=arguments.get("-B", arguments.get("-C", 0)) if mode == "content" else 0,
        after=arguments.get("-A", arguments.get("-C", 0)) if mode == "content" else 0,
        ignore_case=arguments.get("-i", False),
        multiline=arguments.get("multiline", False),
    )
    result = await search(ctx, target, query)
    limit = arguments.get("head_limit") or HEAD_LIMIT
    base = target if target.is_dir() else target.parent
    where = display(base, ctx.cwd)
    prefix = "" if where == "." else where.rstrip("/") + "/"
    if mode == "content":
        shown, notes = await _content(ctx, result, base, prefix, limit)
    else:
        shown, notes = await _files(ctx, result, base, prefix, limit)
    if not result.whole:
        notes.append("stopped at the time or size limit: there may be more matches; narrow the search")
    if not shown and not notes:
        notes.append("no matches")
    return ToolOutput(text="\n".join([*shown, *(f"[{note}]" for note in notes)]))


async def _content(
    ctx: ToolContext, result: Result, base: Path, prefix: str, limit: int
) -> tuple[list[str], list[str]]:
    lines = result.lines[:limit]
    allowed, withheld = await _allowed(ctx, base, list(dict.fromkeys(line.path for line in lines)))
    kept = [line for line in lines if line.path in allowed]
    shown: list[str] = []
    size = 0
    last: Line | None = None
    gaps = any(not line.match for line in kept)
    used = 0
    for line in kept:
        text = line.shown(prefix)
        if size + len(text.encode()) > MAX_OUTPUT_BYTES:
            break
        if gaps and last is not None and (line.path != last.path or line.number > last.number + 1):
            shown.append("--")
        size += len(text.encode()) + 1
        shown.append(text)
        last = line
        used += 1
    notes: list[str] = []
    if used < len(kept) or len(result.lines) > limit:
        notes.append(f"{used:,} of {count(len(result.lines), 'line')} shown; narrow the search or raise head_limit")
    if cut := sum(line.cut_bytes for line in kept[:used]):
        notes.append(f"{cut:,} bytes cut from long lines")
    return shown, notes + withheld


async def _files(ctx: ToolContext, result: Result, base: Path, prefix: str, limit: int) -> tuple[list[str], list[str]]:
    names = sorted(result.counts)
    allowed, withheld = await _allowed(ctx, base, names[:limit])
    shown = [
        showable(f"{prefix}{name}") + (f":{result.counts[name]}" if result.counted else "")
        for name in names[:limit]
        if name in allowed
    ]
    notes: list[str] = []
    if len(names) > limit:
        notes.append(f"{len(shown):,} of {count(len(names), 'file')} shown; narrow the search or raise head_limit")
    return shown, notes + withheld


async def _allowed(ctx: ToolContext, base: Path, names: list[str]) -> tuple[set[str], list[str]]:
    """Leave out files that this agent may not read, though it may search the folder; that there are some is said.

    All at once first, which is the usual case and one verdict.
    """
    reads = {name: Access(effect=Effect.READ, target=str(base / name), path=base / name) for name in names}
    try:
        if reads:
            await ctx.require(tuple(reads.values()))
        return set(names), []
    except DeniedError:
        allowed: set[str] = set()
    for name, access in reads.items():
        try:
            await ctx.require((access,))
        except DeniedError:
            continue
        allowed.add(name)
    return allowed, [f"{count(len(names) - len(allowed), 'file')} left out: not allowed to be read"]


def _target(ctx: ToolContext, arguments: Arguments) -> Path:
    return ctx.files.resolve(arguments.get("path") or ".", cwd=ctx.cwd, call_id=ctx.call_id)


def accesses(ctx: ToolContext, arguments: Arguments) -> Sequence[Access]:
    return (Access(effect=Effect.READ, target=arguments.get("path") or ".", path=_target(ctx, arguments)),)


def activity(arguments: Arguments) -> str:
    return f"searching for {arguments['pattern']!r}"


_LINES = {"type": "integer", "minimum": 0}

GREP = Tool(
    name="Grep",
    description=words_of(__file__),
    parameters={
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "description": "The regular expression"},
            "path": {"type": "string", "description": "A folder or a file; the working directory by default"},
            "glob": {"type": "string", "description": "Only files that match, for example `*.py` or `!*.min.js`"},
            "type": {"type": "string", "description": "Only files of a language, for example `py`, `ts`, `rust`"},
            "output_mode": {"enum": ["content", "files_with_matches", "count"]},
            "-i": {"type": "boolean", "description": "Ignore case"},
            "-A": {**_LINES, "description": "Lines to show after a match"},
            "-B": {**_LINES, "description": "Lines to show before a match"},
            "-C": {**_LINES, "description": "Lines to show on both sides"},
            "head_limit": {**_LINES, "description": f"How many entries to show, {HEAD_LIMIT} by default"},
            "multiline": {"type": "boolean", "description": "Let a match cross lines"},
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
