"""The Messages format, outwards: requests with cache breakpoints at fixed places."""

from __future__ import annotations

from collections.abc import Sequence

from ensign.models.anthropic_reader import AnthropicReader
from ensign.models.base import Effort, Head, Request
from ensign.models.jsons import Object, dumps
from ensign.models.vendors import Traits, Vendor
from ensign.models.wire import HeadOptions, Reader, arguments_for_wire
from ensign.protocol.messages import (
    AssistantMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolMessage,
    ToolResult,
    ToolSchema,
    UserMessage,
)

_EPHEMERAL = {"type": "ephemeral"}
_MARKER = b',"cache_control":{"type":"ephemeral"}'
# Every message of the user ends so, its last block being an object; the marker goes before it.
_BLOCK_END = b"}]}"
_BUDGETS: dict[Effort, int] = {"low": 4_000, "medium": 10_000, "high": 24_000}
_MAX_OUTPUT = 16_000


class AnthropicWire:
    """Translates for one model."""

    path = "/v1/messages"

    def __init__(self, model: str, vendor: Vendor, traits: Traits) -> None:
        self._model = model
        self._vendor = vendor
        self._traits = traits

    def head(self, *, system: str, tools: Sequence[ToolSchema], options: HeadOptions) -> Head:
        """Breakpoints stand on the last tool and on the system prompt (C4); `messages` comes last (C2)."""
        budget = _BUDGETS.get(options.effort or "none", 0) if self._traits.thinks else 0
        limit = min(options.max_output or _MAX_OUTPUT, self._traits.max_output)
        fields: Object = {
            "model": self._model,
            "max_tokens": min(limit + budget, self._traits.max_output),
            "stream": True,
        }
        if budget and budget < fields["max_tokens"]:
            fields["thinking"] = {"type": "enabled", "budget_tokens": budget}
        if tools:
            encoded = [_tool(tool) for tool in tools]
            encoded[-1]["cache_control"] = _EPHEMERAL
            if options.tools_off:
                fields["tool_choice"] = {"type": "none"}
            fields["tools"] = encoded
        if system:
            fields["system"] = [{"type": "text", "text": system, "cache_control": _EPHEMERAL}]
        return Head(
            data=dumps(fields)[:-1] + b',"messages":[',
            system=system,
            tools=tuple(tools),
            cache_key=options.cache_key,
            tools_off=options.tools_off,
        )

    def encode(self, message: Message) -> bytes:
        if isinstance(message, AssistantMessage):
            return dumps({"role": "assistant", "content": _assistant(message)})
        return dumps({"role": "user", "content": _blocks(message)})

    def body(self, request: Request) -> bytes:
        """Join the bytes, with a marker on the newest message of the user and on the one before it.

        The second is where the previous request had its marker: a cache entry is looked for only some blocks back
        from a breakpoint, so without it a step with many results would miss its own prefix.
        """
        parts = list(request.encoded)
        marked = 0
        for place in range(len(parts) - 1, -1, -1):
            if not isinstance(request.history[place], AssistantMessage):
                parts[place] = parts[place][: -len(_BLOCK_END)] + _MARKER + _BLOCK_END
                marked += 1
                if marked == 2:
                    break
        return b"".join((request.head.data, b",".join(parts), b"]}"))

    def reader(self) -> Reader:
        return AnthropicReader()

    def give_up(self, complaint: str) -> bool:
        """Nothing that is sent here is optional."""
        return False


def _tool(tool: ToolSchema) -> Object:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _text(text: str) -> Object:
    # The API refuses text without a visible character.
    return {"type": "text", "text": text if text.strip() else "(empty)"}


def _image(image: Image) -> Object:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


def _assistant(message: AssistantMessage) -> list[Object]:
    blocks: list[Object] = []
    for part in message.parts:
        if isinstance(part, Text):
            if part.text.strip():
                blocks.append(_text(part.text))
        elif isinstance(part, Thinking):
            if part.redacted:
                blocks.append({"type": "redacted_thinking", "data": part.signature})
            elif part.signature:
                # Without a signature it is another provider's, or was cut; it would be refused.
                blocks.append({"type": "thinking", "thinking": part.text, "signature": part.signature})
        else:
            arguments = arguments_for_wire(part)
            blocks.append({"type": "tool_use", "id": part.call_id, "name": part.name, "input": arguments})
    return blocks or [_text("")]


def _blocks(message: UserMessage | ToolMessage) -> list[Object]:
    if isinstance(message, ToolMessage):
        blocks = [_result(result) for result in message.results]
        return [*blocks, _text(message.note)] if message.note else blocks
    images = [_image(image) for image in message.images]
    return [*images, _text(message.text)] if message.text or not images else images


def _result(result: ToolResult) -> Object:
    block: Object = {"type": "tool_result", "tool_use_id": result.call_id}
    if result.is_error:
        block["is_error"] = True
    # `content` stands last, so that the block ends in the brace that the marker goes before.
    block["content"] = result.text
    if result.images:
        block["content"] = [*([_text(result.text)] if result.text else []), *map(_image, result.images)]
    return block
