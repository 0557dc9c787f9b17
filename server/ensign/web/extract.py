"""Turns HTML into Markdown in a process of its own.

What strangers wrote goes through a parser in C: a page can be made that keeps it busy for minutes (lexbor looks at all
open elements and all attributes again and again), and then nobody could stop it, as it holds the interpreter; or one
that brings it down. A process is stopped, and falls alone. It gets no environment, and bounds itself.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from ensign.protocol.errors import ToolError

_START = "import sys; sys.path = {path!r}; from ensign.web.markdown import main; main(sys.argv[1])"


async def markdown_of(html: str, url: str) -> tuple[str, str]:
    """Return title and Markdown of a page; `url` makes its links absolute.

    Raises:
        ToolError: the parser gave up.
        asyncio.CancelledError: after the process is gone.
    """
    path = [entry for entry in sys.path if Path(entry).is_absolute()]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", _START.format(path=path), url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd="/",
        env={},
    )
    try:
        output, errors = await process.communicate(html.encode("utf-8", "replace"))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ToolError(f"the HTML of {url!r} cannot be read: {last[:200] or f'exit code {process.returncode}'}")
    title, text = json.loads(output)
    return title, text
