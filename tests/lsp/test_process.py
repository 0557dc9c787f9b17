"""The server as a process: its descriptors, its start, and each of its ends (`lsp-notes` 1.4, 1.5; B10)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.lsp.conftest import ROOT, Far
from tests.lsp.raw import RawClient, framed

pytestmark = pytest.mark.slow

Start = Callable[..., Awaitable[Far]]

INITIALIZE: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}


def turn(text: str) -> dict[str, Any]:
    return {"sessionId": "s1", "text": text}


@pytest.mark.parametrize("text", ["print", "child"])
async def test_nothing_but_frames_is_on_the_wire(far: Start, text: str) -> None:
    """Neither a `print` nor a child that reads its input and writes its output can touch the protocol."""
    server = await far()
    await server.client.initialize()
    assert await server.client.request("ensign/turn/start", turn(text)) == {"result": {"turnId": "1"}}
    assert await server.client.request("ensign/session/list", {}) == {"result": {"sessions": []}}
    await server.client.request("shutdown")
    server.client.notify("exit")
    assert await server.code() == 0
    stray = {"print": "stray words on standard output\n", "child": "from a child\n"}
    assert stray[text] in await server.errors()


@pytest.mark.parametrize(
    ("last", "code"), [([], 1), (["shutdown"], 0), (["shutdown", "exit"], 0), (["exit"], 1)], ids=str
)
async def test_a_client_that_hangs_up_ends_the_server(far: Start, last: list[str], code: int) -> None:
    server = await far()
    await server.client.initialize()
    waiting = server.client.ask("ensign/turn/start", turn("wait"))
    await server.client.request("ensign/session/list", {})
    for method in last:
        if method == "shutdown":
            await server.client.request(method)
        else:
            server.client.notify(method)
    await server.client.close()
    assert await server.code() == code
    assert (await server.errors()).count("closed: ") == 1
    if last == ["shutdown"]:
        assert (await server.client.answer(waiting))["error"]["code"] == -32800


async def test_hanging_up_right_after_initialize_ends_the_server(far: Start) -> None:
    server = await far()
    await server.client.initialize()
    await server.client.request("shutdown")
    await server.client.close()
    assert await server.code() == 0


async def test_hanging_up_before_anything_ends_the_server(far: Start) -> None:
    server = await far()
    await server.client.close()
    assert await server.code() == 1
    assert "Traceback" not in await server.errors()


@pytest.mark.parametrize(
    "part", [b"Content-Length: 500\r\n\r\n{", b"Content-Length: 500\r\n", os.urandom(1000), b"\r\n\r\n"]
)
async def test_a_torn_stream_ends_the_server_without_a_word_too_much(far: Start, part: bytes) -> None:
    server = await far()
    await server.client.initialize()
    server.client.write(part)
    await server.client.close()
    assert await server.code() == 1
    assert "Traceback" not in await server.errors()


async def test_garbage_without_end_ends_the_server(far: Start) -> None:
    server = await far()
    server.client.write(b"GET / HTTP/1.1\n" * 10_000)
    assert await server.code() == 1
    assert "Traceback" not in await server.errors()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
async def test_a_signal_ends_the_runs_and_answers_what_is_open(far: Start, name: str) -> None:
    server = await far()
    await server.client.initialize()
    waiting = server.client.ask("ensign/turn/start", turn("wait"))
    await server.client.request("ensign/session/list", {})
    number = signal.Signals[name]
    server.process.send_signal(number)
    assert await server.code() == 128 + number
    assert (await server.client.answer(waiting))["error"]["code"] == -32800
    assert f"closed: {name}" in await server.errors()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
async def test_a_signal_ends_an_idle_server(far: Start, name: str) -> None:
    server = await far()
    await server.client.initialize()
    server.process.send_signal(signal.Signals[name])
    assert await server.code() == 128 + signal.Signals[name]


async def test_a_thread_that_is_busy_does_not_hold_up_the_end(far: Start) -> None:
    server = await far()
    await server.client.initialize()
    server.client.ask("ensign/turn/start", turn("slow thread"))
    await server.client.request("ensign/session/list", {})
    await server.client.close()
    assert await server.code() == 1


async def test_the_end_of_the_editors_process_ends_the_server(far: Start) -> None:
    server = await far()
    editor = await asyncio.create_subprocess_exec("sleep", "60")
    await server.client.initialize(processId=editor.pid)
    await asyncio.sleep(0.6)  # it is looked at twice a second, and must have been there once
    editor.kill()
    await editor.wait()
    assert await server.code() == 1


async def test_a_process_that_cannot_be_seen_is_not_taken_for_dead(far: Start) -> None:
    server = await far()
    gone = await asyncio.create_subprocess_exec("true")
    await gone.wait()
    await server.client.initialize(processId=gone.pid)
    await asyncio.sleep(1.2)
    assert "result" in await server.client.request("ensign/session/list", {})


async def test_a_client_that_closes_only_its_reading_ends_the_server() -> None:
    """And a closed standard error makes no loop of it."""
    for closed in ("1>&-", "2>&-", "1>&- 2>&-"):
        command = f"exec {sys.executable} -m tests.lsp.serve {closed}"
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'server'}"}
        child = await asyncio.create_subprocess_exec(
            "sh", "-c", command, cwd=ROOT, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(20):
            await child.communicate(framed(INITIALIZE))
        assert child.returncode == 1


async def test_a_reader_that_goes_away_ends_the_server() -> None:
    source, sink = os.pipe()
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'server'}"}
    errors, errors_sink = os.pipe()
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.lsp.serve", cwd=ROOT, env=environment,
        stdin=subprocess.PIPE, stdout=sink, stderr=errors_sink,
    )  # fmt: skip
    for fd in (source, sink, errors, errors_sink):
        os.close(fd)
    assert child.stdin is not None
    child.stdin.write(framed(INITIALIZE))
    async with asyncio.timeout(20):
        assert await child.wait() == 1


async def connected(port: int) -> RawClient:
    return RawClient(*await asyncio.open_connection("127.0.0.1", port))


async def test_a_port_serves_one_client_that_shows_the_token(far: Start) -> None:
    server = await far("0")
    assert server.process.stderr is not None
    words = (await server.process.stderr.readline()).decode().split()
    assert words[:3] == ["ensign:", "listening", "on"]
    host, port = words[3].split(":")
    token = words[5]
    assert (host, words[4]) == ("127.0.0.1", "token")
    for wrong in ({}, {"token": token[:-1]}, {"token": None}, {"token": "ü"}):
        stranger = await connected(int(port))
        refused = await stranger.request("initialize", {"capabilities": {}, "initializationOptions": wrong})
        assert refused["error"]["message"].startswith("initializationOptions.token: must be the token")
        await stranger.ended.wait()
        await stranger.close()
    client = await connected(int(port))
    await client.initialize(initializationOptions={"token": token})
    assert await client.request("ensign/session/list", {}) == {"result": {"sessions": []}}
    await client.close()
    assert await server.code() == 1
