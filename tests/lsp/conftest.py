"""Two ways to a server: in this process over a socket pair, and as a process of its own."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from ensign.lsp.connection import serve
from ensign.lsp.server import Start
from ensign.lsp.transport import of_socket
from tests.lsp.fake import Builder, FakeApp
from tests.lsp.raw import RawClient

ROOT = Path(__file__).parents[2]


class Near:
    """A server in this process, its client, and its runtime once there is one."""

    def __init__(self, client: RawClient, builder: Builder, code: asyncio.Task[int | None]) -> None:
        self.client = client
        self.code = code
        self.builder = builder

    @property
    def app(self) -> FakeApp:
        assert self.builder.app is not None
        return self.builder.app


@asynccontextmanager
async def nearby() -> AsyncIterator[Near]:
    ours, theirs = socket.socketpair()
    builder = Builder()
    start = Start(build=builder, environment={}, command_line={})
    code = asyncio.create_task(serve(of_socket(ours), start, started=lambda stop: None))
    reader, writer = await asyncio.open_connection(sock=theirs, limit=2**27)
    client = RawClient(reader, writer)
    try:
        yield Near(client, builder, code)
    finally:
        await client.close()
        await code


@pytest.fixture
async def near() -> AsyncIterator[Near]:
    async with nearby() as server:
        yield server


class Far:
    """A server as a process."""

    def __init__(self, process: asyncio.subprocess.Process, client: RawClient) -> None:
        self.process = process
        self.client = client

    async def code(self) -> int:
        async with asyncio.timeout(20):
            return await self.process.wait()

    async def errors(self) -> str:
        assert self.process.stderr is not None
        return (await self.process.stderr.read()).decode()


@asynccontextmanager
async def process(*arguments: str) -> AsyncIterator[Far]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'server'}"}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.lsp.serve", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        cwd=ROOT, env=environment, limit=2**27,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    client = RawClient(child.stdout, child.stdin)
    try:
        yield Far(child, client)
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()
        await client.close()


@pytest.fixture
async def far() -> AsyncIterator[Callable[..., Awaitable[Far]]]:
    """Start servers as processes; they are gone at the end of the test."""
    async with AsyncExitStack() as stack:

        async def start(*arguments: str) -> Far:
            return await stack.enter_async_context(process(*arguments))

        yield start
