"""The offline policy behind the interface of a model, so that it runs through the real loop."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Sequence

from ensign.models.base import CallChunk, Chunk, Effort, Head, Reply, Request, TextChunk
from ensign.models.offline.policy import decide
from ensign.protocol.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    StopReason,
    Text,
    ToolCall,
    ToolSchema,
    Usage,
)

_PIECE = re.compile(r".{1,80}(?:\s+|$)|.{1,80}|\s+", re.DOTALL)


class OfflineModel:
    """Not a language model. Deterministic: the same conversation and tools give the same reply."""

    id = "offline"
    context_window = 1_000_000

    def head(
        self,
        *,
        system: str,
        tools: Sequence[ToolSchema],
        cache_key: str,
        effort: Effort | None = None,
        tools_off: bool = False,
        max_output: int | None = None,
    ) -> Head:
        return Head(data=b"", system=system, tools=tuple(tools), cache_key=cache_key, tools_off=tools_off)

    def encode(self, message: Message) -> bytes:
        """Nothing is sent, so nothing is serialized."""
        return b""

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        tools = {tool.name: tool for tool in request.head.tools}
        # Ranking some thousand lines takes milliseconds, and other agents share this loop.
        move = await asyncio.to_thread(decide, tuple(request.history), tools, tools_off=request.head.tools_off)
        parts: list[AssistantPart] = []
        if isinstance(move, str):
            for piece in _PIECE.findall(move):
                yield TextChunk(piece)
                await asyncio.sleep(0)
            parts.append(Text(text=move))
        else:
            made = sum(len(message.calls) for message in request.history if isinstance(message, AssistantMessage))
            for number, (name, arguments) in enumerate(move, made + 1):
                yield CallChunk(name)
                raw = json.dumps(arguments, ensure_ascii=False)
                parts.append(ToolCall(call_id=f"offline-{number}", name=name, arguments=arguments, raw=raw))
        message = AssistantMessage(parts=tuple(parts))
        yield Reply(message=message, stop=StopReason.END_TURN, usage=Usage(), first_token_s=0.0, wall_s=0.0)

    def estimate_tokens(self, size_bytes: int) -> int:
        return size_bytes // 4
