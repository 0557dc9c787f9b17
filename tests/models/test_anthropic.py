"""Messages: what is sent with its cache breakpoints, and what comes back in blocks."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from ensign.models.anthropic_reader import AnthropicReader
from ensign.models.base import CallChunk, Chunk, TextChunk, ThinkingChunk
from ensign.models.sse import ServerEvent
from ensign.models.vendors import UNKNOWN, traits_of
from ensign.models.wire import WireError
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.messages import (
    AssistantMessage,
    Image,
    Message,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)
from tests.models.bench import HELLO, READ, head_options, request_of, wire_of

MARK = {"type": "ephemeral"}
CALLED = AssistantMessage(parts=(ToolCall(call_id="a", name="Read", arguments={"p": 1}, raw='{"p": 1}'),))
RESULTS = ToolMessage(results=(ToolResult(call_id="a", text="x"),))


def read(*payloads: dict[str, Any]) -> tuple[list[Chunk], AnthropicReader]:
    reader = AnthropicReader()
    chunks: list[Chunk] = []
    for payload in payloads:
        chunks.extend(reader.feed(ServerEvent(payload["type"], json.dumps(payload))))
    return chunks, reader


def started(**usage: int) -> dict[str, Any]:
    return {"type": "message_start", "message": {"usage": usage}}


def block(index: int, opening: dict[str, Any], *deltas: dict[str, Any], closed: bool = True) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"type": "content_block_start", "index": index, "content_block": opening}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [*events, *([{"type": "content_block_stop", "index": index}] if closed else [])]


def tool(index: int, *pieces: str, name: str = "Read", closed: bool = True) -> list[dict[str, Any]]:
    opening: dict[str, Any] = {"type": "tool_use", "id": f"t{index}", "name": name, "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, opening, *deltas, closed=closed)


def stopped(reason: str, **usage: int) -> list[dict[str, Any]]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
        {"type": "message_stop"},
    ]


# ---- inwards


def test_thinking_text_and_calls_come_in_the_order_of_their_blocks() -> None:
    chunks, reader = read(
        started(input_tokens=5, cache_creation_input_tokens=3, cache_read_input_tokens=2, output_tokens=1),
        {"type": "ping"},
        *block(
            0,
            {"type": "thinking", "thinking": ""},
            {"type": "thinking_delta", "thinking": "hm"},
            {"type": "signature_delta", "signature": "c2ln"},
        ),
        *block(1, {"type": "redacted_thinking", "data": "opaque"}),
        *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "On it"}),
        *tool(3, "", '{"p":', "1}"),
        *tool(4),
        *stopped("tool_use", output_tokens=9),
    )
    assert chunks == [ThinkingChunk("hm"), TextChunk("On it"), CallChunk("Read"), CallChunk("Read")]
    ending = reader.finish()
    assert ending.message.parts == (
        Thinking(text="hm", signature="c2ln"),
        Thinking(text="", signature="opaque", redacted=True),
        Text(text="On it"),
        ToolCall(call_id="t3", name="Read", arguments={"p": 1}, raw='{"p":1}'),
        ToolCall(call_id="t4", name="Read", arguments={}, raw=""),
    )
    assert (ending.stop, ending.usage) == (
        StopReason.END_TURN,
        Usage(input=5, output=9, cache_write=3, cache_read=2),
    )


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", StopReason.END_TURN),
        ("stop_sequence", StopReason.END_TURN),
        ("pause_turn", StopReason.END_TURN),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", StopReason.MAX_TOKENS),
        ("refusal", StopReason.REFUSAL),
    ],
)
def test_reasons_to_stop_are_told_in_our_words(reason: str, stop: StopReason) -> None:
    _, reader = read(*block(0, {"type": "text", "text": "a"}), *stopped(reason))
    assert reader.finish().stop is stop


@pytest.mark.parametrize(("pieces", "closed"), [(['{"p":'], False), (['{"p":'], True), ([], False)])
def test_a_call_cut_at_the_output_limit_is_dropped(pieces: list[str], closed: bool) -> None:
    _, reader = read(*tool(0, '{"p":1}', name="Glob"), *tool(1, *pieces, closed=closed), *stopped("max_tokens"))
    assert [call.name for call in reader.finish().message.calls] == ["Glob"]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [started(input_tokens=1)],
        block(0, {"type": "text", "text": "half"}),
        tool(0, '{"p":', closed=False),
        tool(0, '{"p":1}'),
    ],
)
def test_a_stream_without_its_end_is_dropped(events: list[dict[str, Any]]) -> None:
    _, reader = read(*events)
    with pytest.raises(ModelError) as caught:
        reader.finish()
    assert caught.value.kind is ModelErrorKind.DROPPED


def test_an_error_inside_a_good_stream_is_raised() -> None:
    with pytest.raises(WireError):
        read(started(), {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})


def test_what_the_api_may_add_is_ignored() -> None:
    chunks, reader = read(
        {"type": "brand_new", "x": 1},
        *block(0, {"type": "server_tool_use", "id": "s", "name": "x"}),
        *block(1, {"type": "text", "text": "a"}, {"type": "citations_delta", "citation": {}}),
        {"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "lost"}},
        *stopped("end_turn"),
    )
    assert (chunks, reader.finish().message.parts) == ([TextChunk("a")], (Text(text="a"),))


# ---- outwards


def body(*history: Message, model: str = "claude-sonnet-4-5", **given: Any) -> Any:
    wire = wire_of("anthropic", traits=traits_of(model))
    head = wire.head(system="Be brief", tools=[READ], options=head_options(**given))
    return json.loads(wire.body(request_of(wire, *history, head=head)))


def test_messages_come_last_and_breakpoints_stand_on_tools_system_and_the_last_message() -> None:
    assert list(body(HELLO, tools_off=True).items()) == [
        ("model", "m"),
        ("max_tokens", 16000),
        ("stream", True),
        ("tool_choice", {"type": "none"}),
        (
            "tools",
            [
                {
                    "name": "Read",
                    "description": READ.description,
                    "input_schema": dict(READ.parameters),
                    "cache_control": MARK,
                }
            ],
        ),
        ("system", [{"type": "text", "text": "Be brief", "cache_control": MARK}]),
        ("messages", [{"role": "user", "content": [{"type": "text", "text": "Hello", "cache_control": MARK}]}]),
    ]


def test_there_are_never_more_than_four_breakpoints() -> None:
    sent = json.dumps(body(HELLO, CALLED, RESULTS, CALLED, RESULTS, CALLED, RESULTS))
    assert sent.count("cache_control") == 4


def test_without_markers_a_request_is_a_prefix_of_the_next_one() -> None:
    wire = wire_of("anthropic")
    head = wire.head(system="s", tools=[READ], options=head_options())
    history: list[Message] = [HELLO, CALLED, RESULTS, CALLED, RESULTS]
    marker = b',"cache_control":{"type":"ephemeral"}'
    bodies = [wire.body(request_of(wire, *history[:size], head=head)).replace(marker, b"") for size in (1, 3, 5)]
    assert all(late.startswith(early.removesuffix(b"]}")) for early, late in pairwise(bodies))


def test_the_previous_request_s_breakpoint_is_kept_so_that_its_entry_is_found() -> None:
    messages = body(HELLO, CALLED, RESULTS)["messages"]
    assert [("cache_control" in message["content"][-1]) for message in messages] == [True, False, True]


@pytest.mark.parametrize(
    "last",
    [
        HELLO,
        UserMessage(text=""),
        UserMessage(text='tricky }]} "text"'),
        UserMessage(text="look", images=(Image(media_type="image/png", data="QQ=="),)),
        RESULTS,
        ToolMessage(results=(ToolResult(call_id="a", text="", is_error=True),)),
        ToolMessage(results=(ToolResult(call_id="a", text="x"),), note="go"),
        ToolMessage(results=(ToolResult(call_id="a", text="", images=(Image(media_type="image/png", data="QQ=="),)),)),
    ],
)
def test_the_marker_goes_into_the_last_block_whatever_it_is(last: Message) -> None:
    content = body(last)["messages"][-1]["content"]
    assert content[-1]["cache_control"] == MARK
    assert all("cache_control" not in part for part in content[:-1])


def test_every_kind_of_message_is_written_as_the_api_takes_it() -> None:
    messages = body(
        AssistantMessage(
            parts=(
                Thinking(text="hm", signature="c2ln"),
                Thinking(text="", signature="opaque", redacted=True),
                Thinking(text="another provider's"),
                Text(text="  "),
                Text(text="on it"),
                ToolCall(call_id="a", name="Read", arguments=None, raw='{"p'),
            )
        ),
        ToolMessage(results=(ToolResult(call_id="a", text="bad", is_error=True),), note="and now"),
        AssistantMessage(parts=()),
        UserMessage(text=" "),
    )["messages"]
    assert messages == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "opaque"},
                {"type": "text", "text": "on it"},
                {"type": "tool_use", "id": "a", "name": "Read", "input": {"invalid_arguments": '{"p'}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "is_error": True, "content": "bad"},
                {"type": "text", "text": "and now", "cache_control": MARK},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "(empty)"}]},
        {"role": "user", "content": [{"type": "text", "text": "(empty)", "cache_control": MARK}]},
    ]


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "limit"),
    [
        ("claude-sonnet-4-5", None, None, 16_000),
        ("claude-sonnet-4-5", "none", None, 16_000),
        ("claude-sonnet-4-5", "medium", {"type": "enabled", "budget_tokens": 10_000}, 26_000),
        ("claude-3-opus", "high", None, UNKNOWN.max_output),
    ],
)
def test_effort_becomes_a_budget_within_the_output_limit(
    model: str, effort: str | None, thinking: Any, limit: int
) -> None:
    sent = body(HELLO, model=model, effort=effort)
    assert (sent.get("thinking"), sent["max_tokens"]) == (thinking, limit)
