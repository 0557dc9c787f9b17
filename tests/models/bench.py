"""The one place in these tests that knows how a remote model is built."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Any, Literal

from ensign.models.anthropic import AnthropicWire
from ensign.models.base import Chunk, Head, Model, Reply, Request
from ensign.models.clock import Clock, SystemClock
from ensign.models.credentials import Secret
from ensign.models.http import HttpPool
from ensign.models.openai import OpenAiWire
from ensign.models.remote import Endpoint, Policies, RemoteModel
from ensign.models.retry import RetryPolicy
from ensign.models.vendors import COMPATIBLE, COMPATIBLE_ANTHROPIC, UNKNOWN, Traits, Vendor
from ensign.models.watchdog import StreamLimits
from ensign.models.wire import Ending, HeadOptions, Wire
from ensign.protocol.messages import Message, ToolSchema, UserMessage

KEY = "k3y-very-secret-0123456789"
READ = ToolSchema(name="Read", description="Read a file", parameters={"type": "object", "properties": {}})
HELLO = UserMessage(text="Hello")
NO_RETRY = RetryPolicy(retries=0)
AT_ONCE = RetryPolicy(base_s=0.0, random=Random(1))  # noqa: S311 - jitter that repeats

Kind = Literal["openai", "anthropic"]


def head_options(**given: Any) -> HeadOptions:
    return replace(HeadOptions(cache_key="c1", effort=None, tools_off=False, max_output=None), **given)


def wire_of(kind: Kind, *, vendor: Vendor | None = None, traits: Traits = UNKNOWN) -> Wire:
    if kind == "anthropic":
        return AnthropicWire("m", vendor or COMPATIBLE_ANTHROPIC, traits)
    return OpenAiWire("m", vendor or COMPATIBLE, traits)


@asynccontextmanager
async def remote(
    base_url: str,
    kind: Kind = "openai",
    *,
    vendor: Vendor | None = None,
    key: str = KEY,
    headers: Mapping[str, str] | None = None,
    retry: RetryPolicy = NO_RETRY,
    limits: StreamLimits | None = None,
    clock: Clock | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[RemoteModel]:
    chosen = vendor or (COMPATIBLE_ANTHROPIC if kind == "anthropic" else COMPATIBLE)
    endpoint = Endpoint(
        provider="test",
        model="m",
        vendor=chosen,
        base_url=base_url,
        query="",
        key=lambda: Secret(key),
        key_env="TEST_KEY",
        needs_key=chosen.needs_key,
        headers=tuple((name, Secret(value)) for name, value in (headers or {}).items()),
    )
    http = HttpPool(environment or {})
    policies = Policies(clock=clock or SystemClock(), limits=limits or StreamLimits(), retry=retry)
    try:
        yield RemoteModel(endpoint, wire_of(kind, vendor=chosen), http, policies, context_window=8000)
    finally:
        await http.aclose()


def request_of(model: Model | Wire, *history: Message, head: Head | None = None) -> Request:
    messages: Sequence[Message] = history or (HELLO,)
    if head is None:
        assert isinstance(model, RemoteModel)
        head = model.head(system="Be brief", tools=[READ], cache_key="c1")
    return Request(head=head, history=messages, encoded=[model.encode(message) for message in messages])


async def chunks_of(model: RemoteModel, *history: Message) -> list[Chunk]:
    return [chunk async for chunk in model.stream(request_of(model, *history))]


async def reply_of(model: RemoteModel, *history: Message) -> Reply:
    last = (await chunks_of(model, *history))[-1]
    assert isinstance(last, Reply)
    return last


def ending_of(reply: Reply) -> Ending:
    """What does not depend on the clock."""
    return Ending(message=reply.message, stop=reply.stop, usage=reply.usage)
