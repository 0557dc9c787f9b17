"""The SDK's messages over a program's standard streams, for a program that our own processes look after.

The SDK brings such a transport too; ours differs in who ends the program: it ends with its agent, with the session and
with the server, also when the server is killed, and so does whatever it started.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter

from ensign.workspace.peer import Peer

MAX_LINE_BYTES = 64 << 20
"""A longer line is no message; the server is given up."""
_WAITING_BYTES = 8 << 20
_PAUSE_S = 0.02
_LARGE = 1 << 18

Read = MemoryObjectReceiveStream[SessionMessage | Exception]
Write = MemoryObjectSendStream[SessionMessage]
Open = Callable[[Callable[[bytes], None]], Peer]


class Lines:
    """What a program wrote, line by line. A program that writes faster than is read has to wait."""

    def __init__(self) -> None:
        self.peer: Peer | None = None
        self._partial = bytearray()
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._news = asyncio.Event()
        self._ended = False

    def take(self, chunk: bytes) -> None:
        """Take what was written."""
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._partial += line
            self._lines.append(bytes(self._partial))
            self._waiting += len(self._partial)
            self._partial.clear()
        self._partial += rest
        if len(self._partial) > MAX_LINE_BYTES:
            self.end()
        elif self._waiting > _WAITING_BYTES and self.peer is not None:
            self.peer.pause(_PAUSE_S)
        self._news.set()

    def end(self) -> None:
        """Nothing more will come."""
        self._ended = True
        self._news.set()

    async def next(self) -> bytes | None:
        """The next line, None at the end."""
        while not self._lines:
            if self._ended:
                return None
            self._news.clear()
            await self._news.wait()
        line = self._lines.popleft()
        self._waiting -= len(line)
        return line


@asynccontextmanager
async def stdio(open_: Open, garbage: Callable[[bytes], None]) -> AsyncIterator[tuple[Read, Write, Peer]]:
    """Start a program and yield the streams to it; on the way out it is ended.

    `garbage` is told of lines that are no messages; they are passed over.

    Raises:
        ToolError: it could not be started.
    """
    lines = Lines()
    peer = lines.peer = open_(lines.take)
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_watch(peer, lines), name="mcp program"),
        asyncio.create_task(_receive(lines, incoming, garbage), name="mcp receive"),
        asyncio.create_task(_send(peer, outgoing, lines), name="mcp send"),
    ]
    try:
        yield read, write, peer
    finally:
        for task in tasks:
            task.cancel()
        for stream in (read, write, incoming, outgoing):
            stream.close()
        await peer.end()
        await asyncio.wait(tasks)


async def _watch(peer: Peer, lines: Lines) -> None:
    await peer.wait()
    lines.end()


async def _receive(
    lines: Lines, incoming: MemoryObjectSendStream[SessionMessage | Exception], garbage: Callable[[bytes], None]
) -> None:
    with incoming, suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        while (line := await lines.next()) is not None:
            message = await asyncio.to_thread(_parsed, line) if len(line) > _LARGE else _parsed(line)
            if message is not None:
                await incoming.send(SessionMessage(message))
            elif line.strip():
                garbage(line)


async def _send(peer: Peer, outgoing: MemoryObjectReceiveStream[SessionMessage], lines: Lines) -> None:
    with outgoing:
        try:
            async for message in outgoing:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await peer.write(text.encode() + b"\n")
        except OSError:
            # It reads no more; whoever waits for its answers is told that the connection is over.
            lines.end()


def _parsed(line: bytes) -> JSONRPCMessage | None:
    adapter: Any = jsonrpc_message_adapter
    try:
        message: JSONRPCMessage = adapter.validate_json(line, by_name=False)
    except ValueError:
        return None
    return message
