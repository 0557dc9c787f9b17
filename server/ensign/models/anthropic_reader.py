"""The Messages format, inwards: blocks that open, grow and close."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from ensign.models.base import CallChunk, Chunk, TextChunk, ThinkingChunk
from ensign.models.jsons import Object, a_count, a_list, an_object, dumps, loads
from ensign.models.sse import ServerEvent
from ensign.models.wire import Ending, TextJoiner, WireError, dropped, make_call
from ensign.protocol.messages import AssistantMessage, AssistantPart, StopReason, Text, Thinking, Usage

_log = logging.getLogger(__name__)

_STOPS = {
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.MAX_TOKENS,
    "refusal": StopReason.REFUSAL,
}


@dataclass(slots=True)
class _Block:
    """A content block in the making; `proof` is a thinking block's signature or redacted data."""

    type: str
    id: str = ""
    name: str = ""
    pieces: TextJoiner = field(default_factory=TextJoiner)
    given: Object = field(default_factory=Object)
    proof: str = ""
    closed: bool = False


class AnthropicReader:
    """Reads one answer, streamed or whole."""

    def __init__(self) -> None:
        self.ended = False
        self._blocks: dict[int, _Block] = {}
        self._stop: str | None = None
        self._counts: dict[str, int] = {}

    @property
    def text(self) -> str:
        return "".join(str(block.pieces) for block in self._blocks.values() if block.type == "text")

    def feed(self, event: ServerEvent) -> Sequence[Chunk]:
        payload = an_object(loads(event.data))
        if not payload:
            _log.warning("skipped an event whose data is no JSON object (%d characters)", len(event.data))
            return ()
        chunks: list[Chunk] = []
        match payload.get("type"):
            case "content_block_delta":
                self._grow(payload, chunks)
            case "content_block_start":
                self._open(_number(payload.get("index")), an_object(payload.get("content_block")), chunks)
            case "content_block_stop":
                if block := self._blocks.get(_number(payload.get("index"))):
                    block.closed = True
            case "message_start":
                self._count(an_object(an_object(payload.get("message")).get("usage")))
            case "message_delta":
                self._stop = an_object(payload.get("delta")).get("stop_reason") or self._stop
                self._count(an_object(payload.get("usage")))
            case "message_stop":
                self.ended = True
            case "message":
                self._whole(payload, chunks)
            case "error":
                raise WireError(payload)
            case _:
                # `ping`, and event types that the API may add, which clients are asked to ignore.
                pass
        return chunks

    def finish(self) -> Ending:
        if self._stop is None:
            raise dropped("no stop_reason came")
        stop = _STOPS.get(self._stop, StopReason.END_TURN)
        parts: list[AssistantPart] = []
        for _, block in sorted(self._blocks.items()):
            if (part := _part(block, cut=stop is StopReason.MAX_TOKENS)) is not None:
                parts.append(part)
        counts = self._counts
        usage = Usage(
            input=counts.get("input_tokens", 0),
            output=counts.get("output_tokens", 0),
            cache_write=counts.get("cache_creation_input_tokens", 0),
            cache_read=counts.get("cache_read_input_tokens", 0),
        )
        return Ending(message=AssistantMessage(parts=tuple(parts)), stop=stop, usage=usage if counts else None)

    def _open(self, index: int, content: Object, chunks: list[Chunk]) -> None:
        block = _Block(str(content.get("type", "")), str(content.get("id") or ""), str(content.get("name") or ""))
        self._blocks[index] = block
        match block.type:
            case "text":
                self._add(block, content.get("text"), chunks)
            case "thinking":
                block.proof = str(content.get("signature") or "")
                self._add(block, content.get("thinking"), chunks)
            case "redacted_thinking":
                block.proof = str(content.get("data") or "")
            case "tool_use":
                block.given = an_object(content.get("input"))
                chunks.append(CallChunk(block.name))
            case _:
                pass

    def _grow(self, payload: Object, chunks: list[Chunk]) -> None:
        block = self._blocks.get(_number(payload.get("index")))
        if block is None:
            _log.warning("skipped a delta for a block that was never opened")
            return
        delta = an_object(payload.get("delta"))
        match delta.get("type"):
            case "text_delta":
                self._add(block, delta.get("text"), chunks)
            case "thinking_delta":
                self._add(block, delta.get("thinking"), chunks)
            case "signature_delta":
                block.proof += str(delta.get("signature") or "")
            case "input_json_delta":
                block.pieces.add(str(delta.get("partial_json") or ""))
            case _:
                pass

    def _add(self, block: _Block, text: Any, chunks: list[Chunk]) -> None:
        if isinstance(text, str) and text and (shown := block.pieces.add(text)):
            chunks.append(ThinkingChunk(shown) if block.type == "thinking" else TextChunk(shown))

    def _count(self, usage: Object) -> None:
        """Keep the newest number of each kind: those of `message_delta` are totals."""
        for name, value in usage.items():
            if (count := a_count(value)) is not None:
                self._counts[name] = count

    def _whole(self, payload: Object, chunks: list[Chunk]) -> None:
        """A server that does not stream sends the message at once."""
        for index, block in enumerate(a_list(payload.get("content"))):
            self._open(index, an_object(block), chunks)
            self._blocks[index].closed = True
        self._stop = payload.get("stop_reason")
        self._count(an_object(payload.get("usage")))
        self.ended = True


def _part(block: _Block, *, cut: bool) -> AssistantPart | None:
    text = str(block.pieces)
    if block.type == "text":
        return Text(text=text) if text else None
    if block.type == "thinking":
        return Thinking(text=text, signature=block.proof)
    if block.type == "redacted_thinking":
        return Thinking(text="", signature=block.proof, redacted=True)
    if block.type != "tool_use":
        return None
    raw = text or (dumps(block.given).decode() if block.given else "")
    call = make_call(block.id or f"toolu_{token_hex(12)}", block.name, raw)
    half = not block.closed or call.arguments is None
    return None if cut and half else call


def _number(value: Any) -> int:
    return value if isinstance(value, int) else -1
