"""Scripted replies, and how they look in each provider's format."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ensign.protocol.messages import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call of the model. `id` is made up when empty; `raw` replaces the arguments' JSON text."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str = ""
    raw: str | None = None

    def text(self) -> str:
        """The arguments as the model writes them."""
        return json.dumps(dict(self.arguments)) if self.raw is None else self.raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the server answers to one request.

    Attributes:
        pieces: the text as it is streamed; by default word by word.
        stop: end reason in the words of OpenAI (`stop`, `length`, `tool_calls`); by default what fits.
        usage: None leaves it out.
        latency_s: before the first byte.
        interval_s: between events.
        gate: a name; the reply waits there until `ModelServer.release`, `gate_at` events into it.
        cut: `drop` hangs up in the middle of the body, `end` ends it cleanly but early, `stall` sends nothing more;
            `cut_at` events into it.
        comments: keep-alive comment lines before the first event; -1 sends them for ever.
        split_bytes: send the body in pieces of this many bytes instead of one for each event.
        status, headers, body: an answer as it is, instead of a stream; a body of `bytes` with status 200 is sent as an
            event stream.
    """

    text: str = ""
    pieces: tuple[str, ...] = ()
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    stop: str | None = None
    usage: Usage | None = field(default_factory=lambda: Usage(input=100, output=10))
    latency_s: float = 0.0
    interval_s: float = 0.0
    gate: str = ""
    gate_at: int = 0
    cut: Literal["drop", "end", "stall"] | None = None
    cut_at: int = 0
    comments: int = 0
    split_bytes: int | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None

    def words(self) -> tuple[str, ...]:
        """The text in the pieces that are streamed."""
        return self.pieces or tuple(re.findall(r"\s*\S+|\s+$", self.text))


def calls(*made: tuple[str, Mapping[str, Any]], text: str = "") -> Reply:
    """Return a reply that calls tools: `calls(("Read", {"file_path": "a.py"}))`."""
    return Reply(text=text, calls=tuple(Call(name=name, arguments=arguments) for name, arguments in made))


def error(status: int, body: Any, **headers: str) -> Reply:
    """Return a refusal; `body` is JSON, or text as it is. Underscores in header names become dashes."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    names.setdefault("content-type", "text/html" if isinstance(body, str) else "application/json")
    return Reply(status=status, body=data, headers=names)


def openai_events(reply: Reply, *, usage: bool, first_id: int) -> list[bytes]:
    """Return the reply as the events of a Chat Completions stream; made-up ids count from `first_id`."""

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]})

    events = [chunk({"role": "assistant", "content": None})]
    if reply.thinking:
        events.append(chunk({"reasoning_content": reply.thinking}))
    events += [chunk({"content": word}) for word in reply.words()]
    for index, call in enumerate(reply.calls):
        text, half = call.text(), len(call.text()) // 2
        opening = {"name": call.name, "arguments": text[:half]}
        call_id = call.id or f"call_{first_id + index:09d}"
        events.append(chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": opening}]}))
        events.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": text[half:]}}]}))
    events.append(chunk({}, reply.stop or ("tool_calls" if reply.calls else "stop")))
    if usage and reply.usage:
        prompt = reply.usage.input + reply.usage.cache_write + reply.usage.cache_read
        counts = {
            "prompt_tokens": prompt,
            "completion_tokens": reply.usage.output,
            "total_tokens": prompt + reply.usage.output,
            "prompt_tokens_details": {"cached_tokens": reply.usage.cache_read},
        }
        events.append(_data({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": counts}))
    events.append(b"data: [DONE]\n\n")
    return events


_ANTHROPIC_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


def anthropic_events(reply: Reply, *, first_id: int) -> list[bytes]:
    """Return the reply as the events of a Messages stream."""
    usage = reply.usage or Usage()
    counts = {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": 1,
    }
    message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": counts}
    events = [_event("message_start", message=message), _event("ping")]
    index = 0

    def block(opening: dict[str, Any], *deltas: dict[str, Any]) -> None:
        nonlocal index
        events.append(_event("content_block_start", index=index, content_block=opening))
        events.extend(_event("content_block_delta", index=index, delta=delta) for delta in deltas)
        events.append(_event("content_block_stop", index=index))
        index += 1

    if reply.thinking:
        block(
            {"type": "thinking", "thinking": ""},
            {"type": "thinking_delta", "thinking": reply.thinking},
            {"type": "signature_delta", "signature": "c2lnbmVk"},
        )
    if words := reply.words():
        block({"type": "text", "text": ""}, *({"type": "text_delta", "text": word} for word in words))
    for number, call in enumerate(reply.calls):
        text, half = call.text(), len(call.text()) // 2
        block(
            {"type": "tool_use", "id": call.id or f"toolu_{first_id + number:09d}", "name": call.name, "input": {}},
            {"type": "input_json_delta", "partial_json": text[:half]},
            {"type": "input_json_delta", "partial_json": text[half:]},
        )
    stop = reply.stop or ("tool_calls" if reply.calls else "stop")
    delta = {"stop_reason": _ANTHROPIC_STOPS.get(stop, stop), "stop_sequence": None}
    events.append(_event("message_delta", delta=delta, usage={"output_tokens": usage.output}))
    events.append(_event("message_stop"))
    return events


def _data(payload: Any) -> bytes:
    return b"data: " + json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def _event(kind: str, **fields: Any) -> bytes:
    return b"event: " + kind.encode() + b"\n" + _data({"type": kind, **fields})
