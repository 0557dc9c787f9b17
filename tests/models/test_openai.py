"""Chat Completions: what is sent, and what servers that only nearly keep to it send back."""

from __future__ import annotations

import json
import logging
from itertools import pairwise
from typing import Any

import pytest

from ensign.models.base import CallChunk, Chunk, TextChunk, ThinkingChunk
from ensign.models.openai_reader import OpenAiReader
from ensign.models.sse import ServerEvent
from ensign.models.vendors import OPENAI, Vendor, traits_of, vendor_named
from ensign.models.wire import Ending, WireError
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


def read(*payloads: Any) -> tuple[list[Chunk], OpenAiReader]:
    reader = OpenAiReader()
    chunks: list[Chunk] = []
    for payload in payloads:
        data = payload if isinstance(payload, str) else json.dumps(payload)
        chunks.extend(reader.feed(ServerEvent("", data)))
    return chunks, reader


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(arguments: Any = "", **fields: Any) -> dict[str, Any]:
    name = fields.pop("name", None)
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {**fields, "function": function}


def calls_of(*payloads: Any) -> list[tuple[str, str, Any]]:
    _, reader = read(*payloads, delta("tool_calls"))
    return [(made.call_id, made.name, made.arguments) for made in reader.finish().message.calls]


# ---- inwards


def test_fragments_go_to_the_call_with_their_index() -> None:
    found = calls_of(
        delta(tool_calls=[call(index=0, id="A", name="Read")]),
        delta(tool_calls=[call(index=1, id="B", name="Glob")]),
        delta(tool_calls=[call('{"a":', index=0)]),
        delta(tool_calls=[call('{"b":', index=1)]),
        delta(tool_calls=[call("1}", index=0), call("2}", index=1)]),
    )
    assert found == [("A", "Read", {"a": 1}), ("B", "Glob", {"b": 2})]


def test_a_new_id_on_a_used_index_opens_a_new_call() -> None:
    found = calls_of(
        delta(tool_calls=[call('{"p":1}', index=0, id="a", name="Read")]),
        delta(tool_calls=[call('{"p":2}', index=0, id="b", name="Read")]),
    )
    assert found == [("a", "Read", {"p": 1}), ("b", "Read", {"p": 2})]


@pytest.mark.parametrize("ids", [("a", "b"), (None, None), ("", "")])
def test_calls_without_an_index_stay_apart(ids: tuple[str | None, str | None]) -> None:
    found = calls_of(
        delta(tool_calls=[call('{"p":', id=ids[0], name="Read")]),
        delta(tool_calls=[call("1}")]),
        delta(tool_calls=[call('{"p":2}', id=ids[1], name="Read")]),
    )
    assert [(name, arguments) for _, name, arguments in found] == [("Read", {"p": 1}), ("Read", {"p": 2})]


def test_two_whole_calls_in_one_delta_without_index_or_id_are_two() -> None:
    found = calls_of(delta(tool_calls=[call('{"p":1}', name="Read"), call('{"p":2}', name="Read")]))
    assert [arguments for _, _, arguments in found] == [{"p": 1}, {"p": 2}]


def test_ids_that_are_missing_or_given_twice_are_made_up() -> None:
    found = calls_of(
        delta(tool_calls=[call("{}", index=0, name="Read"), call("{}", index=1, id="x", name="Read")]),
        delta(tool_calls=[call("{}", index=2, id="x", name="Read")]),
    )
    ids = [call_id for call_id, _, _ in found]
    assert len(set(ids)) == 3
    assert ids[1] == "x"
    assert all(ids)


def test_a_fresh_id_on_every_fragment_is_one_call() -> None:
    found = calls_of(
        delta(tool_calls=[call('{"p"', index=0, id="a1", name="Read")]),
        delta(tool_calls=[call(":1}", index=0, id="a2")]),
    )
    assert found == [("a1", "Read", {"p": 1})]


def test_a_name_that_comes_with_every_fragment_is_one_call() -> None:
    found = calls_of(
        delta(tool_calls=[call('{"p"', index=0, id="a", name="Read")]),
        delta(tool_calls=[call(":1}", index=0, id="a", name="Read")]),
        delta(tool_calls=[call("", index=0, name="Read")]),
    )
    assert found == [("a", "Read", {"p": 1})]


def test_arguments_may_come_as_an_object_or_not_at_all() -> None:
    found = calls_of(
        delta(tool_calls=[call({"p": "ü"}, index=0, id="a", name="Read")]),
        delta(tool_calls=[{"index": 1, "id": "b", "function": {"name": "Ping"}}]),
        delta(tool_calls=[call("null", index=2, id="c", name="Ping")]),
    )
    assert found == [("a", "Read", {"p": "ü"}), ("b", "Ping", {}), ("c", "Ping", {})]


@pytest.mark.parametrize("raw", ['{"p": tru', "[1]", '"text"', "{'p': 1}"])
def test_arguments_that_are_no_object_are_kept_for_the_gate_to_refuse(raw: str) -> None:
    _, reader = read(delta(tool_calls=[call(raw, index=0, id="a", name="Read")]), delta("tool_calls"))
    assert reader.finish().message.calls == (ToolCall(call_id="a", name="Read", arguments=None, raw=raw),)


