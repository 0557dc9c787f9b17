"""The `Read` tool: lines of a file, numbered; pictures as pictures, notebooks as text."""

from __future__ import annotations

import asyncio
import base64
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ensign.protocol.access import Access, Effect
from ensign.protocol.errors import ToolError
from ensign.protocol.messages import Image
from ensign.tools import notebook
from ensign.tools.base import Arguments, Tool, ToolContext, ToolOutput
from ensign.tools.words import named, words_of
from ensign.workspace import nofollow, textfile
from ensign.workspace.contents import FileText, MissingFileError
from ensign.workspace.paths import display
from ensign.workspace.textfile import MAX_TEXT_BYTES

MAX_LINES = 2000
MAX_LINE_CHARS = 2000
MAX_OUTPUT_CHARS = 100_000
MAX_IMAGE_BYTES = 3_750_000
"""What providers take (5 MB) after base64 has made it a third larger."""
_SLOW_CHARS = 1_000_000

_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)
_IMAGE_SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}


@dataclass(slots=True)
class _Page:
    """The lines that are shown, and what was left out of them."""

    lines: list[str]
    total: int | None
    cut_chars: int = 0
    cut_lines: int = 0


async def run(ctx: ToolContext, arguments: Arguments) -> ToolOutput:
    r"""Return lines as `"<n>\t<line>"`, counted from 1, then notes in brackets on what is not as it seems.

    Source: line numbering follows `cat -n`, which models have seen most often.
    """
    path = _path(ctx, arguments)
    first = arguments.get("offset", 1)
    limit = arguments.get("limit", MAX_LINES)
    if path.is_dir():
        raise ToolError(f"{display(path, ctx.cwd)!r} is a folder; Glob lists what is in it")
    found = nofollow.stat_file(path)
    if path.suffix.lower() in _IMAGE_SUFFIXES and found is not None:
        return await _image(path, found.st_size)
    if found is not None and found.st_size > MAX_TEXT_BYTES:
        page = await asyncio.to_thread(_part_of_large, path, first, limit)
        notes = [f"{found.st_size:,} bytes: too large for Edit and Write"]
    else:
        file = await _text(ctx, path)
        shown = file.text if path.suffix != ".ipynb" else notebook.as_text(file.text)
        slow = len(shown) > _SLOW_CHARS
        page = await asyncio.to_thread(_page, shown, first, limit) if slow else _page(shown, first, limit)
        notes = _notes(file)
    if not page.lines:
        return ToolOutput(text=_nothing(page.total, first))
    body = "\n".join(page.lines)
    return ToolOutput(text="\n".join([body, *(f"[{note}]" for note in (*_cuts(page, first), *notes))]))


async def _text(ctx: ToolContext, path: Path) -> FileText:
    try:
        return await ctx.files.read(path)
    except MissingFileError as error:
        similar = await asyncio.to_thread(_similar, path)
        hint = f"; there is {named(similar)}" if similar else f"; the working directory is {str(ctx.cwd)!r}"
        raise ToolError(f"{display(path, ctx.cwd)!r} does not exist{hint}") from error


def _page(text: str, first: int, limit: int) -> _Page:
    lines = textfile.showable(text).split("\n" if "\n" in text else "\r")
    if lines[-1] == "":
        lines.pop()
    page = _Page([], len(lines))
    size = 0
    for number, line in enumerate(lines[first - 1 : first - 1 + limit], first):
        size += _add(page, number, line.removesuffix("\r"))
        if size > MAX_OUTPUT_CHARS:
            break
    return page


def _add(page: _Page, number: int, line: str, unread: int = 0) -> int:
    if (cut := len(line) + unread - MAX_LINE_CHARS) > 0:
        page.cut_lines += 1
        page.cut_chars += cut
        line = f"{line[:MAX_LINE_CHARS]}[... {cut:,} characters cut]"
    shown = f"{number}\t{line}"
    page.lines.append(shown)
    return len(shown) + 1


