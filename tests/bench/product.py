"""Ensign for the benchmarks: an app in this process with an editor's reader on its events, or `ensign serve` itself."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from ensign.app import App, build
from ensign.protocol import wire
from ensign.protocol.codec import to_wire
from ensign.protocol.events import Event

ENSIGN = Path(sys.executable).with_name("ensign")
OPTIONS = {"subagents": {"maxRunning": 1024, "maxSpawns": 5000, "foregroundSeconds": 3600}}


def environment_of(folder: Path, base_url: str) -> dict[str, str]:
    """The environment of a user whose home is in `folder` and whose model is at `base_url`."""
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    return {
        "HOME": str(home),
        "ENSIGN_HOME": str(home / "ensign"),
        "PATH": "/usr/bin:/bin",
        "ENSIGN_MODEL": "openai/scripted",
        "OPENAI_BASE_URL": base_url,
        "OPENAI_API_KEY": "sk-bench",
    }


def workspace_of(folder: Path) -> Path:
    """A workspace with the file that agents read."""
    root = folder / "workspace"
    root.mkdir(parents=True, exist_ok=True)
    (root / "a.txt").write_text("".join(f"line {number} of a file of ordinary length\n" for number in range(1, 21)))
    return root


class Product:
    """An open session."""

    def __init__(self, app: App, session_id: str) -> None:
        self.app = app
        self.api = app.api
        self.session_id = session_id

    async def turn(self) -> None:
        """Run a turn, and all that it starts, to the end."""
        await self.api.turn_start(wire.TurnStart(session_id=self.session_id, text="go"))
        await self.settle()

    async def settle(self) -> None:
        """Wait until nothing runs."""
        await self.api.session_settle(wire.SessionRef(session_id=self.session_id))

    async def start_agent(self) -> str:
        """Start a subagent for a person; return its task's id."""
        run = wire.AgentRun(agent="Explore", prompt="look", session_id=self.session_id)
        return (await self.api.agent_run(run)).task_id


@asynccontextmanager
async def product(folder: Path, base_url: str, **subagents: Any) -> AsyncIterator[Product]:
    """An app in this process; its events are encoded as for an editor, and thrown away."""

    def read(session_id: str, seq: int, event: Event) -> None:
        params = {"sessionId": session_id, "seq": seq, "event": to_wire(event)}
        json.dumps({"jsonrpc": "2.0", "method": "ensign/event", "params": params}, ensure_ascii=False).encode()

    root = workspace_of(folder)
    app = build(
        options={"subagents": {**OPTIONS["subagents"], **subagents}, "agent": {"maxTurns": 5000}},
        roots=(root,),
        environment=environment_of(folder, base_url),
        command_line={},
        client_name="bench",
    )
    app.attach(editor=None, answers=True)
    stop = app.subscribe(read, lambda _: None)
    try:
        opened = await app.api.session_open(wire.SessionOpen(cwd=str(root)))
        yield Product(app, opened.session_id)
    finally:
        await app.close("the benchmark ended")
        stop()


class Server:
    """A language server behind its pipes, spoken to in frames, blocking."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._ids = itertools.count(1)

    def send(self, method: str, params: Any, *, identifier: int | None = None) -> None:
        """Write one message."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if identifier is not None:
            message["id"] = identifier
        data = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Read one message."""
        assert self.process.stdout is not None
        size = 0
        while (line := self.process.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        if not size:
            raise EOFError("the server is gone")
        message: dict[str, Any] = json.loads(self.process.stdout.read(size))
        return message

    def request(self, method: str, params: Any) -> Any:
        """Ask, and return the result; what comes in between is dropped."""
        identifier = next(self._ids)
        self.send(method, params, identifier=identifier)
        while (message := self.receive()).get("id") != identifier or "method" in message:
            pass
        if "error" in message:
            raise RuntimeError(message["error"])
        return message["result"]

    def turn(self, session_id: str) -> list[dict[str, Any]]:
        """Run a turn to its last event and return the parameters of all events on the way."""
        self.send("ensign/turn/start", {"sessionId": session_id, "text": "go"}, identifier=next(self._ids))
        seen: list[dict[str, Any]] = []
        while True:
            message = self.receive()
            if message.get("method") == "ensign/event":
                seen.append(message["params"])
                event = seen[-1]["event"]
                if event["kind"] in ("turn_ended", "turn_failed") and event["taskId"] is None:
                    return seen

    def initialize(self, root: Path) -> None:
        """Greet."""
        params = {"processId": None, "rootUri": root.as_uri(), "capabilities": {}, "initializationOptions": OPTIONS}
        self.request("initialize", params)
        self.send("initialized", {})


@contextmanager
def server_process(command: list[str], environment: dict[str, str], cwd: Path) -> Iterator[Server]:
    """Start a language server; it is killed at the end."""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if not os.environ.get("BENCH_LOG") else None,
        env=environment,
        cwd=cwd,
    ) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


async def quiet() -> None:
    """Let what was just closed be gone before the next measurement."""
    import gc

    await asyncio.sleep(0)
    gc.collect()
