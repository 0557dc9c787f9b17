"""Every recorded exchange with a real server replays right, whole and cut anyhow (`tests/streams`)."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ensign.models.base import Chunk, TextChunk, ThinkingChunk
from ensign.models.openai_reader import OpenAiReader
from ensign.models.sse import SseParser
from ensign.models.wire import Ending
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall, Usage
from tests.models.bench import ending_of, remote, reply_of

STREAMS = Path(__file__).parents[1] / "streams"
INDEX: dict[str, dict[str, str]] = {
    entry["name"]: entry for entry in json.loads((STREAMS / "INDEX.json").read_text(encoding="utf-8"))
}
# What a refusal means, and the sizes it names.
REFUSED: dict[str, tuple[ModelErrorKind, bool, int | None, int | None]] = {
    "err_401_no_key": (ModelErrorKind.AUTH, False, None, None),
    "err_404_path": (ModelErrorKind.BAD_REQUEST, False, None, None),
    "err_503_loading": (ModelErrorKind.OVERLOADED, True, None, None),
    "err_bad_json": (ModelErrorKind.BAD_REQUEST, False, None, None),
    "err_bad_tool_choice": (ModelErrorKind.BAD_REQUEST, False, None, None),
    "err_context_overflow": (ModelErrorKind.OVERFLOW, False, 6051, 4096),
    "err_messages_type": (ModelErrorKind.BAD_REQUEST, False, None, None),
    "err_no_messages": (ModelErrorKind.BAD_REQUEST, False, None, None),
    "err_tools_type": (ModelErrorKind.SERVER, True, None, None),
}
BROKEN = {"abort_client"}
NO_CHAT = {"models_list"}
ANSWERED = sorted(set(INDEX) - set(REFUSED) - BROKEN - NO_CHAT)
STREAMED = [name for name in ANSWERED if not name.endswith("_nonstream")]


def recorded(name: str) -> bytes:
    return (STREAMS / f"{name}.response.http").read_bytes()


def body_of(response: bytes) -> bytes:
    head, _, rest = response.partition(b"\r\n\r\n")
    if b"chunked" not in head:
        return rest
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body += rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]
    return body


@dataclass
class Expected:
    """What a plain reading of the whole body finds: an independent oracle for well-behaved streams."""

    text: str = ""
    thinking: str = ""
    finish: str = ""
    usage: Usage | None = None

    def __post_init__(self) -> None:
        self.calls: list[dict[str, str]] = []

    def take(self, payload: dict[str, Any]) -> None:
        if usage := payload.get("usage"):
            read = usage["prompt_tokens_details"]["cached_tokens"]
            self.usage = Usage(input=usage["prompt_tokens"] - read, output=usage["completion_tokens"], cache_read=read)
        for choice in payload["choices"]:
            delta: dict[str, Any] = choice.get("delta") or choice.get("message") or {}
            self.text += delta.get("content") or ""
            self.thinking += delta.get("reasoning_content") or ""
            self.finish = choice["finish_reason"] or self.finish
            for index, piece in enumerate(delta.get("tool_calls") or []):
                if piece.get("index", index) == len(self.calls):
                    self.calls.append({"id": piece["id"], "name": piece["function"]["name"], "raw": ""})
                self.calls[piece.get("index", index)]["raw"] += piece["function"]["arguments"]

    def ending(self) -> Ending:
        parts: list[Any] = [Thinking(text=self.thinking)] if self.thinking else []
        parts += [Text(text=self.text)] if self.text else []
        for call in self.calls:
            try:
                arguments = json.loads(call["raw"])
            except ValueError:
                continue
            parts.append(ToolCall(call_id=call["id"], name=call["name"], arguments=arguments, raw=call["raw"]))
        stop = StopReason.MAX_TOKENS if self.finish == "length" else StopReason.END_TURN
        return Ending(message=AssistantMessage(parts=tuple(parts)), stop=stop, usage=self.usage)


def expected(name: str) -> Ending:
    found = Expected()
    body = body_of(recorded(name)).decode()
    if body.startswith("{"):
        found.take(json.loads(body))
    else:
        for line in body.split("\n"):
            if line.startswith("data: {"):
                found.take(json.loads(line[6:]))
    return found.ending()


@asynccontextmanager
async def replay(pieces: Iterable[bytes]) -> AsyncIterator[str]:
    """Send the bytes of a response as they are, one write a piece, and hang up."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def cut(data: bytes, sizes: Iterable[int]) -> list[bytes]:
    pieces: list[bytes] = []
    at = 0
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
        if at >= len(data):
            break
    return pieces


def random_sizes(seed: str) -> Iterable[int]:
    chance = random.Random(seed)  # noqa: S311 - cuts that repeat
    while True:
        yield chance.choice((1, 2, 3, 7, 50, 300, 4000))


def test_every_recorded_exchange_is_replayed_below() -> None:
    assert len(INDEX) == 37
    assert sorted([*REFUSED, *BROKEN, *NO_CHAT, *ANSWERED]) == sorted(INDEX)


@pytest.mark.parametrize("name", ANSWERED)
async def test_an_answer_replays_right_over_http(name: str) -> None:
    async with replay([recorded(name)]) as url, remote(url) as model:
        assert ending_of(await reply_of(model)) == expected(name)
    async with replay(cut(recorded(name), random_sizes(name))) as url, remote(url) as model:
        assert ending_of(await reply_of(model)) == expected(name)


@pytest.mark.parametrize("name", STREAMED)
def test_an_answer_reads_the_same_one_byte_at_a_time(name: str) -> None:
    parser, reader = SseParser(), OpenAiReader()
    chunks: list[Chunk] = []
    body = body_of(recorded(name))
    for at in range(len(body)):
        for event in parser.feed(body[at : at + 1]):
            chunks.extend(reader.feed(event))
    assert reader.finish() == expected(name)
    message = expected(name).message
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == message.text
    thinking = "".join(part.text for part in message.parts if isinstance(part, Thinking))
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)) == thinking


@pytest.mark.parametrize("name", sorted(REFUSED))
async def test_a_refusal_is_told_for_what_it_is(name: str) -> None:
    async with replay([recorded(name)]) as url, remote(url) as model:
        with pytest.raises(ModelError) as caught:
            await reply_of(model)
    error = caught.value
    assert (error.kind, error.retryable, error.prompt_tokens, error.window_tokens) == REFUSED[name]
    assert error.status == int(INDEX[name]["status"].split()[1])


async def test_a_stream_that_breaks_off_is_dropped_and_keeps_its_text() -> None:
    async with replay([recorded("abort_client")]) as url, remote(url) as model:
        with pytest.raises(ModelError) as caught:
            await reply_of(model)
    assert (caught.value.kind, caught.value.retryable) == (ModelErrorKind.DROPPED, True)
    assert caught.value.partial_text == "Compilers are a critical component of"


async def test_a_call_cut_by_the_output_limit_is_not_run() -> None:
    async with replay([recorded("length_in_tool_call")]) as url, remote(url) as model:
        reply = await reply_of(model)
    assert (reply.message.calls, reply.stop) == ((), StopReason.MAX_TOKENS)
