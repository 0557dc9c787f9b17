"""The one place in these tests that knows how a turn is built: a scripted model in memory, the real loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

from ensign.models.base import Chunk, Effort, Head, Reply, Request, TextChunk
from ensign.protocol import events
from ensign.protocol.codec import to_wire
from ensign.protocol.errors import ModelError
from ensign.protocol.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    ToolSchema,
    Usage,
    UserMessage,
)
from ensign.runtime.conversation import Conversation
from ensign.runtime.gate import CallOutcome
from ensign.runtime.inbox import Inbox
from ensign.runtime.interrupt import Interrupt
from ensign.runtime.turn import Ending, Turn, run_turn

Step = AssistantMessage | ModelError | Callable[[], Awaitable[AssistantMessage]]


def text(words: str) -> AssistantMessage:
    return AssistantMessage(parts=(Text(text=words),))


def calls(*made: tuple[str, dict[str, Any]], words: str = "") -> AssistantMessage:
    parts: list[AssistantPart] = [Text(text=words)] if words else []
    parts += [
        ToolCall(call_id=f"c{number}", name=name, arguments=arguments, raw=json.dumps(arguments))
        for number, (name, arguments) in enumerate(made, 1)
    ]
    return AssistantMessage(parts=tuple(parts))


class ScriptedModel:
    """Answers with what it was given, and keeps every request's bytes."""

    id = "test/scripted"
    context_window = 100_000

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.bodies: list[bytes] = []
        self.heads: list[Head] = []

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
        data = json.dumps([system, to_wire(tuple(tools)), effort, tools_off, max_output]).encode()
        return Head(data=data, system=system, tools=tuple(tools), cache_key=cache_key, tools_off=tools_off)

    def encode(self, message: Message) -> bytes:
        return json.dumps(to_wire(message)).encode()

    def estimate_tokens(self, size_bytes: int) -> int:
        return size_bytes // 4

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        self.heads.append(request.head)
        self.bodies.append(request.head.data + b",".join(request.encoded))
        step = self.steps.pop(0)
        if isinstance(step, ModelError):
            raise step
        message = step if isinstance(step, AssistantMessage) else await step()
        if message.text:
            yield TextChunk(message.text)
        yield Reply(
            message=message, stop=StopReason.END_TURN, usage=Usage(input=10, output=1), first_token_s=0.0, wall_s=0.0
        )


async def never() -> AssistantMessage:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


class Bench:
    """A turn with everything it needs."""

    def __init__(
        self,
        *steps: Step,
        call: Callable[[ToolCall], Awaitable[CallOutcome]] | None = None,
        parallel: Callable[[str], bool] = lambda name: name == "Read",
        report: bool = False,
        max_steps: int = 3,
        limit: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.events: list[events.Event] = []
        self.model = ScriptedModel(*steps)
        self.inbox = Inbox()
        self.interrupt = Interrupt()
        head = self.model.head(system="s", tools=(), cache_key="k")
        self.conversation = Conversation(self.model, head)
        self.compactions = 0

        async def echo(call: ToolCall) -> CallOutcome:
            return CallOutcome(result=ToolResult(call_id=call.call_id, text=f"{call.name} done"))

        async def before_step() -> str | None:
            return limit()

        async def compact() -> bool:
            self.compactions += 1
            return self.compactions == 1

        async def gate(_turn_id: str, one: ToolCall) -> CallOutcome:
            return await (call or echo)(one)

        def wrap_up(reason: str) -> tuple[Head, Message]:
            off = self.model.head(system="s", tools=(), cache_key="k", tools_off=True)
            return off, UserMessage(text=f"report: {reason}", origin="runtime")

        self.turn = Turn(
            turn_id="t1",
            who={"agent_id": "a1", "task_id": None},
            conversation=self.conversation,
            call=gate,
            parallel=parallel,
            emit=self.events.append,
            inbox=self.inbox,
            interrupt=self.interrupt,
            before_step=before_step,
            compact=compact,
            report=wrap_up if report else None,
            max_steps=max_steps,
            max_misses=2,
            wrap_up_s=5,
            leaving=str,
        )

    async def run(self, prompt: str = "go") -> Ending:
        return await run_turn(self.turn, (UserMessage(text=prompt),))

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    @property
    def messages(self) -> list[Message]:
        return list(self.conversation.messages)
