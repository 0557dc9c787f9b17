"""Trying again: what, when, how often, and that it can be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from random import Random

import pytest

from ensign.models.base import Chunk, Reply, Restarted, TextChunk
from ensign.models.retry import RetryPolicy, retried
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.messages import AssistantMessage, StopReason
from ensign.testing.clock import ManualClock

DONE = Reply(message=AssistantMessage(parts=()), stop=StopReason.END_TURN, usage=None, first_token_s=None, wall_s=0.0)


def fault(kind: ModelErrorKind, *, retryable: bool = True, retry_after_s: float | None = None) -> ModelError:
    return ModelError(kind.value, kind=kind, retryable=retryable, retry_after_s=retry_after_s)


class Attempts:
    """A request that goes as scripted: each entry is an error, or None for success."""

    def __init__(self, *script: ModelError | None) -> None:
        self.script = list(script)
        self.made = 0

    async def __call__(self) -> AsyncGenerator[Chunk, None]:
        outcome = self.script[self.made]
        self.made += 1
        yield TextChunk(f"try {self.made}")
        if outcome is not None:
            raise outcome
        yield DONE


class Run:
    """Reads the stream in a task of its own while the test moves the clock."""

    def __init__(self, attempt: Callable[[], AsyncGenerator[Chunk, None]], policy: RetryPolicy) -> None:
        self.clock = ManualClock()
        self.chunks: list[Chunk] = []
        self.task = asyncio.create_task(self._read(attempt, policy))

    async def _read(self, attempt: Callable[[], AsyncGenerator[Chunk, None]], policy: RetryPolicy) -> None:
        async for chunk in retried(attempt, policy, self.clock):
            self.chunks.append(chunk)


def policy(**given: float) -> RetryPolicy:
    return RetryPolicy(random=Random(1), **given)  # type: ignore[arg-type]  # noqa: S311 - jitter that repeats


async def test_a_dropped_stream_starts_again_and_says_that_its_deltas_are_void() -> None:
    attempts = Attempts(fault(ModelErrorKind.DROPPED), None)
    run = Run(attempts, policy())
    await run.clock.advance(60)
    await run.task
    assert run.chunks == [TextChunk("try 1"), Restarted("dropped; trying again"), TextChunk("try 2"), DONE]


@pytest.mark.parametrize(
    "kind", [ModelErrorKind.AUTH, ModelErrorKind.QUOTA, ModelErrorKind.BAD_REQUEST, ModelErrorKind.OVERFLOW]
)
async def test_what_cannot_succeed_is_not_tried_again(kind: ModelErrorKind) -> None:
    attempts = Attempts(fault(kind, retryable=False), None)
    run = Run(attempts, policy())
    with pytest.raises(ModelError):
        await run.task
    assert (attempts.made, run.clock.waits) == (1, [])


@pytest.mark.parametrize(
    ("kind", "attempts"),
    [(ModelErrorKind.SERVER, 6), (ModelErrorKind.STALLED, 2), (ModelErrorKind.CONNECTION, 3)],
)
async def test_attempts_are_bounded_by_kind(kind: ModelErrorKind, attempts: int) -> None:
    made = Attempts(*[fault(kind)] * 10)
    run = Run(made, policy())
    await run.clock.advance(10_000)
    with pytest.raises(ModelError) as caught:
        await run.task
    assert (made.made, caught.value.kind) == (attempts, kind)


async def test_waits_double_up_to_the_cap_and_are_jittered() -> None:
    run = Run(Attempts(*[fault(ModelErrorKind.SERVER)] * 9, None), policy(retries=9, base_s=1.0, cap_s=8.0))
    await run.clock.advance(1000)
    await run.task
    for wait_s, full_s in zip(run.clock.waits, [1, 2, 4, 8, 8, 8, 8, 8, 8], strict=True):
        assert full_s / 2 <= wait_s <= full_s
    assert len(set(run.clock.waits)) == 9


@pytest.mark.parametrize(
    ("asked_s", "least_s", "most_s"), [(2.0, 2.0, 2.2), (0.25, 0.25, 0.275), (9999.0, 120.0, 132.0)]
)
async def test_the_server_s_own_wait_is_kept_up_to_a_cap(asked_s: float, least_s: float, most_s: float) -> None:
    attempts = Attempts(fault(ModelErrorKind.RATE, retry_after_s=asked_s), None)
    run = Run(attempts, policy())
    await run.clock.advance(least_s - 0.01)
    assert attempts.made == 1
    await run.clock.advance(most_s)
    await run.task
    assert least_s <= run.clock.waits[0] <= most_s


async def test_cancelling_ends_the_wait_at_once_and_leaves_no_timer() -> None:
    run = Run(Attempts(fault(ModelErrorKind.RATE, retry_after_s=100.0), None), policy())
    await run.clock.advance(1)
    run.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run.task
    assert run.clock.pending == 0
