"""A server process that is killed takes every MCP server with it, and what that one had started and hidden."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.mcp.bench import SERVER, gone, pid_in, running

pytestmark = pytest.mark.slow

WORKER = """
import asyncio, sys
from pathlib import Path
from ensign.mcp.connection import Connection, Place
from ensign.protocol.settings import McpServer
from ensign.workspace.processes import Processes

async def main() -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/"}
    processes = Processes(environment)
    place = Place(processes=processes, environment=environment, cwd=Path("/"), connect_s=lambda: 60, version="1")
    server = McpServer(command=sys.executable, args=(sys.argv[1],))
    connection = Connection("t", server, place, owner="mcp", changed=lambda: None)
    connection.start()
    for tool in ("echo", "stay"):
        result = await connection.call(tool, {"text": "x"} if tool == "echo" else {}, lambda _: None)
        sys.stdout.write(result.content[0].text + "\\n")
        sys.stdout.flush()
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_kill_of_ours_ends_servers_and_what_they_started(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, str(SERVER), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    server = pid_in((await process.stdout.readline()).decode().strip())
    hidden = int(await process.stdout.readline())
    assert running(server)
    assert running(hidden)
    process.kill()
    await process.wait()
    await gone(server)
    await gone(hidden)