@pytest.mark.parametrize("raw", ['{"path":"a', ""])
def test_a_call_cut_at_the_output_limit_is_dropped_with_its_whole_sibling_kept(raw: str) -> None:
    _, reader = read(
        delta(tool_calls=[call("{}", index=0, id="a", name="Glob"), call(raw, index=1, id="b", name="Read")]),
        delta("length"),
    )
    ending = reader.finish()
    assert ending.stop is StopReason.MAX_TOKENS
    assert [made.name for made in ending.message.calls] == ["Glob"]


@pytest.mark.parametrize(
    "payloads",
    [
        [],
        [delta(content="half")],
        [delta(tool_calls=[call('{"path":"a', index=0, id="a", name="Read")])],
        [delta(tool_calls=[call('{"path":"a"}', index=0, id="a", name="Read")])],
        [delta(tool_calls=[call('{"path":"a', index=0, id="a", name="Read")]), "[DONE]"],
        ["[DONE]"],
        [delta("error", content="half")],
    ],
)
def test_a_stream_without_its_end_is_dropped_and_never_an_output_limit(payloads: list[Any]) -> None:
    _, reader = read(*payloads)
    with pytest.raises(ModelError) as caught:
        reader.finish()
    assert (caught.value.kind, caught.value.retryable) == (ModelErrorKind.DROPPED, True)


def test_done_alone_ends_an_answer_that_is_whole() -> None:
    _, reader = read(delta(content="whole"), "[DONE]")
    assert reader.finish() == Ending(
        message=AssistantMessage(parts=(Text(text="whole"),)), stop=StopReason.END_TURN, usage=None
    )


def test_data_that_is_no_json_is_skipped_and_logged_without_its_content(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        chunks, _ = read(": PROCESSING secret", delta(content="a"), "<html>", "17", delta(content="b"))
    assert chunks == [TextChunk("a"), TextChunk("b")]
    assert len(caplog.records) == 3
    assert "PROCESSING" not in caplog.text


@pytest.mark.parametrize("halves", [("\ud83d", "\ude80"), ("go \ud83d", "\ude80!"), ("\ud83d", "")])
def test_an_emoji_cut_into_surrogates_is_put_together(halves: tuple[str, str]) -> None:
    chunks, reader = read(delta(content=halves[0]), delta(content=halves[1]), delta("stop"))
    text = reader.finish().message.text
    assert text == "".join(halves).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    shown = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))
    assert text.startswith(shown)
    shown.encode()


def test_thinking_text_and_calls_stream_as_they_come() -> None:
    chunks, reader = read(
        delta(role="assistant", content=None),
        delta(reasoning="why"),
        delta(reasoning_content="?"),
        delta(content="so"),
        delta(tool_calls=[call("{}", index=0, id="a", name="Read")]),
        delta("tool_calls"),
    )
    assert chunks == [ThinkingChunk("why"), ThinkingChunk("?"), TextChunk("so"), CallChunk("Read")]
    made = ToolCall(call_id="a", name="Read", arguments={}, raw="{}")
    assert reader.finish().message.parts == (Thinking(text="why?"), Text(text="so"), made)


def test_content_may_be_a_list_of_parts() -> None:
    chunks, _ = read(delta(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))
    assert chunks == [TextChunk("ab")]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 2}, Usage(input=10, output=2)),
        (
            {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
            Usage(input=6, output=2, cache_read=4),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6},
            Usage(input=6, output=2, cache_read=4),
        ),
        (
            {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 40}},
            Usage(input=0, output=2, cache_read=3),
        ),
        ({"prompt_tokens": None, "completion_tokens": True}, None),
        ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": None}, Usage(input=10, output=2)),
    ],
)
def test_the_parts_of_the_usage_add_up_to_what_was_billed(usage: Any, counted: Usage | None) -> None:
    _, reader = read(delta("stop", content="a"), {"choices": [], "usage": usage})
    assert reader.finish().usage == counted


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("stop", StopReason.END_TURN),
        ("tool_calls", StopReason.END_TURN),
        ("eos", StopReason.END_TURN),
        ("length", StopReason.MAX_TOKENS),
        ("content_filter", StopReason.REFUSAL),
    ],
)
def test_reasons_to_stop_are_told_in_our_words(reason: str, stop: StopReason) -> None:
    _, reader = read(delta(reason, content="a"))
    assert reader.finish().stop is stop


def test_a_refusal_is_text_and_a_refusal() -> None:
    chunks, reader = read(delta(refusal="No."), delta("stop"))
    assert (chunks, reader.finish().stop) == ([TextChunk("No.")], StopReason.REFUSAL)


@pytest.mark.parametrize("payload", [{"error": {"message": "x"}}, {"error": "x"}, {"object": "error", "message": "x"}])
def test_an_error_inside_a_good_stream_is_raised(payload: Any) -> None:
    with pytest.raises(WireError):
        read(delta(content="a"), payload)


# ---- outwards


