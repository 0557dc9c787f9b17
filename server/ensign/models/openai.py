"""The Chat Completions format, outwards: what requests look like on OpenAI and on the servers compatible with it."""

from __future__ import annotations

from collections.abc import Sequence

from ensign.models.base import Head, Request
from ensign.models.jsons import Object, dumps
from ensign.models.openai_reader import OpenAiReader
from ensign.models.vendors import Traits, Vendor
from ensign.models.wire import HeadOptions, Reader, arguments_for_wire
from ensign.protocol.messages import (
    AssistantMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    ToolSchema,
    UserMessage,
)

_USAGE = b'"stream_options":{"include_usage":true},'


class OpenAiWire:
    """Translates for one model. The system prompt is the first message, so it ends the head.

    Optional fields that a server turns out to refuse are left out from then on, also from heads made before.
    """

    path = "/chat/completions"

    def __init__(self, model: str, vendor: Vendor, traits: Traits) -> None:
        self._model = model
        self._vendor = vendor
        self._traits = traits
        self._refused: set[str] = set()

    def head(self, *, system: str, tools: Sequence[ToolSchema], options: HeadOptions) -> Head:
        """`messages` comes last (C2); what may have to be left out stands right at the front."""
        data = b'{"model":' + dumps(self._model) + b',"stream":true,'
        if self._vendor.usage_option:
            data += _USAGE
        if self._vendor.cache_key and options.cache_key:
            data += _cache_key(options.cache_key)
        fields: Object = {}
        if options.max_output is not None:
            fields[self._vendor.output_field] = min(options.max_output, self._traits.max_output)
        if options.effort not in (None, "none") and self._vendor.effort == "reasoning_effort" and self._traits.thinks:
            fields["reasoning_effort"] = options.effort
        if tools:
            fields["tools"] = [_tool(tool) for tool in tools]
            if options.tools_off:
                fields["tool_choice"] = "none"
        if fields:
            data += dumps(fields)[1:-1] + b","
        data += b'"messages":['
        if system:
            data += dumps({"role": "system", "content": system}) + b","
        return Head(
            data=data,
            system=system,
            tools=tuple(tools),
            cache_key=options.cache_key,
            tools_off=options.tools_off,
        )

    def encode(self, message: Message) -> bytes:
        if isinstance(message, UserMessage):
            return dumps({"role": "user", "content": _content(message.text, message.images)})
        if isinstance(message, AssistantMessage):
            return dumps(self._assistant(message))
        return _tool_messages(message)

    def body(self, request: Request) -> bytes:
        head = request.head.data
        for name in self._refused:
            head = self._without(name, head, request.head.cache_key)
        return b"".join((head, b",".join(request.encoded), b"]}"))

    def reader(self) -> Reader:
        return OpenAiReader()

    def give_up(self, complaint: str) -> bool:
        candidates = ("prompt_cache_key", "stream_options", "max_tokens", "max_completion_tokens", "reasoning_effort")
        for name in candidates:
            # "Use 'max_completion_tokens' instead of 'max_tokens'": the field refused is the one that we send.
            if name in complaint and name not in self._refused and self._sends(name):
                self._refused.add(name)
                return True
        return False

    def _sends(self, name: str) -> bool:
        sent = {
            "prompt_cache_key": self._vendor.cache_key,
            "stream_options": self._vendor.usage_option,
            "reasoning_effort": self._vendor.effort == "reasoning_effort",
        }
        return sent.get(name, name == self._vendor.output_field)

    def _without(self, name: str, head: bytes, cache_key: str) -> bytes:
        if name == "stream_options":
            return head.replace(_USAGE, b"", 1)
        if name == "prompt_cache_key":
            return head.replace(_cache_key(cache_key), b"", 1)
        if name == "reasoning_effort":
            before, found, after = head.partition(b'"reasoning_effort":"')
            return before + after.partition(b'",')[2] if found else head
        other = b'"max_completion_tokens":' if name == "max_tokens" else b'"max_tokens":'
        return head.replace(b'"' + name.encode() + b'":', other, 1)

    def _assistant(self, message: AssistantMessage) -> Object:
        text = "".join(part.text for part in message.parts if isinstance(part, Text))
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        encoded: Object = {"role": "assistant", "content": text}
        if field := self._vendor.echo_reasoning:
            thinking = "".join(part.text for part in message.parts if isinstance(part, Thinking))
            if thinking and calls:
                encoded[field] = thinking
        if calls:
            encoded["content"] = text or None
            encoded["tool_calls"] = [_call(call) for call in calls]
        return encoded


def _cache_key(key: str) -> bytes:
    return b'"prompt_cache_key":' + dumps(key) + b","


def _tool(tool: ToolSchema) -> Object:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _call(call: ToolCall) -> Object:
    # The model's own text keeps its cache valid; text that is no JSON makes some servers refuse the conversation.
    own = call.arguments is not None and call.raw.strip() not in ("", "null")
    raw = call.raw if own else dumps(arguments_for_wire(call)).decode()
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": raw}}


def _content(text: str, images: Sequence[Image]) -> str | list[Object]:
    if not images:
        return text
    parts: list[Object] = [{"type": "text", "text": text}] if text else []
    for image in images:
        url = f"data:{image.media_type};base64,{image.data}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts


def _tool_messages(message: ToolMessage) -> bytes:
    """One message for each result; pictures and the note, which a tool message cannot hold, follow as the user's."""
    encoded = [
        dumps({"role": "tool", "tool_call_id": result.call_id, "content": result.text}) for result in message.results
    ]
    images = [image for result in message.results for image in result.images]
    if images or message.note:
        encoded.append(dumps({"role": "user", "content": _content(message.note, images)}))
    return b",".join(encoded)
