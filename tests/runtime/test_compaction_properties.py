"""Whatever a conversation looks like, compaction leaves one that can be sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensign.models.base import Chunk, Effort, Head, Reply, Request
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.messages import (
    AssistantMessage,
    Message,
    StopReason,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSchema,
    Usage,
    UserMessage,
)
from ensign.runtime.conversation import Conversation
from ensign.runtime.summary import is_summary, prompt_in
from tests.runtime.compaction_bench import Bench


@dataclass
class Summarist:
    """A model in this process that summarizes, fails or overflows; it takes only what a provider would take."""

    context_window: int
    answers: list[str | ModelErrorKind]
    id: str = "here/one"
    sent: list[list[Message]] = field(default_factory=list[list[Message]])
    encoded: int = 0

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
        return Head(data=system.encode(), system=system, tools=tuple(tools), cache_key=cache_key, tools_off=tools_off)

    def encode(self, message: Message) -> bytes:
        self.encoded += 1
        return repr(message).encode()

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        assert [self.encode(message) for message in request.history] == list(request.encoded)
        assert_sendable(request.history)
        self.sent.append(list(request.history))
        answer = self.answers[(len(self.sent) - 1) % len(self.answers)]
        if isinstance(answer, ModelErrorKind):
            raise ModelError("no", kind=answer, retryable=False)
        message = AssistantMessage(parts=(Text(text=answer),))
        yield Reply(message=message, stop=StopReason.END_TURN, usage=Usage(input=1), first_token_s=None, wall_s=0.0)

    def estimate_tokens(self, size_bytes: int) -> int:
        return size_bytes // 4


class Unseen(Conversation):
    """A conversation whose size may be asked for and nothing else."""

    @property
    def messages(self) -> Sequence[Message]:
        raise AssertionError

    def request(self, head: Head | None = None) -> Request:
        raise AssertionError


def assert_sendable(messages: Sequence[Message]) -> None:
    """A user opens it; every call has exactly one result, in the next message and in the order of the calls."""
    assert isinstance(messages[0], UserMessage)
    pending: tuple[str, ...] = ()
    for message in messages:
        results = tuple(result.call_id for result in message.results) if isinstance(message, ToolMessage) else ()
        assert results == pending
        pending = tuple(call.call_id for call in message.calls) if isinstance(message, AssistantMessage) else ()
    assert pending == ()


words = st.integers(0, 3_000).map(lambda size: "w" * size)
users = st.builds(UserMessage, text=words, origin=st.sampled_from(["person", "parent", "runtime"]))
exchanges = st.tuples(words, st.lists(st.tuples(st.sampled_from(["Look", "Launch", "Gone"]), words), max_size=3), words)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Conversations as the loop makes them; now and then a fork's directive follows the results."""
    history: list[Message] = [draw(users)]
    number = 0
    for entry in draw(st.lists(st.one_of(users, exchanges), max_size=25)):
        if isinstance(entry, UserMessage):
            history.append(entry)
            continue
        text, made, note = entry
        calls = tuple(
            ToolCall(call_id=f"c{number + at}", name=name, arguments={}, raw="{}") for at, (name, _) in enumerate(made)
        )
        number += len(made)
        history.append(AssistantMessage(parts=(Text(text=text or "."), *calls)))
        if made:
            results = tuple(ToolResult(call_id=f"{c.call_id}", text=t) for c, (_, t) in zip(calls, made, strict=True))
            history.append(ToolMessage(results=results, note=note if len(note) % 7 == 1 else ""))
    if isinstance(history[-1], AssistantMessage):
        history.append(draw(users))
    return history


answers = st.one_of(
    st.just("a summary"), st.just(""), st.sampled_from([ModelErrorKind.OVERFLOW, ModelErrorKind.SERVER])
)


def bench_of(model: Summarist, history: Sequence[Message], root: Path) -> Bench:
    return Bench(model, root=root, messages=history, system="s" * 400)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    history=histories(),
    window=st.integers(400, 30_000),
    script=st.lists(answers, min_size=1, max_size=6),
    overflows=st.lists(st.booleans(), min_size=1, max_size=4),
)
def test_a_compacted_conversation_can_be_sent_and_loses_no_prompt(
    history: list[Message],
    window: int,
    script: list[str | ModelErrorKind],
    overflows: list[bool],
) -> None:
    model = Summarist(window, script)
    bench = bench_of(model, history, Path("/nowhere"))
    conversation = bench.agent.conversation
    prompts = [prompt for prompt in map(prompt_in, history) if prompt is not None]
    for overflow in overflows:
        before, recorded = bench.messages, len(bench.recorded)
        try:
            gained = asyncio.run(bench.compaction.shorten() if overflow else bench.compaction.before_step())
        except ModelError as error:
            # What cannot fit at all: said before it is sent, and nothing is lost by it.
            assert (error.kind, bench.messages) == (ModelErrorKind.OVERFLOW, before)  # noqa: PT017
            continue
        after = bench.messages
        assert_sendable(after)
        assert list(conversation.request().encoded) == [repr(message).encode() for message in after]
        kept = [prompt for prompt in map(prompt_in, after) if prompt is not None]
        assert kept[-1:] == prompts[-1:]
        left = iter(prompts)
        assert all(prompt in left for prompt in kept)  # in their order
        # What changed was said, recorded and counted; what did not change was not touched.
        assert len(bench.recorded) == len(bench.compacted) == recorded + (after != before)
        if overflow:
            assert gained is (after != before)
        if after != before:
            assert sum(map(is_summary, after)) <= 1
            assert bench.recorded[-1][1] == after
    assert_not_stuck_in_a_loop(model)


def assert_not_stuck_in_a_loop(model: Summarist) -> None:
    """Each attempt asks for a handful of views at most."""
    assert len(model.sent) <= 4 * 6


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(history=histories(), window=st.integers(400, 30_000))
def test_the_same_answers_make_the_same_conversation(history: list[Message], window: int) -> None:
    def compacted() -> object:
        bench = bench_of(Summarist(window, ["a summary"]), history, Path("/nowhere"))
        try:
            asyncio.run(bench.compaction.before_step())
        except ModelError as error:
            return str(error)
        return bench.messages, bench.events

    assert compacted() == compacted()


def test_far_from_the_window_a_step_costs_nothing_however_long_the_conversation(tmp_path: Path) -> None:
    """Nothing is encoded, measured or looked through: this runs before every request."""
    history: list[Message] = []
    for number in range(3_000):
        history += [UserMessage(text=json.dumps(number)), AssistantMessage(parts=(Text(text="ok"),))]
    model = Summarist(10_000_000, ["a summary"])
    bench = bench_of(model, [], tmp_path)
    bench.agent.conversation = Unseen(model, bench.agent.conversation.head, history)
    before = model.encoded
    asyncio.run(bench.compaction.before_step())
    assert (model.encoded, model.sent) == (before, [])
