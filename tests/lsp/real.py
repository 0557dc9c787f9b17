"""The real runtime behind a client that hides nothing, in this process, with a project and a home of its own."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ensign.app import build
from ensign.lsp.connection import serve
from ensign.lsp.server import Start
from ensign.lsp.transport import of_socket
from tests.lsp.raw import RawClient

Json = Any
OWN_EDITOR = {"ensign": {"approvals": True}}


@dataclass
class Desk:
    """A person's editor, project and home."""

    client: RawClient
    project: Path
    home: Path

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def open(self, name: str, text: str) -> str:
        """Open a document with unsaved text; return its URI."""
        uri = (self.project / name).as_uri()
        document = {"uri": uri, "languageId": "markdown", "version": 1, "text": text}
        self.client.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def change(self, uri: str, version: int, text: str) -> None:
        """Type: the whole text is another one."""
        document = {"uri": uri, "version": version}
        self.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    async def faults(self, uri: str, version: int | None = None) -> list[tuple[Json, ...]]:
        """Wait for a document's diagnostics: line, first and last character, severity, code."""

        def found(message: Json) -> bool:
            params = message.get("params")
            of_it = message.get("method") == "textDocument/publishDiagnostics" and params["uri"] == uri
            return of_it and (version is None or params.get("version") == version)

        (*_, last) = await self.client.until(found)
        return [
            (
                one["range"]["start"]["line"],
                one["range"]["start"]["character"],
                one["range"]["end"]["character"],
                one["severity"],
                one["code"],
            )
            for one in last["params"]["diagnostics"]
        ]

    def configure(self, settings: Json) -> None:
        """Change the editor's settings."""
        self.client.notify("workspace/didChangeConfiguration", {"settings": settings})

    async def roles(self) -> Json:
        """The models that roles stand for."""
        return (await self.client.request("ensign/model/list", {}))["result"]["roles"]

    async def session(self, cwd: Path | None = None) -> str:
        """Open a session."""
        answer = await self.client.request("ensign/session/open", {"cwd": str(cwd or self.project)})
        return str(answer["result"]["sessionId"])

    async def turn(self, session: str, text: str) -> list[Json]:
        """Run a turn to its end; return its events."""
        params: Json = {"sessionId": session, "text": text, "context": []}
        turn = (await self.client.request("ensign/turn/start", params))["result"]["turnId"]

        def ended(message: Json) -> bool:
            event: Json = message["params"]["event"] if message.get("method") == "ensign/event" else {}
            return bool(event) and event["kind"] in ("turn_ended", "turn_failed") and event["turnId"] == turn

        await self.client.until(ended)
        events = [m["params"] for m in self.client.received if m.get("method") == "ensign/event"]
        return [one["event"] for one in events if one["sessionId"] == session and one["event"].get("turnId") == turn]

    async def at(self, method: str, uri: str, line: int, character: int, **more: Json) -> Json:
        """Ask something about a position."""
        position = {"line": line, "character": character}
        answer = await self.client.request(method, {"textDocument": {"uri": uri}, "position": position, **more})
        return answer.get("result", answer)


@asynccontextmanager
async def desk(
    base: Path, *, files: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None, **params: Json
) -> AsyncIterator[Desk]:
    """A server with a client that has been initialized; `files` are those of the project before that."""
    project, home = base / "project", base / "home"
    project.mkdir()
    home.mkdir()
    ours, theirs = socket.socketpair()
    variables = {"HOME": str(home), "ENSIGN_HOME": str(base / "state"), "PATH": "/usr/bin:/bin", **(environment or {})}
    start = Start(build=build, environment=variables, command_line={})
    code = asyncio.create_task(serve(of_socket(ours), start, started=lambda stop: None))
    reader, writer = await asyncio.open_connection(sock=theirs, limit=2**27)
    client = RawClient(reader, writer)
    client.replies["client/registerCapability"] = lambda params: None
    person = Desk(client, project, base / "state")
    for name, text in (files or {}).items():
        person.write(name, text)
    try:
        await client.initialize(**{"rootUri": project.as_uri(), **params})
        yield person
    finally:
        await client.close()
        await code


def agent(name: str, *lines: str, role: str = "Role.") -> str:
    """The text of an agent file."""
    return "\n".join(["---", f"name: {name}", "description: d", *lines, "---", role, ""])
