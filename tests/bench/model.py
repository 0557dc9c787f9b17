"""The model of the benchmarks: a process of its own that answers by a plan and notes when bytes came and went."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from ensign.testing.http_server import Connection, HttpServer, RecordedRequest
from ensign.testing.replies import Call, Reply, openai_events

CHILD_MARK = b"You are a subagent"
FORK_MARK = b"<fork-boilerplate>"
_RESULT = b'"role":"tool"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What each kind of agent is answered.

    Attributes:
        main_steps: requests of the main agent in a turn; all but the last are answered with calls.
        spawn: how many `Agent` calls each of those answers makes; 0 means one `Read` instead.
        child_steps: requests of a subagent; all but the last are answered with one `Read`.
        latency_s: before a subagent's answer; the main agent's comes at once.
        hold: subagents' answers wait from this step on until `release`; -1 for never.
        deltas, interval_s: the pieces of the main agent's last text, and the time between them.
        kind: the `subagent_type` of the calls; empty for a fork.
    """

    main_steps: int = 2
    spawn: int = 0
    child_steps: int = 5
    latency_s: float = 0.0
    hold: int = -1
    deltas: int = 8
    interval_s: float = 0.0
    kind: str = "Explore"
    file: str = "a.txt"
    keep_step: int = 0
    """Keep the body of the main agent's request of this step, for `kept_body`."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as the server saw it; times in seconds of the monotonic clock that all processes share."""

    child: bool
    step: int
    came: float
    answered: float
    size: int


@dataclass(slots=True)
class _State:
    plan: Plan = field(default_factory=Plan)
    seen: list[Seen] = field(default_factory=list[Seen])
    first: dict[str, str] = field(default_factory=dict[str, str])
    bodies: list[bytes] = field(default_factory=list[bytes])
    keep: bool = False
    calls: int = 0
    released: asyncio.Event = field(default_factory=asyncio.Event)


class Model:
    """A handle on the process."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url

    def plan(self, plan: Plan, *, keep: bool = False) -> None:
        """Answer by `plan` from now on, and forget what was seen; `keep` keeps the bodies."""
        self._post("plan", {"plan": asdict(plan), "keep": keep})

    def release(self) -> None:
        """Answer those who wait."""
        self._post("release", {})

    def seen(self) -> list[Seen]:
        """Every request since the plan was set, in the order of arrival."""
        return sorted((Seen(*entry) for entry in self._post("seen", {})), key=lambda one: one.came)

    def bodies(self) -> list[bytes]:
        """The bodies of the forks' requests in the order of arrival."""
        return [text.encode() for text in self._post("bodies", {})]

    def first_body(self, *, child: bool) -> bytes:
        """The body of the first request of a kind of agent since the plan was set."""
        return str(self._post("first", {})["child" if child else "main"]).encode()

    def kept_body(self) -> bytes:
        """The body of the request that the plan says to keep."""
        return str(self._post("first", {})["kept"]).encode()

    def _post(self, what: str, value: Any) -> Any:
        url = f"{self.base_url}/_control/{what}"
        with urllib.request.urlopen(url, json.dumps(value).encode(), timeout=60) as answer:  # noqa: S310 - our own
            return json.loads(answer.read())


@contextmanager
def model_process() -> Iterator[Model]:
    """Run the model in a process of its own."""
    with subprocess.Popen([sys.executable, "-m", "tests.bench.model"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Model(process.stdout.readline().strip())
        finally:
            process.terminate()


class _Server:
    def __init__(self) -> None:
        self.state = _State()

    async def handle(self, request: RecordedRequest, connection: Connection) -> None:
        """Answer one request."""
        what = request.path.rpartition("/_control/")[2]
        if what != request.path:
            data = json.dumps(self._control(what, request.body)).encode()
            connection.start(200, {"content-type": "application/json", "content-length": str(len(data))})
            connection.write(data)
            return
        came, state = time.monotonic(), self.state
        child = CHILD_MARK in request.body or FORK_MARK in request.body
        step = request.body.count(_RESULT)
        if FORK_MARK in request.body:
            step -= state.plan.spawn  # the placeholders it starts with
        state.first.setdefault("child" if child else "main", request.body.decode())
        if not child and step and step == state.plan.keep_step:
            state.first["kept"] = request.body.decode()
        if state.keep and child:
            state.bodies.append(request.body)
        plan = state.plan
        if child and plan.latency_s:
            await asyncio.sleep(plan.latency_s)
        if child and step == plan.hold:
            await state.released.wait()
        last = step >= (plan.child_steps if child else plan.main_steps) - 1
        connection.start(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        if not child and last and plan.interval_s:
            await self._stream(connection, plan)
        else:
            connection.write(self._answer(plan, child=child, last=last))
        state.seen.append(Seen(child, step, came, time.monotonic(), len(request.body)))

    def _answer(self, plan: Plan, *, child: bool, last: bool) -> bytes:
        count = 0 if last else 1 if child else max(1, plan.spawn)
        data = _answer_bytes(plan, spawn=count if plan.spawn and not child else 0, read=not last, child=child)
        for _ in range(count):
            self.state.calls += 1
            data = data.replace(b"call_xxxxxxxxx", b"call_%09d" % self.state.calls, 1)
        return data

    async def _stream(self, connection: Connection, plan: Plan) -> None:
        """Numbered pieces at a steady pace; timers are coarser than the pace, so what is due goes out together."""
        pieces = tuple(f" {number}" for number in range(plan.deltas))
        events = openai_events(Reply(pieces=pieces), usage=True, first_id=0)
        due = time.monotonic()
        for event in events:
            due += plan.interval_s
            if (wait_s := due - time.monotonic()) > 0:
                await asyncio.sleep(wait_s)
            await connection.send(event)
        connection.end()

    def _control(self, what: str, body: bytes) -> Any:
        state = self.state
        match what:
            case "plan":
                value = json.loads(body)
                self.state = _State(plan=Plan(**value["plan"]), keep=value["keep"], calls=state.calls)
            case "release":
                state.released.set()
            case "seen":
                return [[one.child, one.step, one.came, one.answered, one.size] for one in state.seen]
            case "bodies":
                return [one.decode() for one in state.bodies]
            case "first":
                return state.first
            case _:
                raise ValueError(what)
        return {}


@cache
def _answer_bytes(plan: Plan, *, spawn: int, read: bool, child: bool) -> bytes:
    """The whole stream in HTTP chunks, one for each event, with call ids to be filled in."""
    arguments: dict[str, Any] = {"prompt": "look", "description": "look at a file"}
    if plan.kind:
        arguments["subagent_type"] = plan.kind
    made = [Call(name="Agent", arguments=arguments, id="call_xxxxxxxxx")] * spawn
    if not spawn and read:
        made = [Call(name="Read", arguments={"file_path": plan.file}, id="call_xxxxxxxxx")]
    text = " ".join(f"word{number}" for number in range(plan.deltas))
    events = openai_events(Reply(text=text, calls=tuple(made)), usage=True, first_id=0)
    return b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"


async def _serve() -> None:
    server = _Server()
    async with HttpServer(server.handle) as http:
        sys.stdout.write(f"http://127.0.0.1:{http.port}/v1\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
