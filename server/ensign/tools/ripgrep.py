"""Running ripgrep: the binary of our own wheel, with nothing of the workspace or the user changing what it does."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import BinaryIO

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen
from ensign.tools.base import ToolContext
from ensign.workspace.processes import Program

FLAGS = (
    "--no-config",
    "--no-messages",
    "--color=never",
    # A .gitignore counts in a folder that is no repository, too.
    "--no-require-git",
    # Dot files are part of a project; the stores of version control are not. Only excluding globs are safe: a
    # positive one would bring back what is ignored.
    "--hidden",
    "--glob=!.git",
    "--glob=!.hg",
    "--glob=!.svn",
    "--glob=!.jj",
)
TIMEOUT_S = 60.0
_NAME = "rg.exe" if sys.platform == "win32" else "rg"


@frozen
class Found:
    """What ripgrep wrote. `whole` is False when it was stopped at the size or time limit."""

    data: bytes
    whole: bool


@cache
def executable() -> Path:
    """Return the binary that was installed with us; never one from `PATH`, which a workspace may shape.

    Raises:
        ToolError: it is missing.
    """
    beside = Path(sys.executable).parent / _NAME
    if beside.is_file():
        return beside
    from importlib.metadata import PackageNotFoundError, files

    try:
        listed = files("ripgrep") or []
    except PackageNotFoundError:
        listed = []
    for file in listed:
        if file.name == _NAME and (path := Path(os.fspath(file.locate()))).is_file():
            return path
    raise ToolError("ripgrep is not installed with the server; install Ensign again")


async def ripgrep(
    ctx: ToolContext,
    arguments: Sequence[str],
    *,
    cwd: Path,
    limit: int,
    stdin: BinaryIO | None = None,
) -> Found:
    """Run ripgrep in a folder and return at most about `limit` bytes of what it finds.

    Raises:
        ToolError: it refused its arguments (a bad expression, an unknown type); in its own words.
    """
    data = bytearray()

    def take(chunk: bytes) -> bool:
        data.extend(chunk)
        return len(data) < limit

    program = Program(argv=[str(executable()), *FLAGS, *arguments], cwd=cwd, agent_id=ctx.agent_id, stdin=stdin)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            result = await ctx.processes.capture(program, take)
    except TimeoutError:
        return Found(data=bytes(data), whole=False)
    # 2 also means that some file could not be read, which `--no-messages` is silent about.
    if result.exit_code == 2 and result.errors:
        raise ToolError(result.errors.removeprefix("rg: ").strip())
    return Found(data=bytes(data), whole=result.exit_code is not None)


async def list_files(
    ctx: ToolContext, folder: Path, matches: Callable[[str], object], flags: Sequence[str] = ()
) -> tuple[list[str], bool]:
    """Return the paths below an open folder that are not ignored and match, and whether these are all."""
    found = await ripgrep(ctx, ["--files", "--null", *flags, "./"], cwd=folder, limit=_MAX_LISTING)
    names = await asyncio.to_thread(_matching, found.data, matches)
    return names, found.whole


def _matching(data: bytes, matches: Callable[[str], object]) -> list[str]:
    prefix = len("./")
    names = os.fsdecode(data).split("\0")
    names.pop()  # empty, or cut off in the middle
    return [name[prefix:] for name in names if matches(name[prefix:])]


_MAX_LISTING = 64 << 20
