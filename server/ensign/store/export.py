"""A transcript for people: Markdown with a heading for everything that happened, or the records as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ensign.protocol.codec import to_wire
from ensign.store.head import Head
from ensign.store.records import Loaded, Record

Json = Mapping[str, Any]

SPEAKERS = {"person": "Prompt", "parent": "Task", "runtime": "From the runtime"}


def as_json(loaded: Loaded) -> str:
    """Return the records as a JSON array, one a line."""
    lines = (json.dumps(to_wire(record), ensure_ascii=False) for record in loaded.records)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def as_markdown(head: Head, loaded: Loaded) -> str:
    """Return the transcript as Markdown; what tools were given and gave back is folded."""
    spec = head.spec
    name = "Main agent" if spec is None else f"{spec.agent or 'fork'}: {spec.description}"
    blocks = [f"# {_line(name)}", f"Model `{head.model}` in `{head.cwd}`"]
    if loaded.notices:
        blocks.append("\n".join(f"> {notice}" for notice in loaded.notices))
    calls: dict[str, Json] = {}
    for record in loaded.records:
        blocks.extend(_blocks(record, calls))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _blocks(record: Record, calls: dict[str, Json]) -> Iterator[str]:
    body = record.body
    match record.kind:
        case "message":
            yield from _message(body["message"], calls)
        case "partial":
            yield f"## Broken off\n\n{body['text']}"
        case "history":
            yield f"## Compacted\n\nThe conversation was shortened to {len(body['messages'])} messages."
        case "run":
            yield "## Resumed"
        case "end":
            yield from _end(body)
        case "event" if body["event"]["kind"] in {"notice", "turn_failed"}:
            event = body["event"]
            yield f"> {_line(event.get('text') or event.get('message') or '')}"
        case _:
            pass


def _message(message: Json, calls: dict[str, Json]) -> Iterator[str]:
    match message["kind"]:
        case "user":
            yield f"## {SPEAKERS.get(message['origin'], 'Prompt')}\n\n{message['text']}"
        case "assistant":
            for part in message["parts"]:
                if part["kind"] == "tool_call":
                    calls[part["callId"]] = part
                elif part["kind"] == "thinking":
                    yield _folded("Thinking", part["text"])
                elif part["text"].strip():
                    yield f"## Assistant\n\n{part['text']}"
        case "tool":
            for result in message["results"]:
                yield from _result(result, calls.get(result["callId"]))
            if message.get("note"):
                yield f"## Task\n\n{message['note']}"
        case _:
            pass


def _result(result: Json, call: Json | None) -> Iterator[str]:
    name = call["name"] if call else "a call that is not recorded"
    yield f"### {_line(name)}{' (failed)' if result.get('isError') else ''}"
    if call:
        arguments = call["arguments"]
        shown = call["raw"] if arguments is None else json.dumps(arguments, ensure_ascii=False, indent=2)
        yield _folded("Input", shown, "json")
    yield _folded("Result", result["text"])


def _end(body: Json) -> Iterator[str]:
    envelope = body.get("envelope")
    yield f"## Ended: {body['state']}" + (f" ({_line(envelope['reason'])})" if envelope and envelope["reason"] else "")
    if envelope and envelope["report"]:
        yield envelope["report"]


def _folded(title: str, text: str, language: str = "") -> str:
    """A fenced block that opens at a click; the fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"<details><summary>{title}</summary>\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n\n</details>"


def _line(text: str) -> str:
    """Text that cannot leave its line."""
    return " ".join(text.split())
