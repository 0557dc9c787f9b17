"""A model server that answers by script over real HTTP, in the formats of OpenAI and of Anthropic.

In a test: `async with ModelServer(Reply(text="hi")) as server: ... server.base_url ... server.requests`.
From a shell: `python -m ensign.testing.model_server --script replies.json --port 8099`, with the script
`{"replies": [{"text": "hi"}], "routes": [{"contains": "You explore", "replies": [...]}]}`.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Self

from ensign.protocol.messages import Usage
from ensign.testing.http_server import Connection, HttpServer, RecordedRequest
from ensign.testing.replies import Call, Reply, anthropic_events, error, openai_events

Answer = Callable[[RecordedRequest], Reply | Awaitable[Reply]]
_COMMENT_INTERVAL_S = 0.01


class ModelServer:
    """Answers each request with the next reply of the first route that fits, else of the script.

    Attributes:
        requests: every model request, in the order of arrival.
        exhausted: requests for which no reply was left; they were answered with status 500.
        models: what `/models` lists.
    """

    def __init__(self, *script: Reply | Answer, port: int = 0, models: Sequence[str] = ("scripted",)) -> None:
        self.requests: list[RecordedRequest] = []
        self.exhausted: list[RecordedRequest] = []
        self.models = tuple(models)
        self._script = list(script)
        self._routes: list[tuple[str, list[Reply | Answer]]] = []
        self._gates: dict[str, asyncio.Event] = {}
        self._reached: dict[str, asyncio.Event] = {}
        self._arrived = asyncio.Condition()
        self._calls = 0
        self._http = HttpServer(self._handle, port=port)

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.__aexit__()

    @property
    def url(self) -> str:
        """The base URL for `anthropic`."""
        return f"http://127.0.0.1:{self._http.port}"

    @property
    def base_url(self) -> str:
        """The base URL for `openai`."""
        return f"{self.url}/v1"

    def add(self, *replies: Reply | Answer) -> None:
        """Add to the script. A function answers every request from its turn on."""
        self._script.extend(replies)

    def route(self, contains: str, *replies: Reply | Answer) -> None:
        """Answer requests whose body contains this text, as JSON writes it, from a script of their own."""
        self._routes.append((contains, list(replies)))

    def release(self, gate: str) -> None:
        """Let the replies go on that wait at this gate, now and later."""
        self._gates.setdefault(gate, asyncio.Event()).set()

    async def reached(self, gate: str) -> None:
        """Wait until a reply waits at this gate."""
        await self._reached.setdefault(gate, asyncio.Event()).wait()

    async def request(self, number: int) -> RecordedRequest:
        """Wait for the request with this number, from 0, and return it."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) > number)
        return self.requests[number]

    # ---- inside

    async def _handle(self, request: RecordedRequest, connection: Connection) -> None:
        if request.method == "GET" or request.path.startswith("/_control/"):
            _answer_json(connection, *self._control(request))
            return
        self.requests.append(request)
        async with self._arrived:
            self._arrived.notify_all()
        reply = await self._choose(request)
        if reply.latency_s:
            await asyncio.sleep(reply.latency_s)
        if reply.gate and reply.gate_at == 0:
            await self._wait_at(reply.gate)
        if reply.body is not None:
            self._answer_body(reply, connection)
            return
        await self._stream(reply, self._events(reply, request), connection)

    def _control(self, request: RecordedRequest) -> tuple[int, Any]:
        """Steer a server in another process: list its requests, release a gate."""
        if request.path.endswith("/models"):
            return 200, {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
        if request.path == "/_control/requests":
            return 200, [{"path": seen.path, "at": seen.at, "body": seen.json} for seen in self.requests]
        if request.path.startswith("/_control/release/"):
            self.release(request.path.rpartition("/")[2])
            return 200, {}
        return 404, {"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}}

    async def _choose(self, request: RecordedRequest) -> Reply:
        body = request.body.decode("utf-8", "replace")
        script = next((replies for text, replies in self._routes if text in body and replies), self._script)
        if not script:
            self.exhausted.append(request)
            return error(500, {"error": {"message": "the script of the test has no further reply"}})
        entry = script[0] if callable(script[0]) else script.pop(0)
        if isinstance(entry, Reply):
            return entry
        answer = entry(request)
        return await answer if inspect.isawaitable(answer) else answer

    def _events(self, reply: Reply, request: RecordedRequest) -> list[bytes]:
        first_id = self._calls
        self._calls += len(reply.calls)
        if request.path.partition("?")[0].endswith("/messages"):
            return anthropic_events(reply, first_id=first_id)
        usage = bool(request.json.get("stream_options", {}).get("include_usage"))
        return openai_events(reply, usage=usage, first_id=first_id)

    def _answer_body(self, reply: Reply, connection: Connection) -> None:
        assert reply.body is not None
        headers = {"content-type": "text/event-stream", **reply.headers}
        connection.start(reply.status, {**headers, "content-length": str(len(reply.body))})
        connection.write(reply.body)

    async def _stream(self, reply: Reply, events: list[bytes], connection: Connection) -> None:
        connection.start(reply.status, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        await self._keep_alive(reply, connection)
        last = len(events) if reply.cut is None else reply.cut_at
        stops = sorted({reply.gate_at, last} if reply.gate and 0 < reply.gate_at < last else {last})
        sent = 0
        for stop in stops:
            await self._send(reply, events[sent:stop], connection)
            sent = stop
            if sent < last:
                await self._wait_at(reply.gate)
        if reply.cut == "stall":
            await asyncio.Event().wait()
        elif reply.cut == "drop":
            connection.cut()
        else:
            connection.end()

    async def _keep_alive(self, reply: Reply, connection: Connection) -> None:
        left = reply.comments
        while left:
            await connection.send(b": keep-alive\n\n")
            await asyncio.sleep(_COMMENT_INTERVAL_S)
            left -= 1

    async def _send(self, reply: Reply, events: list[bytes], connection: Connection) -> None:
        if reply.split_bytes:
            data = b"".join(events)
            size = reply.split_bytes
            events = [data[at : at + size] for at in range(0, len(data), size)]
        if not reply.interval_s:
            # One write: a thousand streams at once should measure the client.
            connection.write(b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in events))
            await connection.send(b"")
            return
        loop = asyncio.get_running_loop()
        due = loop.time()
        for event in events:
            due += reply.interval_s
            # Timers are coarser than a fast stream: what is due goes out together.
            if (wait_s := due - loop.time()) > 0:
                await asyncio.sleep(wait_s)
            await connection.send(event)

    async def _wait_at(self, gate: str) -> None:
        self._reached.setdefault(gate, asyncio.Event()).set()
        await self._gates.setdefault(gate, asyncio.Event()).wait()


def _answer_json(connection: Connection, status: int, body: Any) -> None:
    data = json.dumps(body).encode()
    connection.start(status, {"content-type": "application/json", "content-length": str(len(data))})
    connection.write(data)


def read_reply(entry: dict[str, Any]) -> Reply:
    """Return the reply that a JSON object describes; names as in `Reply`, `body` as text or `bodyBase64`."""
    fields = dict(entry)
    if "calls" in fields:
        fields["calls"] = tuple(Call(**call) for call in fields["calls"])
    if isinstance(fields.get("usage"), dict):
        fields["usage"] = Usage(**fields["usage"])
    if "pieces" in fields:
        fields["pieces"] = tuple(fields["pieces"])
    if "bodyBase64" in fields:
        fields["body"] = base64.b64decode(fields.pop("bodyBase64"))
    elif isinstance(fields.get("body"), str):
        fields["body"] = fields["body"].encode()
    return Reply(**fields)


async def serve(script: dict[str, Any], port: int) -> None:
    """Answer by `script` until cancelled; the first line on standard output is the base URL."""
    server = ModelServer(*map(read_reply, script.get("replies", ())), port=port)
    for route in script.get("routes", ()):
        server.route(route["contains"], *map(read_reply, route["replies"]))
    async with server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--script", type=Path, required=True, help="a JSON file")
    parser.add_argument("--port", type=int, default=0, help="on loopback; 0 takes a free one")
    options = parser.parse_args()
    try:
        asyncio.run(serve(json.loads(options.script.read_text(encoding="utf-8")), options.port))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
