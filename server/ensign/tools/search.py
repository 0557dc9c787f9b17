"""A search over files on disk and, in place of those that have unsaved text, over the editor's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Literal

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen
from ensign.tools import globs
from ensign.tools.base import ToolContext
from ensign.tools.matches import Line, lines_of
from ensign.tools.ripgrep import Found, list_files, ripgrep
from ensign.workspace.documents import Document
from ensign.workspace.nofollow import opened_file, opened_folder

Mode = Literal["content", "files_with_matches", "count"]

_LIMIT = 8 << 20
"""Bytes of findings beyond which nobody reads on; ripgrep is stopped there."""
_ARGUMENT_BYTES = 1_000_000
"""Of file names for one run; the kernel takes two million."""
_OURS = "ensign"


@frozen
class Query:
    """What to look for."""

    pattern: str
    mode: Mode
    glob: str | None
    type: str | None
    before: int
    after: int
    ignore_case: bool
    multiline: bool

    @property
    def flags(self) -> list[str]:
        """As ripgrep's flags; the pattern cannot be taken for one."""
        flags = {"content": ["--json"], "files_with_matches": ["--files-with-matches", "--null"]}.get(
            self.mode, ["--count", "--null", "--with-filename"]
        )
        flags += [f"--before-context={self.before}"] if self.before else []
        flags += [f"--after-context={self.after}"] if self.after else []
        flags += ["--ignore-case"] if self.ignore_case else []
        flags += ["--multiline", "--multiline-dotall"] if self.multiline else []
        return [*flags, f"--regexp={self.pattern}"]


@dataclass(slots=True)
class Result:
    """What was found, paths relative to the searched folder; `whole` is False when the search was stopped."""

    lines: list[Line] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    counted: bool = False
    whole: bool = True

    def take(
        self, query: Query, found: Found, *, name: str | None = None, without: frozenset[str] = frozenset()
    ) -> None:
        """Add what one run of ripgrep found; `name` is what it read as a stream, `without` what counts elsewhere."""
        self.whole = self.whole and found.whole
        if query.mode == "content":
            self.lines += (line for line in lines_of(found.data, name) if line.path not in without)
            return
        counts = _counts(found.data) if query.mode == "count" else ((file, 1) for file in _names(found.data))
        for file, number in counts:
            if (file := name or file) not in without:
                self.counts[file] = number


async def search(ctx: ToolContext, target: Path, query: Query) -> Result:
    """Search a folder, or one file.

    Raises:
        ToolError: the target is missing or neither; the pattern, glob or type is no such thing.
    """
    result = Result(counted=query.mode == "count")
    unsaved = ctx.files.unsaved()
    if target.is_dir():
        with opened_folder(target) as held:
            await _folder(ctx, query, held, result, _below(unsaved, target))
    elif (document := unsaved.get(target)) is not None:
        await _document(ctx, query, target.name, document, result)
    else:
        try:
            with opened_file(target) as fd, open(fd, "rb", closefd=False) as file:
                await _stream(ctx, query, target.name, file, result)
        except FileNotFoundError as error:
            raise ToolError(f"{str(target)!r} does not exist") from error
    result.lines.sort(key=lambda line: line.path)  # ripgrep's threads end in any order; within a file it is in order
    return result


def _below(unsaved: dict[Path, Document], folder: Path) -> dict[str, Document]:
    return {
        path.relative_to(folder).as_posix(): document
        for path, document in unsaved.items()
        if path.is_relative_to(folder)
    }


async def _folder(ctx: ToolContext, query: Query, folder: Path, result: Result, unsaved: dict[str, Document]) -> None:
    replaced = frozenset(unsaved)
    type_flags = [f"--type={query.type}"] if query.type else []
    negative = query.glob is not None and query.glob.startswith("!")
    if query.glob is None or negative or ("/" not in query.glob and query.type is None):
        flags = [*type_flags, *(_glob_flags(query.glob) if query.glob else [])]
        found = await ripgrep(ctx, [*query.flags, *flags, "--", "./"], cwd=folder, limit=_LIMIT)
        await asyncio.to_thread(result.take, query, found, without=replaced)
    else:
        # ripgrep lets a positive glob bring back ignored files, so it lists first and is then given the names.
        names, result.whole = await list_files(ctx, folder, globs.matcher(query.glob), type_flags)
        for batch in _batches([name for name in names if name not in replaced]):
            found = await ripgrep(ctx, [*query.flags, "--with-filename", "--", *batch], cwd=folder, limit=_LIMIT)
            await asyncio.to_thread(result.take, query, found)
    matches = globs.matcher(query.glob.removeprefix("!")) if query.glob else None
    for name, document in unsaved.items():
        if matches is not None and bool(matches(name)) == negative:
            continue
        if await _searchable(ctx, folder, name, type_flags):
            await _document(ctx, query, name, document, result)


def _glob_flags(glob: str) -> list[str]:
    """Return flags for a glob that cannot undo an ignore rule: an exclusion, or a file type of our own."""
    if glob.startswith("!"):
        return [f"--glob={glob}"]
    globs.matcher(glob)
    return [f"--type-add={_OURS}:{glob}", f"--type={_OURS}"]


async def _searchable(ctx: ToolContext, folder: Path, name: str, type_flags: Sequence[str]) -> bool:
    """Whether a file with unsaved text is one that would be searched on disk; one that is not there yet is."""
    parent = folder / Path(name).parent
    if not (folder / name).exists():
        return True
    flags = ["--files", "--null", "--max-depth=1", *type_flags, "--", "./"]
    found = await ripgrep(ctx, flags, cwd=parent, limit=_LIMIT)
    return os.fsencode(f"./{Path(name).name}") in found.data.split(b"\0")


async def _document(ctx: ToolContext, query: Query, name: str, document: Document, result: Result) -> None:
    with TemporaryFile() as file:
        file.write(document.text.encode("utf-8", "surrogateescape"))
        file.seek(0)
        await _stream(ctx, query, name, file, result)


async def _stream(ctx: ToolContext, query: Query, name: str, stream: BinaryIO, result: Result) -> None:
    found = await ripgrep(ctx, [*query.flags, "--", "-"], cwd=Path("/"), limit=_LIMIT, stdin=stream)
    result.take(query, found, name=name)


def _batches(names: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for name in names:
        if size > _ARGUMENT_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(f"./{name}")
        size += len(name) * 2 + 10
    if batch:
        yield batch


def _names(data: bytes) -> Iterator[str]:
    """Read `path NUL` entries; a stream is called `<stdin>`."""
    return (os.fsdecode(name).removeprefix("./") for name in data.split(b"\0")[:-1])


def _counts(data: bytes) -> Iterator[tuple[str, int]]:
    """Read `path NUL number LF` entries."""
    for entry in data.split(b"\n")[:-1]:
        name, _, number = entry.rpartition(b"\0")
        if number.isdigit():
            yield os.fsdecode(name).removeprefix("./"), int(number)
