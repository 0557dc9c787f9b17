"""A client that hides nothing: it writes the bytes it is told to, and keeps every message that comes."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

Message = dict[str, Any]


def framed(body: Any) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(data), data)


class RawClient:
    """Talks over a pair of streams. `replies` answers requests of the server by method; others stay unanswered."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.received: list[Message] = []
        self.replies: dict[str, Callable[[Any], Any]] = {}
        self.ended = asyncio.Event()
        self._reader, self._writer = reader, writer
        self._ids = itertools.count(1)
        self._arrived = asyncio.Condition()
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            while True:
                header = await self._reader.readuntil(b"\r\n\r\n")
                assert header.startswith(b"Content-Length: "), header
                message = json.loads(await self._reader.readexactly(int(header[16:-4])))
                self.received.append(message)
                if "method" in message and "id" in message and message["method"] in self.replies:
                    result = self.replies[message["method"]](message["params"])
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
                async with self._arrived:
                    self._arrived.notify_all()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.ended.set()

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    def send(self, message: Any) -> None:
        self.write(framed(message))

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, *params: Any) -> int:
        """Send a request, without `params` when none are given; return its id."""
        identifier = next(self._ids)
        message: Message = {"jsonrpc": "2.0", "id": identifier, "method": method}
        self.send({**message, "params": params[0]} if params else message)
        return identifier

    async def until(self, found: Callable[[Message], bool], count: int = 1) -> list[Message]:
        """Wait for `count` messages that match and return them."""
        async with asyncio.timeout(20), self._arrived:
            await self._arrived.wait_for(lambda: sum(map(found, self.received)) >= count)
        return [message for message in self.received if found(message)]

    async def answer(self, identifier: int | str | None) -> Message:
        """Wait for the response to a request; its envelope left out."""
        (message,) = await self.until(lambda m: "method" not in m and m["id"] == identifier)
        return {key: value for key, value in message.items() if key not in ("jsonrpc", "id")}

    async def request(self, method: str, *params: Any) -> Any:
        """Ask, and return `{"result": ...}` or `{"error": ...}`."""
        return await self.answer(self.ask(method, *params))

    async def sent(self, method: str, count: int = 1) -> list[Any]:
        """Wait for `count` messages of a method from the server; return their parameters."""
        return [m["params"] for m in await self.until(lambda m: m.get("method") == method, count)]

    async def initialize(self, *, experimental: Any = None, **params: Any) -> Any:
        capabilities = {"experimental": experimental, **params.pop("capabilities", {})}
        whole = {"processId": None, "rootUri": "file:///project", "capabilities": capabilities, **params}
        result = await self.request("initialize", whole)
        self.notify("initialized", {})
        return result

    async def close(self) -> None:
        """Hang up, and check that the server leaves nothing on the wire that is no frame."""
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()
        async with asyncio.timeout(20):
            await self.ended.wait()
        await self._task
