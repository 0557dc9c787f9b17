"""The one place in these tests that knows how the command line is started: a real process, its streams, its home."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ensign.testing.http_server import RecordedRequest
from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply

PATIENCE_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def last(self) -> dict[str, Any]:
        """The last of them."""
        return self.lines[-1]


class Shell:
    """A folder, a home and a model server, and commands run there."""

    def __init__(self, root: Path, home: Path, state: Path, server: ModelServer) -> None:
        self.root = root
        self.state = state
        self.server = server
        self.environment = {
            # What tests are started with decides which Ensign is found.
            **{name: value for name, value in os.environ.items() if name.startswith("PYTHON")},
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": str(home),
            "ENSIGN_HOME": str(state),
            "ENSIGN_MODEL": "openai/scripted",
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "sk-test",
        }

    async def start(self, *arguments: str, stdin: int = DEVNULL, stdout: int = PIPE, stderr: int = PIPE) -> Process:
        """Start `ensign` with these arguments."""
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ensign", *arguments),
            cwd=self.root,
            env=self.environment,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            limit=2**24,
        )

    async def run(self, *arguments: str) -> Done:
        """Run `ensign` to its end."""
        return await ended(await self.start(*arguments))

    def main_requests(self) -> list[RecordedRequest]:
        """The main agent's requests, in order."""
        return [one for one in self.server.requests if first_words(one).startswith("You are Ensign")]


async def ended(process: Process) -> Done:
    """Wait for the end of a process, and of its streams."""
    async with asyncio.timeout(PATIENCE_S):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Done(code=process.returncode, out=(out or b"").decode(), err=(err or b"").decode())


@asynccontextmanager
async def shell(tmp_path: Path, *script: Reply) -> AsyncIterator[Shell]:
    """A shell in an empty folder; the model answers by script."""
    root, home = tmp_path / "work", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    # A socket's path is short, and those of pytest are not.
    with TemporaryDirectory(prefix="ensign-test-", dir="/tmp") as state:
        async with ModelServer(*script) as server:
            yield Shell(root, home, Path(state), server)


def first_words(request: RecordedRequest) -> str:
    """How a request's system prompt begins."""
    return str(request.json["messages"][0]["content"])


class Screen:
    """A terminal that a command is started in; `text` is all that it was sent."""

    def __init__(self) -> None:
        self.ours, self.theirs = pty.openpty()
        self._seen = bytearray()
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(self.ours, self._read)

    @property
    def text(self) -> str:
        """Everything so far, without the carriage returns of a terminal."""
        return self._seen.decode("utf-8", "replace").replace("\r\n", "\n")

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.ours, text.encode())

    async def shows(self, text: str) -> None:
        """Wait until this was shown."""
        async with asyncio.timeout(PATIENCE_S):
            while text not in self.text:
                self._news.clear()
                await self._news.wait()

    def close(self) -> None:
        """Take the terminal away."""
        asyncio.get_running_loop().remove_reader(self.ours)
        os.close(self.ours)
        os.close(self.theirs)

    def _read(self) -> None:
        try:
            self._seen += os.read(self.ours, 65536)
        except OSError:
            asyncio.get_running_loop().remove_reader(self.ours)
        self._news.set()
