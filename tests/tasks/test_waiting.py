"""Waiting for a person: clocks stand still and the place is lent, until the last of several questions is answered."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from ensign.protocol import events
from ensign.protocol.tasks import TaskState
from ensign.runtime.limits import Stopwatch
from ensign.tasks.places import Places
from ensign.tasks.task import Task
from tests.store.values import record, spec


class Clock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def running_task(clock: Clock) -> tuple[Task, list[events.Event]]:
    told: list[events.Event] = []
    task = Task(record(), spec(), None, emit=told.append, clock=clock)
    task.stopwatch = Stopwatch(None, lambda: None, clock)
    return task, told


async def test_two_questions_side_by_side_are_one_wait_that_ends_with_the_later_answer() -> None:
    clock, places = Clock(), Places(lambda: 1)
    task, _ = running_task(clock)
    assert task.stopwatch is not None
    answers = [asyncio.Event(), asyncio.Event()]

    async def ask(number: int) -> None:
        async with task.waiting(f"question {number}", places):
            await answers[number].wait()

    async with places.taken_one():
        asking = [asyncio.create_task(ask(number)) for number in range(2)]
        await asyncio.sleep(0)
        clock.seconds = 5
        assert (task.state, task.record.waiting_for, places.taken) == (TaskState.WAITING, "question 0", 0)
        answers[0].set()
        await asking[0]
        clock.seconds = 9
        assert (task.state, places.taken, task.stopwatch.elapsed_s) == (TaskState.WAITING, 0, 0.0)
        answers[1].set()
        await asking[1]
        clock.seconds = 10
        assert (task.state, places.taken, task.stopwatch.elapsed_s) == (TaskState.RUNNING, 1, 1.0)
    assert places.taken == 0
    task.tell()


async def test_a_task_that_was_answered_waits_for_a_place_with_its_clock_at_rest() -> None:
    clock, places = Clock(), Places(lambda: 1)
    task, _ = running_task(clock)
    assert task.stopwatch is not None
    async with AsyncExitStack() as mine, AsyncExitStack() as others:
        await mine.enter_async_context(places.taken_one())
        wait = AsyncExitStack()
        await wait.enter_async_context(task.waiting("a question", places))
        await others.enter_async_context(places.taken_one())
        answered = asyncio.create_task(wait.aclose())
        await asyncio.sleep(0)
        clock.seconds = 7
        assert (answered.done(), task.state, places.taken) == (False, TaskState.WAITING, 1)
        await others.aclose()
        await answered
        assert (task.state, places.taken, task.stopwatch.elapsed_s) == (TaskState.RUNNING, 1, 0.0)
    assert places.taken == 0
    task.tell()


async def test_a_wait_that_is_cancelled_leaves_the_count_of_places_right() -> None:
    clock, places = Clock(), Places(lambda: 1)
    task, _ = running_task(clock)

    async def ask() -> None:
        async with places.taken_one(), task.waiting("a question", places):
            await asyncio.Event().wait()

    asking = asyncio.create_task(ask())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    async with places.taken_one():
        asking.cancel()
        await asyncio.wait({asking})
        assert places.taken == 1
    assert places.taken == 0
    task.tell()
