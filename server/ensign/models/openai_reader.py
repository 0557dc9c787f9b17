"""The Chat Completions format, inwards: answers as compatible servers really stream them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from ensign.models.base import CallChunk, Chunk, TextChunk, ThinkingChunk
from ensign.models.jsons import Object, a_count, a_list, a_string, an_object, dumps, loads
from ensign.models.sse import ServerEvent
from ensign.models.wire import Ending, TextJoiner, WireError, dropped, make_call
from ensign.protocol.messages import AssistantMessage, AssistantPart, StopReason, Text, Thinking, ToolCall, Usage

_log = logging.getLogger(__name__)

_STOPS = {"length": StopReason.MAX_TOKENS, "max_tokens": StopReason.MAX_TOKENS, "content_filter": StopReason.REFUSAL}
# Ends that are no ends: the server gave up.
_FAULTS = {"error", "insufficient_system_resource", "network_error"}


@dataclass(slots=True)
class _Call:
    """A call in the making."""

    id: str
    name: str = ""
    pieces: TextJoiner = field(default_factory=TextJoiner)

    def complete(self) -> bool:
        """Whether the arguments so far are whole; none at all are not."""
        return isinstance(loads(str(self.pieces)), dict)


class OpenAiReader:
    """Reads one answer, streamed or whole."""

    def __init__(self) -> None:
        self.ended = False
        self._text = TextJoiner()
        self._thinking = TextJoiner()
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._finish: str | None = None
        self._refused = False
        self._usage: Usage | None = None

    @property
    def text(self) -> str:
        return str(self._text)

    def feed(self, event: ServerEvent) -> Sequence[Chunk]:
        data = event.data
        if data.strip() == "[DONE]":
            self.ended = True
            return ()
        payload = an_object(loads(data))
        if not payload:
            # Gateways send comments as data. Content is never logged, only its size.
            _log.warning("skipped an event whose data is no JSON object (%d characters)", len(data))
            return ()
        if payload.get("error") or payload.get("object") == "error" or event.name == "error":
            raise WireError(payload)
        self._count(payload)
        chunks: list[Chunk] = []
        for choice in a_list(payload.get("choices"))[:1]:
            self._choice(an_object(choice), chunks)
        return chunks

    def finish(self) -> Ending:
        if self._finish in _FAULTS:
            raise dropped(f"the server ended it with {self._finish!r}")
        if self._finish is None and not (self.ended and self._whole()):
            raise dropped("no finish_reason came")
        stop = _STOPS.get(self._finish or "", StopReason.END_TURN)
        if self._refused:
            stop = StopReason.REFUSAL
        parts: list[AssistantPart] = []
        if thinking := str(self._thinking):
            parts.append(Thinking(text=thinking))
        if text := str(self._text):
            parts.append(Text(text=text))
        parts.extend(self._finished_calls(cut=stop is StopReason.MAX_TOKENS))
        return Ending(message=AssistantMessage(parts=tuple(parts)), stop=stop, usage=self._usage)

    def _whole(self) -> bool:
        """Whether an answer that ended with [DONE] alone may be taken: some servers never name a reason."""
        return bool(self._text or self._calls) and all(call.complete() for call in self._calls)

    def _finished_calls(self, *, cut: bool) -> list[ToolCall]:
        done: list[ToolCall] = []
        used: set[str] = set()
        for call in self._calls:
            if cut and not call.complete():
                continue
            # Servers leave ids out, or give two calls the same one. Nine letters and digits suit the strictest.
            call_id = call.id if call.id and call.id not in used else token_hex(5)[:9]
            used.add(call_id)
            done.append(make_call(call_id, call.name, str(call.pieces)))
        return done

    def _choice(self, choice: Object, chunks: list[Chunk]) -> None:
        delta = an_object(choice.get("delta") or choice.get("message"))
        if shown := self._thinking.add(a_string(delta.get("reasoning_content") or delta.get("reasoning"))):
            chunks.append(ThinkingChunk(shown))
        refusal = a_string(delta.get("refusal"))
        self._refused = self._refused or bool(refusal)
        if shown := self._text.add(_words(delta.get("content")) + refusal):
            chunks.append(TextChunk(shown))
        calls = a_list(delta.get("tool_calls"))
        for position, item in enumerate(calls):
            self._fragment(an_object(item), position if len(calls) > 1 else None, chunks)
        if reason := choice.get("finish_reason"):
            self._finish = str(reason)
        self._count(choice)

    def _fragment(self, item: Object, position: int | None, chunks: list[Chunk]) -> None:
        function = an_object(item.get("function"))
        call_id, name = a_string(item.get("id")), a_string(function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            arguments = dumps(an_object(arguments)).decode()
        # A name alone, sent once more at the end, opens nothing.
        call = self._find(item.get("index"), position, call_id, name if call_id or arguments or not self._calls else "")
        if name and not call.name:
            call.name = name
            chunks.append(CallChunk(name))
        call.id = call.id or call_id
        if isinstance(arguments, str) and arguments:
            call.pieces.add(arguments)

    def _find(self, index: Any, position: int | None, call_id: str, name: str) -> _Call:
        """Return the call that a fragment belongs to, opening one where it belongs to none.

        By index where there is one; else by id, by its place among several, or to the newest call.
        """
        if isinstance(index, int):
            known = self._by_index.get(index)
        else:
            known = next((call for call in self._calls if call_id and call.id == call_id), None)
            if known is None and position is not None and not call_id and not name and position < len(self._calls):
                known = self._calls[position]
            elif known is None and self._calls:
                known = self._calls[-1]
        if known is None or _opens(known, call_id, name):
            known = _Call(call_id)
            self._calls.append(known)
            if isinstance(index, int):
                self._by_index[index] = known
        return known

    def _count(self, payload: Object) -> None:
        if counted := _usage(an_object(payload.get("usage"))):
            self._usage = counted


def _opens(known: _Call, call_id: str, name: str) -> bool:
    """Whether a fragment that would go to `known` begins another call."""
    if call_id and known.id and call_id != known.id:
        # A fresh id on every fragment, without a name and in the middle of the arguments, is one call all the same.
        return bool(name) or known.complete()
    if call_id:
        return False
    return bool(name and known.name and (name != known.name or known.complete()))


def _usage(usage: Object) -> Usage | None:
    prompt, output = a_count(usage.get("prompt_tokens")), a_count(usage.get("completion_tokens"))
    if prompt is None and output is None:
        return None
    cached = a_count(an_object(usage.get("prompt_tokens_details")).get("cached_tokens"))
    if cached is None:
        cached = a_count(usage.get("prompt_cache_hit_tokens")) or a_count(usage.get("cached_tokens"))
    read = min(cached or 0, prompt or 0)
    return Usage(input=(prompt or 0) - read, output=output or 0, cache_read=read)


def _words(content: Any) -> str:
    """Text of a delta's content: a string, or a list of parts on some servers."""
    return a_string(content) or "".join(a_string(an_object(part).get("text")) for part in a_list(content))
