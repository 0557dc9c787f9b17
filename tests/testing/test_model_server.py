"""The scripted model server, by itself: what it records, its gates, and its speed."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from ensign.models.base import TextChunk
from ensign.models.http import HttpPool
from ensign.protocol.errors import ModelError
from ensign.testing.http_server import RecordedRequest
from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply, calls
from tests.models.bench import HELLO, chunks_of, remote, reply_of


async def fetch(method: str, url: str) -> bytes:
    pool = HttpPool({})
    try:
        async with pool.send(method, url, []) as response:
            return await response.read(1_000_000)
    finally:
        await pool.aclose()


async def test_a_request_is_recorded_exactly() -> None:
    async with ModelServer(Reply(text="a")) as server, remote(server.base_url) as model:
        await reply_of(model)
        request = await server.request(0)
        await request.answered.wait()
    assert (request.number, request.method, request.path) == (0, "POST", "/v1/chat/completions")
    assert request.json == json.loads(request.body)
    assert request.json["messages"][-1] == {"role": "user", "content": "Hello"}
    assert not request.left.is_set()


async def test_a_function_may_answer_every_request() -> None:
    def answer(request: RecordedRequest) -> Reply:
        return Reply(text=f"number {request.number}")

    async with ModelServer(answer) as server, remote(server.base_url) as model:
        texts = [(await reply_of(model)).message.text for _ in range(3)]
    assert texts == ["number 0", "number 1", "number 2"]


async def test_a_route_answers_by_what_the_request_holds() -> None:
    async with ModelServer(Reply(text="main")) as server, remote(server.base_url) as model:
        server.route("Hello", Reply(text="routed"))
        assert [(await reply_of(model)).message.text for _ in range(2)] == ["routed", "main"]


async def test_a_script_that_has_run_out_is_an_error_and_is_noted() -> None:
    async with ModelServer() as server, remote(server.base_url) as model:
        with pytest.raises(ModelError, match="no further reply"):
            await reply_of(model)
        assert server.exhausted == server.requests


async def test_a_gate_holds_a_reply_until_it_is_released() -> None:
    async with ModelServer(Reply(text="one two", gate="g", gate_at=2)) as server, remote(server.base_url) as model:
        task = asyncio.create_task(chunks_of(model))
        await server.reached("g")
        assert not task.done()
        server.release("g")
        assert [chunk.text for chunk in await task if isinstance(chunk, TextChunk)] == ["one", " two"]


@pytest.mark.parametrize("size", [1, 7])
async def test_a_reply_may_come_in_pieces_of_any_size(size: int) -> None:
    reply = Reply(text="ünï cödé", calls=calls(("Read", {"p": "ü"})).calls, split_bytes=size)
    async with ModelServer(reply) as server, remote(server.base_url) as model:
        message = (await reply_of(model)).message
    assert (message.text, message.calls[0].arguments) == ("ünï cödé", {"p": "ü"})


async def test_leaving_the_server_hangs_up_on_whoever_waits() -> None:
    async with ModelServer(Reply(text="a", cut="stall")) as server, remote(server.base_url) as model:
        task = asyncio.create_task(reply_of(model))
        request = await server.request(0)
        await server.__aexit__()
        with pytest.raises(ModelError):
            await task
        assert request.left.is_set()


@pytest.mark.slow
async def test_many_connections_and_many_deltas_arrive_whole() -> None:
    words = tuple(f"{number} " for number in range(200))
    replies = [Reply(pieces=words, latency_s=0.05)] * 64
    async with ModelServer(*replies) as server, remote(server.base_url) as model:
        answers = await asyncio.gather(*(reply_of(model, HELLO) for _ in replies))
    assert {answer.message.text for answer in answers} == {"".join(words)}


@pytest.mark.slow
async def test_it_runs_from_the_command_line_and_is_steered_over_http(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    held = {"text": "held", "gate": "g", "calls": [{"name": "Read", "arguments": {"file_path": "a"}}]}
    script.write_text(json.dumps({"replies": [held], "routes": [{"contains": "Other", "replies": [{"text": "x"}]}]}))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ensign.testing.model_server", "--script", str(script), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        base_url = (await process.stdout.readline()).decode().strip()
        async with remote(base_url) as model:
            task = asyncio.create_task(reply_of(model))
            control = f"{base_url.removesuffix('/v1')}/_control"
            await fetch("POST", f"{control}/release/g")
            message = (await task).message
            seen = json.loads(await fetch("GET", f"{control}/requests"))
    finally:
        process.terminate()
        await process.wait()
    assert (message.text, message.calls[0].name) == ("held", "Read")
    assert [request["path"] for request in seen] == ["/v1/chat/completions"]