def _part_of_large(path: Path, first: int, limit: int) -> _Page:
    """Read no further than is shown, and hold no more than one block and the page."""
    page = _Page([], None)
    size = 0
    with nofollow.opened_file(path) as fd, open(fd, "rb", closefd=False) as file:
        number = 1
        while number < first + limit and size <= MAX_OUTPUT_CHARS:
            line = file.readline(MAX_LINE_CHARS * 4)
            if not line:
                page.total = number - 1
                break
            unread = 0
            while not line.endswith(b"\n") and (more := file.readline(1 << 20)):
                unread += len(more)
                if more.endswith(b"\n"):
                    break
            if number == 1 and textfile.is_binary(line):
                raise ToolError(f"{str(path)!r} is a binary file")
            if number >= first:
                size += _add(page, number, line.decode("utf-8", "replace").rstrip("\r\n"), unread)
            number += 1
    return page


def _cuts(page: _Page, first: int) -> list[str]:
    last = first + len(page.lines) - 1
    notes: list[str] = []
    if page.total is None or first > 1 or last < page.total:
        of = f" of {page.total:,}" if page.total is not None else ""
        more = "" if last == page.total else f"; go on with offset {last + 1}"
        notes.append(f"lines {first}-{last}{of}{more}")
    if page.cut_lines:
        notes.append(f"{page.cut_chars:,} characters cut from {page.cut_lines} long lines")
    return notes


def _notes(file: FileText) -> list[str]:
    notes: list[str] = []
    if file.unsaved:
        notes.append("the text in the editor, which is not saved yet")
    if bad := textfile.undecodable(file.text):
        line = textfile.line_number(file.text, bad.start())
        notes.append(
            f"line {line} has byte 0x{ord(bad.group()) - 0xDC00:02X}, which is not valid UTF-8; such bytes are shown "
            "as \ufffd and kept by edits elsewhere"
        )
    if file.encoding.codec != "utf-8":
        notes.append(f"encoded as {file.encoding.codec.upper()}, which edits keep")
    return notes


def _nothing(total: int | None, first: int) -> str:
    if total:
        return f"[the file has {total:,} lines; there is no line {first}]"
    return "[the file is empty]" if total == 0 else f"[the file has no line {first}]"


async def _image(path: Path, size: int) -> ToolOutput:
    if size > MAX_IMAGE_BYTES:
        raise ToolError(f"{str(path)!r} has {size:,} bytes; pictures up to {MAX_IMAGE_BYTES:,} can be shown")
    data = await asyncio.to_thread(nofollow.read_file, path, MAX_IMAGE_BYTES)
    kind = next((kind for magic, kind in _IMAGES if data.startswith(magic)), None)
    if kind is None:
        raise ToolError(f"{str(path)!r} is named like a picture but is none")
    image = Image(media_type=kind, data=base64.b64encode(data).decode("ascii"))
    return ToolOutput(text=f"[picture, {kind}, {size:,} bytes]", images=(image,))


def _similar(path: Path) -> list[str]:
    try:
        names = sorted(entry.name for entry in path.parent.iterdir())[:2000]
    except OSError:
        return []
    return difflib.get_close_matches(path.name, names, n=3)


def _path(ctx: ToolContext, arguments: Arguments) -> Path:
    return ctx.files.resolve(arguments["file_path"], cwd=ctx.cwd, call_id=ctx.call_id)


def accesses(ctx: ToolContext, arguments: Arguments) -> Sequence[Access]:
    return (Access(effect=Effect.READ, target=arguments["file_path"], path=_path(ctx, arguments)),)


def activity(arguments: Arguments) -> str:
    return f"reading {arguments['file_path']}"


READ = Tool(
    name="Read",
    description=words_of(__file__),
    parameters={
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "The file, absolute or relative to the working directory"},
            "offset": {"type": "integer", "minimum": 1, "description": "The first line to show, from 1"},
            "limit": {"type": "integer", "minimum": 1, "description": f"How many lines, {MAX_LINES} by default"},
        },
        "required": ["file_path"],
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
