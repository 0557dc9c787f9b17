"""A small HTTP/1.1 server over asyncio, enough for tests: keep-alive, chunked answers, a view of each connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

_REASONS = {200: b"OK", 400: b"Bad Request", 401: b"Unauthorized", 404: b"Not Found", 429: b"Too Many Requests"}


@dataclass(kw_only=True)
class RecordedRequest:
    """A request exactly as it came.

    Attributes:
        at: monotonic seconds when its last byte had arrived.
        connection: counts connections from 0; equal numbers mean a connection used again.
        left: set when the client hung up before its answer was complete.
        answered: set when the answer was sent whole.
    """

    number: int
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    connection: int
    left: asyncio.Event = field(default_factory=asyncio.Event)
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    @cached_property
    def json(self) -> Any:
        """The body parsed."""
        return json.loads(self.body)


class Connection(asyncio.Protocol):
    """One client. A handler writes its answer through `start`, `send`, `end` or `cut`."""

    def __init__(self, server: HttpServer, number: int) -> None:
        self.server = server
        self.number = number
        self.request: RecordedRequest | None = None
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    # ---- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.server.joined(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.left(self)
        self._writable.set()
        if self.request is not None and not self.request.answered.is_set():
            self.request.left.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # ---- for handlers

    def start(self, status: int, headers: dict[str, str]) -> None:
        """Send the status line and the headers."""
        lines = [b"HTTP/1.1 %d %s" % (status, _REASONS.get(status, b"Status"))]
        lines += [f"{name}: {value}".encode("latin-1") for name, value in headers.items()]
        self.write(b"\r\n".join(lines) + b"\r\n\r\n")

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    async def send(self, data: bytes) -> None:
        """Send one HTTP chunk, waiting while the client does not read."""
        if data:
            self.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self._writable.wait()

    def end(self) -> None:
        """End a chunked body."""
        self.write(b"0\r\n\r\n")

    def cut(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()

    # ---- inside

    def _next(self) -> None:
        """Begin the next request when it is there whole and the one before is answered."""
        if self._task is not None:
            return
        head, found, _ = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = _headers(lines)
        size = int(headers.get("content-length", "0"))
        whole = len(head) + 4 + size
        if len(self._buffer) < whole:
            return
        body = bytes(self._buffer[len(head) + 4 : whole])
        del self._buffer[:whole]
        method, path, _ = first.split(" ", 2)
        loop = asyncio.get_running_loop()
        self.request = RecordedRequest(
            number=self.server.count(),
            method=method,
            path=path,
            headers=headers,
            body=body,
            at=loop.time(),
            connection=self.number,
        )
        self._task = loop.create_task(self._answer(self.request))

    async def _answer(self, request: RecordedRequest) -> None:
        await self.server.handler(request, self)
        request.answered.set()
        self._task = None
        self._next()


def _headers(lines: list[str]) -> dict[str, str]:
    """Names in lower case; a name that comes twice has both values, as HTTP joins them."""
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


Handler = Callable[[RecordedRequest, Connection], Awaitable[None]]


class HttpServer:
    """Listens on loopback; `async with` starts and ends it, hanging up on whoever is connected."""

    def __init__(self, handler: Handler, *, port: int = 0) -> None:
        self.handler = handler
        self.port = port
        self._connections: set[Connection] = set()
        self._deserted = asyncio.Event()
        self._deserted.set()
        self._accepted = 0
        self._requests = 0
        self._server: asyncio.Server | None = None

    def count(self) -> int:
        """Return the number of the next request, from 0."""
        self._requests += 1
        return self._requests - 1

    def joined(self, connection: Connection) -> None:
        """A client has come."""
        self._connections.add(connection)
        self._deserted.clear()

    def left(self, connection: Connection) -> None:
        """A client is gone."""
        self._connections.discard(connection)
        if not self._connections:
            self._deserted.set()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, "127.0.0.1", self.port, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for connection in list(self._connections):
            connection.cut()
        await self._deserted.wait()

    def _accept(self) -> Connection:
        self._accepted += 1
        return Connection(self, self._accepted - 1)
