"""The loop's promises: one result for each call, one last event, bytes that only grow, limits that hold."""

from __future__ import annotations

import asyncio

import pytest

from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.messages import StopReason, ToolCall, ToolMessage, ToolResult, UserMessage
from ensign.runtime.gate import CallOutcome
from ensign.runtime.turn import Ending
from tests.runtime.bench import Bench, calls, never, text

END = Ending(stop=StopReason.END_TURN)


async def test_a_tool_result_is_fed_back_to_the_model() -> None:
    bench = Bench(calls(("Read", {"p": 1})), text("done"))
    assert await bench.run() == END
    assert bench.messages == [
        UserMessage(text="go"),
        calls(("Read", {"p": 1})),
        ToolMessage(results=(ToolResult(call_id="c1", text="Read done"),)),
        text("done"),
    ]


async def test_each_request_begins_with_the_bytes_of_the_one_before() -> None:
    bench = Bench(calls(("Read", {})), calls(("Write", {})), text("done"))
    await bench.run()
    first, second, third = bench.model.bodies
    assert second.startswith(first)
    assert third.startswith(second)


async def test_neighbouring_parallel_calls_run_side_by_side_and_others_alone_in_order() -> None:
    order: list[str] = []
    both = asyncio.Barrier(2)

    async def call(one: ToolCall) -> CallOutcome:
        order.append(f"+{one.call_id}")
        if one.name == "Read":
            await both.wait()
        order.append(f"-{one.call_id}")
        return CallOutcome(result=ToolResult(call_id=one.call_id, text=""))

    made = calls(("Read", {}), ("Read", {}), ("Write", {}), ("Write", {}))
    bench = Bench(made, text("done"), call=call)
    await bench.run()
    assert set(order[:2]) == {"+c1", "+c2"}
    assert order[4:] == ["+c3", "-c3", "+c4", "-c4"]


async def test_cancelling_mid_call_leaves_one_result_for_every_call() -> None:
    started = asyncio.Event()

    async def hang(_: ToolCall) -> CallOutcome:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    bench = Bench(calls(("Write", {}), ("Write", {})), call=hang)
    task = asyncio.create_task(bench.run())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    last = bench.messages[-1]
    assert isinstance(last, ToolMessage)
    assert [(result.call_id, result.is_error) for result in last.results] == [("c1", True), ("c2", True)]
    assert bench.kinds()[-1] == "turn_ended"


async def test_a_bug_in_one_call_still_gives_every_call_a_result_and_fails_the_turn() -> None:
    async def broken(_: ToolCall) -> CallOutcome:
        raise RuntimeError("bug")

    bench = Bench(calls(("Write", {}), ("Write", {})), call=broken)
    with pytest.raises(RuntimeError):
        await bench.run()
    last = bench.messages[-1]
    assert isinstance(last, ToolMessage)
    assert len(last.results) == 2
    assert bench.kinds()[-1] == "turn_failed"


async def test_a_model_error_is_the_turns_last_event() -> None:
    bench = Bench(ModelError("no key", kind=ModelErrorKind.AUTH, retryable=False))
    with pytest.raises(ModelError):
        await bench.run()
    assert bench.kinds()[-1] == "turn_failed"


async def test_an_overflow_is_compacted_once_and_asked_again() -> None:
    overflow = ModelError("too long", kind=ModelErrorKind.OVERFLOW, retryable=False)
    assert await Bench(overflow, text("done")).run() == END
    twice = Bench(overflow, overflow)
    with pytest.raises(ModelError):
        await twice.run()
    assert twice.compactions == 1


async def test_the_step_limit_allows_one_wrap_up_request_with_tools_off_and_none_beyond() -> None:
    bench = Bench(calls(("Read", {})), calls(("Read", {})), text("report"), report=True, max_steps=2)
    ending = await bench.run()
    assert ending == Ending(stop=StopReason.MAX_TURN_REQUESTS, reason="limit of 2 steps reached")
    assert [head.tools_off for head in bench.model.heads] == [False, False, True]
    assert bench.messages[-1] == text("report")


async def test_calls_in_a_wrap_up_reply_are_dropped() -> None:
    bench = Bench(calls(("Read", {})), calls(("Write", {}), words="partly"), report=True, max_steps=1)
    await bench.run()
    assert bench.messages[-1] == text("partly")


async def test_a_budget_that_is_used_up_forbids_the_next_request() -> None:
    bench = Bench(text("report"), report=True, limit=lambda: "no tokens left")
    assert (await bench.run()).reason == "no tokens left"
    assert [head.tools_off for head in bench.model.heads] == [True]


async def test_an_interrupt_cuts_the_running_request_short_and_asks_for_the_report() -> None:
    streaming = asyncio.Event()

    async def slow() -> object:
        streaming.set()
        return await never()

    bench = Bench(slow, text("report"), report=True)  # type: ignore[arg-type]
    task = asyncio.create_task(bench.run())
    await streaming.wait()
    bench.interrupt.request("a person asked")
    assert (await task).reason == "a person asked"
    assert bench.messages[-1] == text("report")


async def test_a_stop_after_an_interrupt_is_still_a_stop() -> None:
    streaming = asyncio.Event()

    async def slow() -> object:
        streaming.set()
        return await never()

    bench = Bench(slow, report=True)  # type: ignore[arg-type]
    task = asyncio.create_task(bench.run())
    await streaming.wait()
    bench.interrupt.request("a person asked")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_messages_that_arrive_are_taken_between_steps_and_keep_the_turn_going() -> None:
    bench: Bench

    async def call(one: ToolCall) -> CallOutcome:
        bench.inbox.put(UserMessage(text="steer"))
        return CallOutcome(result=ToolResult(call_id=one.call_id, text="ok"))

    bench = Bench(calls(("Write", {})), text("done"), call=call)
    await bench.run()
    assert bench.messages[2:4] == [
        ToolMessage(results=(ToolResult(call_id="c1", text="ok"),)),
        UserMessage(text="steer"),
    ]


async def test_a_message_in_the_moment_of_the_last_reply_is_answered_too() -> None:
    bench: Bench

    async def last() -> object:
        bench.inbox.put(UserMessage(text="one more"))
        return text("first")

    bench = Bench(last, text("second"))  # type: ignore[arg-type]
    await bench.run()
    assert bench.messages[-2:] == [UserMessage(text="one more"), text("second")]


async def test_two_steps_of_tools_it_does_not_have_end_the_turn() -> None:
    async def missed(one: ToolCall) -> CallOutcome:
        return CallOutcome(result=ToolResult(call_id=one.call_id, text="no", is_error=True), missed=True)

    bench = Bench(calls(("X", {})), calls(("Y", {})), text("report"), call=missed, report=True, max_steps=9)
    assert (await bench.run()).reason == "2 steps in a row used only tools it does not have"


async def test_an_empty_reply_never_enters_the_conversation() -> None:
    bench = Bench(text("  "))
    await bench.run()
    assert bench.messages == [UserMessage(text="go")]
