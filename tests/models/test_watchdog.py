"""Silence is told from work, whatever the clocks do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from ensign.models.base import Chunk, TextChunk
from ensign.models.watchdog import StreamLimits, watched
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.testing.clock import ManualClock

LIMITS = StreamLimits(stall_s=120, first_token_s=300, kept_alive_s=1800)


class Stream:
    """A stream that the test feeds: a string is a token, None a keep-alive, `end` its end."""

    def __init__(self, limits: StreamLimits = LIMITS) -> None:
        self.clock = ManualClock()
        self.chunks: list[Chunk] = []
        self.closed = False
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self.task = asyncio.create_task(self._read(limits))

    async def _attempt(self, heard: Callable[[], None]) -> AsyncGenerator[Chunk, None]:
        try:
            while (item := await self._queue.get()) != "end":
                heard()
                if item is not None:
                    yield TextChunk(item)
        finally:
            self.closed = True

    async def _read(self, limits: StreamLimits) -> None:
        async for chunk in watched(self._attempt, limits, self.clock):
            self.chunks.append(chunk)

    async def comes(self, item: str | None, after: float = 0.0) -> None:
        await self.clock.advance(after)
        self._queue.put_nowait(item)
        await self.clock.advance(0)

    async def stalled(self) -> ModelError:
        with pytest.raises(ModelError) as caught:
            await asyncio.wait_for(self.task, 1)
        assert self.closed
        assert self.clock.pending == 0
        assert caught.value.kind is ModelErrorKind.STALLED
        assert caught.value.retryable
        return caught.value


async def test_silence_after_a_token_is_a_stall_that_keeps_the_text() -> None:
    stream = Stream()
    await stream.comes("a ")
    await stream.comes("b", after=100)
    await stream.clock.advance(115)
    assert not stream.task.done()
    await stream.clock.advance(15)
    error = await stream.stalled()
    assert (error.partial_text, str(error)) == ("a b", "the model's server sent nothing for 120 s")


async def test_before_the_first_token_it_may_take_longer() -> None:
    stream = Stream()
    await stream.clock.advance(290)
    assert not stream.task.done()
    await stream.clock.advance(20)
    await stream.stalled()


async def test_a_healthy_stream_ends_whenever_it_ends() -> None:
    stream = Stream()
    for _ in range(60):
        await stream.comes("x", after=100)
    await stream.comes("end")
    await stream.task
    assert len(stream.chunks) == 60
    assert stream.clock.pending == 0


async def test_keep_alives_count_as_life_up_to_a_cap() -> None:
    stream = Stream()
    for _ in range(34):
        await stream.comes(None, after=50)
        assert not stream.task.done()
    for _ in range(4):
        await stream.comes(None, after=50)
    assert str(await stream.stalled()) == "the model's server sent only keep-alives for 1800 s"


async def test_keep_alives_between_tokens_do_not_end_a_stream_that_works() -> None:
    stream = Stream(StreamLimits(stall_s=120, first_token_s=300, kept_alive_s=100))
    for _ in range(50):
        await stream.comes(None, after=1)
        await stream.comes("x", after=1)
    assert not stream.task.done()
    await stream.comes("end")
    await stream.task


async def test_a_machine_s_sleep_is_no_stall() -> None:
    stream = Stream()
    await stream.comes("a")
    await stream.clock.advance(20)
    stream.clock.jump(8 * 3600)
    await stream.comes("b", after=6)
    stream.clock.jump(0, wall=8 * 3600)
    await stream.comes("c", after=1)
    await stream.comes("end")
    await stream.task
    assert stream.chunks == [TextChunk("a"), TextChunk("b"), TextChunk("c")]


async def test_a_clock_that_goes_back_neither_stalls_nor_hides_a_stall() -> None:
    stream = Stream()
    await stream.comes("a")
    await stream.clock.advance(60)
    stream.clock.jump(-10_000, wall=-1e6)
    await stream.clock.advance(50)
    assert not stream.task.done()
    await stream.clock.advance(30)
    await stream.stalled()


async def test_time_that_the_reader_takes_is_not_the_server_s() -> None:
    clock = ManualClock()
    read, more = asyncio.Event(), asyncio.Event()

    async def attempt(heard: Callable[[], None]) -> AsyncGenerator[Chunk, None]:
        yield TextChunk("a")
        read.set()
        await more.wait()
        yield TextChunk("b")

    async def consume() -> list[Chunk]:
        chunks: list[Chunk] = []
        async for chunk in watched(attempt, LIMITS, clock):
            chunks.append(chunk)
            if not read.is_set():
                await clock.advance(1000)
        return chunks

    task = asyncio.create_task(consume())
    await read.wait()
    await clock.advance(60)
    more.set()
    assert await task == [TextChunk("a"), TextChunk("b")]


async def test_a_cancellation_that_meets_a_stall_wins() -> None:
    clock = ManualClock()
    tasks: list[asyncio.Task[None]] = []

    async def attempt(heard: Callable[[], None]) -> AsyncGenerator[Chunk, None]:
        try:
            await asyncio.Event().wait()
        finally:
            tasks[0].cancel()
        yield TextChunk("never")

    async def consume() -> None:
        async for _ in watched(attempt, LIMITS, clock):
            pass

    tasks.append(asyncio.create_task(consume()))
    await clock.advance(400)
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]


async def test_cancelling_from_outside_is_a_cancellation() -> None:
    stream = Stream()
    await stream.comes("a")
    stream.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stream.task
    assert stream.closed
    assert stream.clock.pending == 0
