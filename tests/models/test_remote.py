"""A model over real HTTP: both formats, faults on the way, and keys that show nowhere."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import traceback
from typing import Any

import pytest

from ensign.models.base import Restarted, TextChunk
from ensign.models.remote import RemoteModel
from ensign.models.vendors import ANTHROPIC, Vendor
from ensign.models.watchdog import StreamLimits
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.messages import StopReason, Text, Thinking, Usage
from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply, calls, error
from tests.models.bench import AT_ONCE, HELLO, KEY, Kind, chunks_of, remote, reply_of, request_of
from tests.models.test_streams import replay

OK = Reply(text="fine")
both = pytest.mark.parametrize("kind", ["openai", "anthropic"])


def url_of(server: ModelServer, kind: Kind) -> str:
    return server.url if kind == "anthropic" else server.base_url


@both
async def test_an_answer_arrives_whole_in_either_format(kind: Kind) -> None:
    usage = Usage(input=10, output=7, cache_write=0, cache_read=5)
    reply = Reply(text="Let me look", thinking="hm", calls=calls(("Read", {"p": "ü"})).calls, usage=usage)
    async with ModelServer(reply) as server, remote(url_of(server, kind), kind) as model:
        answer = await reply_of(model)
    thinking, text, call = answer.message.parts
    assert (answer.stop, answer.usage, text) == (StopReason.END_TURN, usage, Text(text="Let me look"))
    assert isinstance(thinking, Thinking)
    assert [(made.name, made.arguments) for made in answer.message.calls] == [("Read", {"p": "ü"})]
    assert call in answer.message.calls
    assert answer.first_token_s is not None


@both
@pytest.mark.parametrize("cut", ["drop", "end"])
async def test_a_stream_that_ends_too_early_is_tried_again(kind: Kind, cut: Any) -> None:
    script = (Reply(text="one two three four", cut=cut, cut_at=4), OK)
    async with ModelServer(*script) as server, remote(url_of(server, kind), kind, retry=AT_ONCE) as model:
        chunks = await chunks_of(model)
    kinds = [type(chunk) for chunk in chunks]
    assert kinds.count(Restarted) == 1
    after = chunks[kinds.index(Restarted) + 1 :]
    assert [chunk.text for chunk in after if isinstance(chunk, TextChunk)] == ["fine"]


@both
async def test_an_early_end_keeps_its_text_and_runs_no_half_call(kind: Kind) -> None:
    into_the_call = {"openai": 4, "anthropic": 7}[kind]
    reply = Reply(text="one two", calls=calls(("Read", {"path": "abc"})).calls, cut="end", cut_at=into_the_call)
    async with ModelServer(reply) as server, remote(url_of(server, kind), kind) as model:
        with pytest.raises(ModelError) as caught:
            await reply_of(model)
    assert (caught.value.kind, caught.value.partial_text) == (ModelErrorKind.DROPPED, "one two")


async def test_a_half_closed_connection_is_an_error_and_no_endless_wait() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n"
    async with replay([head, b"data: {}\n\n"]) as url, remote(url) as model:
        with pytest.raises(ModelError) as caught:
            await reply_of(model)
    assert caught.value.kind is ModelErrorKind.DROPPED


async def test_a_silent_server_is_a_stall_tried_once_more() -> None:
    limits = StreamLimits(stall_s=0.1, first_token_s=0.1, kept_alive_s=0.3)
    script = (Reply(text="one two", cut="stall", cut_at=3), Reply(comments=-1))
    async with ModelServer(*script) as server, remote(server.base_url, limits=limits, retry=AT_ONCE) as model:
        with pytest.raises(ModelError) as caught:
            await reply_of(model)
        assert caught.value.kind is ModelErrorKind.STALLED
        await asyncio.gather(*(request.left.wait() for request in server.requests))
        assert len(server.requests) == 2


async def test_cancelling_hangs_up_at_once() -> None:
    async with ModelServer(Reply(text="one", gate="held", gate_at=2)) as server, remote(server.base_url) as model:
        task = asyncio.create_task(reply_of(model))
        await server.reached("held")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.requests[0].left.wait()


async def test_leaving_the_stream_hangs_up_too() -> None:
    async with ModelServer(Reply(text="one", gate="held", gate_at=2)) as server, remote(server.base_url) as model:
        stream = model.stream(request_of(model, HELLO))
        await anext(stream)
        await stream.aclose()
        await server.requests[0].left.wait()


async def test_waiting_as_the_server_asks_then_succeeding() -> None:
    busy = error(529, {"type": "error", "error": {"type": "overloaded_error"}}, retry_after="0.01")
    async with ModelServer(busy, busy, OK) as server, remote(server.base_url, retry=AT_ONCE) as model:
        assert (await reply_of(model)).message.text == "fine"
        assert len(server.requests) == 3


@both
async def test_an_error_in_a_good_stream_is_told_and_tried_again(kind: Kind) -> None:
    body = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    async with ModelServer(Reply(body=body), OK) as server, remote(url_of(server, kind), kind, retry=AT_ONCE) as model:
        assert (await reply_of(model)).message.text == "fine"


async def test_an_unknown_model_is_told_with_the_names_that_there_are() -> None:
    gone = error(404, {"error": {"message": "The model `m` does not exist", "code": "model_not_found"}})
    async with ModelServer(gone, models=["b-2", "a-1"]) as server, remote(server.base_url) as model:
        with pytest.raises(ModelError, match=r"does not know the model 'm'.*it knows 'a-1', 'b-2'"):
            await reply_of(model)


async def test_a_web_page_is_no_answer() -> None:
    page = Reply(body=b"<html><title>Sign in</title></html>", headers={"content-type": "text/html"})
    async with ModelServer(page) as server, remote(server.base_url) as model:
        with pytest.raises(ModelError, match=r"web page .'Sign in'.*base_url"):
            await reply_of(model)


async def test_a_redirect_is_not_followed_with_the_key() -> None:
    async with ModelServer(OK) as other, ModelServer(error(307, "", location=other.base_url)) as server:
        async with remote(server.base_url) as model:
            with pytest.raises(ModelError, match="redirects"):
                await reply_of(model)
        assert other.requests == []


async def test_nobody_listening_is_told_with_the_address() -> None:
    async with remote("http://127.0.0.1:9") as model:
        with pytest.raises(
            ModelError, match=r"cannot reach 'test' at http://127.0.0.1:9: connection refused"
        ) as caught:
            await reply_of(model)
    assert caught.value.kind is ModelErrorKind.CONNECTION


async def test_a_peer_that_speaks_no_http_is_an_error() -> None:
    async with replay([b"SSH-2.0-OpenSSH\r\n\r\n"]) as url, remote(url) as model:
        with pytest.raises(ModelError):
            await reply_of(model)


async def test_a_compressed_answer_is_read_all_the_same() -> None:
    stream = b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    reply = Reply(body=gzip.compress(stream), headers={"content-encoding": "gzip"})
    async with ModelServer(reply) as server, remote(server.base_url) as model:
        assert (await reply_of(model)).message.text == "hi"


async def test_a_server_that_keeps_the_connection_open_after_the_end_does_not_hold_the_answer() -> None:
    stream = b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    hold = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + b"%x\r\n%s\r\n" % (len(stream), stream))
        await hold.wait()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, remote(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as model:
        assert (await reply_of(model)).message.text == "hi"
        hold.set()


async def test_a_refused_field_is_left_out_and_the_request_sent_again() -> None:
    refusal = error(400, {"error": {"message": "property 'prompt_cache_key' is unsupported"}})
    async with ModelServer(refusal, OK, OK) as server, remote(server.base_url) as model:
        await reply_of(model)
        await reply_of(model)
        assert ["prompt_cache_key" in request.json for request in server.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("vendor", "name", "value"),
    [
        (Vendor(name="v", kind="openai"), "authorization", f"Bearer {KEY}"),
        (Vendor(name="v", kind="openai", key_header="api-key"), "api-key", KEY),
        (ANTHROPIC, "x-api-key", KEY),
    ],
)
async def test_the_key_goes_where_the_vendor_wants_it(vendor: Vendor, name: str, value: str) -> None:
    kind: Kind = "anthropic" if vendor.kind == "anthropic" else "openai"
    async with ModelServer(OK) as server:
        async with remote(url_of(server, kind), kind, vendor=vendor) as model:
            await reply_of(model)
        assert server.requests[0].headers[name] == value


async def test_without_a_key_that_is_needed_nothing_is_sent() -> None:
    async with ModelServer(OK) as server, remote(server.url, "anthropic", vendor=ANTHROPIC, key="") as model:
        with pytest.raises(ModelError, match="no key for 'test': set TEST_KEY") as caught:
            await reply_of(model)
        assert (caught.value.kind, server.requests) == (ModelErrorKind.AUTH, [])


async def test_the_user_s_own_headers_are_sent_and_win() -> None:
    async with ModelServer(OK) as server:
        async with remote(server.base_url, headers={"Authorization": "Basic abc", "X-Org": "o"}) as model:
            await reply_of(model)
        headers = server.requests[0].headers
    assert (headers["authorization"], headers["x-org"]) == ("Basic abc", "o")


@both
async def test_no_secret_shows_in_errors_logs_or_reprs(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    own = "s3cret-header-value"
    echo = {"error": {"message": f"bad key {KEY} or {own}, header Bearer {KEY}"}}
    bodies = [error(status, echo) for status in (400, 401, 404, 429, 500)]
    script = [*bodies, Reply(body=b"data: " + json.dumps(echo).encode() + b"\n\n"), error(500, f"<html>{KEY}")]
    shown: list[str] = []

    async def fail(model: RemoteModel) -> None:
        with pytest.raises(ModelError) as caught:
            await reply_of(model)
        fault = caught.value
        shown.extend([repr(fault), repr(vars(fault)), "".join(traceback.format_exception(fault))])
        shown.extend([repr(model), repr(vars(model)), repr(model.head(system="", tools=[], cache_key=""))])

    caplog.set_level(logging.DEBUG)
    async with ModelServer(*script) as server:
        async with remote(url_of(server, kind), kind, headers={"x-own": own}) as model:
            for _ in script:
                await fail(model)
        async with remote("http://127.0.0.1:9", kind, headers={"x-own": own}) as model:
            await fail(model)
    shown += [f"{record.getMessage()} {record.args!r}" for record in caplog.records]
    assert [text for text in shown if KEY in text or own in text] == []
