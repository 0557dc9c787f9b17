"""The one place in these tests that knows how the test server is written into settings, and where its processes are."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("server.py")


def entry(*arguments: str, **more: Any) -> dict[str, Any]:
    """The test server as an entry of `mcpServers`."""
    return {"command": sys.executable, "args": [str(SERVER), *arguments], **more}


def options(*arguments: str, **more: Any) -> dict[str, Any]:
    """Settings with the test server as `t`."""
    return {"mcpServers": {"t": entry(*arguments)}, **more}


async def gone(pid: int) -> None:
    """Wait until a process is gone."""
    async with asyncio.timeout(20):
        while running(pid):
            await asyncio.sleep(0.01)


def running(pid: int) -> bool:
    """Whether a process runs; what only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def there(path: Path) -> None:
    """Wait until the server has made a file."""
    async with asyncio.timeout(20):
        while not path.exists():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def over_http(port: int, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the test server at an address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SERVER), "--http", str(port), *arguments, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(30):
            while not _listens(port):
                await asyncio.sleep(0.02)
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def pid_in(text: str) -> int:
    """The process id that `echo` tells."""
    pid = int(text.rpartition(" ")[2])
    assert pid != os.getpid()
    return pid
