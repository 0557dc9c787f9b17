"""How `ensign serve` ends while it works: nothing left running, nothing unanswered, nothing allowed (B10, P7)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Far
from tests.lsp.raw import RawClient

pytestmark = pytest.mark.slow


@asynccontextmanager
async def product(tmp_path: Path, *, answers: Any = None) -> AsyncIterator[Far]:
    """Start the real server on an empty project, with the offline model."""
    project = tmp_path / "project"
    project.mkdir()
    environment = {**os.environ, "ENSIGN_HOME": str(tmp_path / "home"), "ENSIGN_MODEL": "offline"}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ensign", "serve", env=environment, cwd=project,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, limit=2**27,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    client = RawClient(child.stdout, child.stdin)
    if answers is not None:
        client.replies["window/showMessageRequest"] = lambda params: answers
    await client.initialize(rootUri=project.as_uri())
    try:
        yield Far(child, client)
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()
        await client.close()


async def ask(client: RawClient, prompt: str) -> None:
    command = {"command": "ensign.server.ask", "arguments": [{"prompt": prompt}]}
    assert "result" in await client.request("workspace/executeCommand", command)


async def pid_in(file: Path) -> int:
    """Wait for a command of ours to say who it is."""
    async with asyncio.timeout(30):
        while not file.exists() or not file.read_text(encoding="utf-8").strip():
            await asyncio.sleep(0.02)
    return int(file.read_text(encoding="utf-8"))


async def gone(pid: int) -> None:
    async with asyncio.timeout(10):
        while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8"):
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("end", ["SIGTERM", "hang up", "exit"])
async def test_a_command_that_runs_ends_with_the_server(tmp_path: Path, end: str) -> None:
    async with product(tmp_path, answers={"title": "Allow once"}) as server:
        pid_file = tmp_path / "project" / "pid"
        await ask(server.client, f"run `sh -c 'echo $$ > {pid_file}; sleep 600'`")
        pid = await pid_in(pid_file)
        if end == "SIGTERM":
            server.process.send_signal(signal.SIGTERM)
        elif end == "hang up":
            await server.client.close()
        else:
            await server.client.request("shutdown")
            server.client.notify("exit")
        assert await server.code() == {"SIGTERM": 128 + signal.SIGTERM, "hang up": 1, "exit": 0}[end]
        await gone(pid)
        assert "Traceback" not in await server.errors()


async def test_a_client_that_leaves_a_question_open_has_allowed_nothing(tmp_path: Path) -> None:
    async with product(tmp_path) as server:
        await ask(server.client, "run `touch canary`")
        (question,) = await server.client.sent("window/showMessageRequest")
        assert "touch canary" in question["message"]
        await server.client.close()
        assert await server.code() == 1
        assert "Traceback" not in await server.errors()
    assert not (tmp_path / "project" / "canary").exists()


async def test_a_dismissed_question_is_a_denial_the_agent_reads(tmp_path: Path) -> None:
    async with product(tmp_path, answers=None) as server:
        server.client.replies["window/showMessageRequest"] = lambda params: None
        await ask(server.client, "run `touch canary`")
        events = await server.client.until(
            lambda m: m.get("method") == "ensign/event" and m["params"]["event"]["kind"] == "tool_finished"
        )
        finished = events[0]["params"]["event"]
        assert finished["isError"]
        assert finished["deniedBy"] == "person"
        assert "the question was dismissed" in finished["text"]
    assert not (tmp_path / "project" / "canary").exists()


async def test_a_stopped_task_takes_its_question_back(tmp_path: Path) -> None:
    async with product(tmp_path) as server:
        await ask(server.client, "run `touch canary`")
        (message,) = await server.client.until(lambda m: m.get("method") == "window/showMessageRequest")
        listed = await server.client.request("ensign/task/list", {})
        (task,) = listed["result"]["tasks"]
        assert task["state"] == "waiting"
        stopped = await server.client.request("ensign/task/stop", {"ids": [task["id"]]})
        assert stopped == {"result": {"stopped": [task["id"]], "notFound": []}}
        assert await server.client.sent("$/cancelRequest") == [{"id": message["id"]}]
        server.client.send({"jsonrpc": "2.0", "id": message["id"], "result": {"title": "Allow once"}})
        assert "result" in await server.client.request("ensign/session/list", {})
    assert not (tmp_path / "project" / "canary").exists()


async def test_a_message_of_20_megabytes_and_garbage_leave_the_server_well(tmp_path: Path) -> None:
    async with product(tmp_path) as server:
        client = server.client
        opened = await client.request("ensign/session/open", {"cwd": (tmp_path / "project").as_uri()})
        session = opened["result"]["sessionId"]
        large = await client.request("ensign/turn/start", {"sessionId": session, "text": "Where is x? " * 1_700_000})
        assert set(large) == {"result"}
        client.write(b"some words\r\n\r\n{}")
        assert (await client.answer(None))["error"]["code"] == -32700
        cancelled = await client.request("ensign/turn/cancel", {"sessionId": session})
        assert cancelled == {"result": {}}
        assert await client.request("shutdown") == {"result": None}
        client.notify("exit")
        assert await server.code() == 0