def sent(*history: Message, vendor: Vendor | None = None, model: str = "m", **given: Any) -> Any:
    wire = wire_of("openai", vendor=vendor, traits=traits_of(model))
    head = wire.head(system="Be brief", tools=[READ], options=head_options(**given))
    return json.loads(wire.body(request_of(wire, *history, head=head)))


def test_messages_come_last_after_everything_that_stays() -> None:
    assert list(sent(HELLO, max_output=50, tools_off=True).items()) == [
        ("model", "m"),
        ("stream", True),
        ("stream_options", {"include_usage": True}),
        ("prompt_cache_key", "c1"),
        ("max_tokens", 50),
        (
            "tools",
            [
                {
                    "type": "function",
                    "function": {"name": "Read", "description": READ.description, "parameters": dict(READ.parameters)},
                }
            ],
        ),
        ("tool_choice", "none"),
        ("messages", [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Hello"}]),
    ]


def test_a_request_is_a_prefix_of_the_next_one() -> None:
    wire = wire_of("openai")
    head = wire.head(system="s", tools=[READ], options=head_options())
    history: list[Message] = [
        HELLO,
        AssistantMessage(parts=(ToolCall(call_id="a", name="Read", arguments={}, raw="{}"),)),
        ToolMessage(results=(ToolResult(call_id="a", text="x"),), note="go on"),
        AssistantMessage(parts=(Text(text="done"),)),
    ]
    bodies = [wire.body(request_of(wire, *history[:size], head=head)) for size in (1, 3, 4)]
    assert all(late.startswith(early.removesuffix(b"]}")) for early, late in pairwise(bodies))


def test_every_kind_of_message_is_written_as_servers_take_it() -> None:
    image = Image(media_type="image/png", data="QQ==")
    shown = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}
    messages = sent(
        UserMessage(text="look", images=(image,)),
        AssistantMessage(
            parts=(
                Thinking(text="hm"),
                Text(text="on it"),
                ToolCall(call_id="a", name="Read", arguments={"p": 1}, raw='{"p": 1}'),
                ToolCall(call_id="b", name="Read", arguments=None, raw='{"p'),
                ToolCall(call_id="c", name="Ping", arguments={}, raw=""),
            )
        ),
        ToolMessage(
            results=(ToolResult(call_id="a", text="x", images=(image,)), ToolResult(call_id="b", text="bad")),
            note="and now",
        ),
        AssistantMessage(parts=(ToolCall(call_id="d", name="Ping", arguments={}, raw="{}"),)),
        AssistantMessage(parts=()),
    )["messages"]

    def function(call_id: str, name: str, arguments: str) -> dict[str, Any]:
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}

    assert messages[1:] == [
        {"role": "user", "content": [{"type": "text", "text": "look"}, shown]},
        {
            "role": "assistant",
            "content": "on it",
            "tool_calls": [
                function("a", "Read", '{"p": 1}'),
                function("b", "Read", '{"invalid_arguments":"{\\"p"}'),
                function("c", "Ping", "{}"),
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "x"},
        {"role": "tool", "tool_call_id": "b", "content": "bad"},
        {"role": "user", "content": [{"type": "text", "text": "and now"}, shown]},
        {"role": "assistant", "content": None, "tool_calls": [function("d", "Ping", "{}")]},
        {"role": "assistant", "content": ""},
    ]


def test_what_is_no_unicode_still_makes_a_valid_request() -> None:
    assert sent(UserMessage(text="a\ud83db"))["messages"][1]["content"] == "a?b"


def test_a_vendor_gets_the_fields_of_its_row() -> None:
    mistral, deepseek = vendor_named("mistral"), vendor_named("deepseek")
    assert mistral is not None
    assert deepseek is not None
    body = sent(HELLO, vendor=mistral, max_output=5)
    assert [key for key in body if key in ("stream_options", "prompt_cache_key", "max_tokens")] == ["max_tokens"]
    body = sent(HELLO, vendor=OPENAI, model="gpt-5", effort="low", max_output=5)
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (5, "low")
    called = AssistantMessage(parts=(Thinking(text="hm"), ToolCall(call_id="a", name="Read", arguments={}, raw="{}")))
    assert sent(HELLO, called, vendor=deepseek)["messages"][2]["reasoning_content"] == "hm"


@pytest.mark.parametrize(
    ("complaint", "gone", "instead"),
    [
        ("property 'prompt_cache_key' is unsupported", "prompt_cache_key", None),
        ("Extra inputs are not permitted: stream_options", "stream_options", None),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'", "max_tokens", "max_completion_tokens"),
    ],
)
def test_a_field_that_is_refused_is_left_out_also_of_heads_made_before(
    complaint: str, gone: str, instead: str | None
) -> None:
    wire = wire_of("openai")
    head = wire.head(system="s", tools=[], options=head_options(max_output=7))
    before = json.loads(wire.body(request_of(wire, HELLO, head=head)))
    assert wire.give_up(complaint)
    assert not wire.give_up(complaint)
    after = json.loads(wire.body(request_of(wire, HELLO, head=head)))
    value = before.pop(gone)
    assert after == before | ({instead: value} if instead else {})
