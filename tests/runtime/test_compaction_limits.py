"""Where compaction does not help: what can never fit, a summarizer that fails, work that goes in circles."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.events import Compacted, Notice, TurnFailed
from ensign.protocol.messages import (
    StopReason,
    UserMessage,
)
from ensign.runtime.turn import Ending
from ensign.testing.replies import Reply, calls, error
from tests.runtime.compaction_bench import DONE, Bench, Provider, Script, beginnings, exchange, looks, provider

OVERFLOW = error(
    400, {"error": {"type": "invalid_request_error", "message": "prompt is too long: 12000 tokens > 10000"}}
)
BROKEN = error(400, {"error": {"type": "invalid_request_error", "message": "no summary today"}})


@pytest.fixture
async def scripted() -> AsyncIterator[Provider]:
    async with provider() as running:
        yield running


async def test_an_overflow_answer_compacts_once_and_the_request_is_sent_again(
    scripted: Provider, tmp_path: Path
) -> None:
    script = scripted.script(Script([*looks(6_000, 6_000), OVERFLOW, DONE]))
    bench = Bench(scripted.model(), root=tmp_path)
    assert await bench.turn() == Ending(stop=StopReason.END_TURN)
    assert ([event.how for event in bench.compacted], len(script.requests)) == (["summarized"], 4)


async def test_a_second_overflow_answer_ends_the_turn_with_the_providers_sizes(
    scripted: Provider, tmp_path: Path
) -> None:
    script = scripted.script(Script([*looks(6_000, 6_000), OVERFLOW]))
    bench = Bench(scripted.model(), root=tmp_path)
    with pytest.raises(ModelError, match="12000 tokens, 10000 fit"):
        await bench.turn()
    assert (len(bench.compacted), len(script.requests)) == (1, 4)
    assert isinstance(bench.events[-1], TurnFailed)


async def test_a_prompt_that_cannot_fit_fails_before_it_is_sent_and_names_the_sizes(
    scripted: Provider, tmp_path: Path
) -> None:
    bench = Bench(scripted.model(), root=tmp_path, system="s" * 40_000)
    with pytest.raises(ModelError) as raised:
        await bench.turn("p" * 700)
    assert (raised.value.kind, raised.value.retryable, raised.value.window_tokens) == (
        ModelErrorKind.OVERFLOW,
        False,
        10_000,
    )
    text = str(raised.value)
    assert text.startswith("the request cannot fit and was not sent: the conversation takes about 11,")
    assert "of the 10,000 tokens of 'scripted/one': system prompt 11," in text
    assert "descriptions of 2 tools " in text
    assert "prompts 2" in text
    assert (scripted.server.requests, bench.compacted) == ([], [])


async def test_a_system_prompt_that_fills_most_of_the_window_does_not_compact_without_end(
    scripted: Provider, tmp_path: Path
) -> None:
    """BUG-042: with a threshold below what no compaction can remove, every step would compact."""
    scripted.script(Script(looks(*[700] * 20)))
    bench = Bench(scripted.model(), root=tmp_path, system="s" * 30_000)
    ending = await bench.turn()
    assert len(bench.compacted) == 3
    assert re.match(
        r"no progress: 3 compactions in a row did not help; the conversation takes about (9|10),\d+ of the 10,000 "
        r"tokens of 'scripted/one': system prompt 8,\d+, descriptions of 2 tools \d+, prompts \d+, the rest 1,\d+$",
        ending.reason,
    )


async def test_what_room_a_large_system_prompt_leaves_is_used_before_anything_is_shortened(
    scripted: Provider, tmp_path: Path
) -> None:
    script = scripted.script(Script([*looks(*[700] * 5), DONE]))
    bench = Bench(scripted.model(), root=tmp_path, system="s" * 24_000)
    assert await bench.turn() == Ending(stop=StopReason.END_TURN)
    assert (bench.compacted, script.counted(script.requests[-1]) > 8_000) == ([], True)


async def test_a_server_that_counts_near_the_window_whatever_it_is_sent_ends_the_run_after_three(
    scripted: Provider, tmp_path: Path
) -> None:
    script = scripted.script(Script([*looks(*range(2_000, 2_030))], counted=lambda _body: 9_500))
    bench = Bench(scripted.model(), root=tmp_path)
    ending = await bench.turn()
    assert (len(bench.compacted), len(script.requests)) == (3, 4)
    assert ending.stop is StopReason.MAX_TURN_REQUESTS
    assert ending.reason.startswith("no progress: 3 compactions in a row did not help; the conversation takes about ")
    assert "of the 10,000 tokens of 'scripted/one': system prompt " in ending.reason


async def test_reading_again_what_was_just_taken_away_is_no_progress(scripted: Provider, tmp_path: Path) -> None:
    script = scripted.script(Script([calls(("Look", {"size": 30_000}))]))
    bench = Bench(scripted.model(), root=tmp_path)
    ending = await bench.turn()
    assert (len(bench.compacted), len(script.requests)) == (3, 7)
    assert ending.reason.startswith("no progress: ")


async def test_work_that_fills_the_window_at_every_step_goes_on(scripted: Provider, tmp_path: Path) -> None:
    script = scripted.script(Script([*looks(*[26_000] * 8), DONE]))
    bench = Bench(scripted.model(), root=tmp_path)
    assert await bench.turn() == Ending(stop=StopReason.END_TURN)
    assert (len(script.requests), len(bench.compacted) > 3) == (9, True)


async def test_a_new_prompt_gives_a_stuck_conversation_another_chance(scripted: Provider, tmp_path: Path) -> None:
    script = scripted.script(Script([*[calls(("Look", {"size": 30_000}))] * 7, DONE]))
    bench = Bench(scripted.model(), root=tmp_path)
    assert (await bench.turn()).reason.startswith("no progress: ")
    assert await bench.turn("stop reading, just answer") == Ending(stop=StopReason.END_TURN)
    assert script.messages(7)[-1] == {"role": "user", "content": "stop reading, just answer"}


async def test_a_summarizer_that_fails_three_times_is_not_asked_again_and_says_so(
    scripted: Provider, tmp_path: Path
) -> None:
    steps = [*looks(24_000, tool="Launch"), *looks(*[1_500] * 7), DONE]
    script = scripted.script(Script(steps, summaries=[BROKEN]))
    bench = Bench(scripted.model(), root=tmp_path)
    assert await bench.turn() == Ending(stop=StopReason.END_TURN)
    notices = [event.text for event in bench.events if isinstance(event, Notice)]
    assert (len(script.asked), len(notices)) == (3, 1)
    assert notices[0].startswith("The conversation could not be summarized 3 times in a row (")
    assert "no summary today" in notices[0]
    assert {event.how for event in bench.compacted} == {"cleared"}


async def test_failures_are_counted_across_turns(scripted: Provider, tmp_path: Path) -> None:
    script = scripted.script(Script([*looks(12_000, 12_000, 4_500), DONE], summaries=[BROKEN]))
    bench = Bench(scripted.model(), root=tmp_path)
    for _ in range(4):
        await bench.turn()
    assert len(script.asked) == 3


async def test_a_result_larger_than_the_window_is_let_go_and_the_work_goes_on(
    scripted: Provider, tmp_path: Path
) -> None:
    script = scripted.script(Script([*looks(3_000, 400_000), DONE]))
    bench = Bench(scripted.model(), root=tmp_path)
    assert await bench.turn() == Ending(stop=StopReason.END_TURN)
    assert all(len(body) < 35_000 for body in (*script.requests, *script.asked))
    assert beginnings(bench)[-1] == "[Cleared by the Ensign runtime"


async def test_a_model_with_a_smaller_window_is_obeyed_from_the_next_step(scripted: Provider, tmp_path: Path) -> None:
    scripted.script(Script([*looks(9_000, 9_000), DONE]))
    bench = Bench(scripted.model(window=100_000), root=tmp_path)
    await bench.turn()
    assert bench.compacted == []
    small = scripted.model(window=5_000)
    bench.agent.conversation.retarget(small, bench.agent.head_for(small))
    await bench.turn("and now?")
    assert [type(event) for event in bench.compacted] == [Compacted]
    assert bench.agent.conversation.tokens < 5_000


async def test_repeating_a_call_is_no_standstill_while_steps_fit_in_between(scripted: Provider, tmp_path: Path) -> None:
    """Running the same check again and again is work, too."""
    scripted.script(Script([*[calls(("Look", {"size": 5_000}))] * 25, DONE]))
    bench = Bench(scripted.model(), root=tmp_path)
    assert await bench.turn() == Ending(stop=StopReason.END_TURN)
    assert len(bench.compacted) > 3


async def test_for_a_prompt_that_cannot_fit_nothing_is_summarized_first(scripted: Provider, tmp_path: Path) -> None:
    history = [UserMessage(text="go"), *exchange(0, 12_000), *exchange(1, 12_000)]
    bench = Bench(scripted.model(), root=tmp_path, messages=history)
    with pytest.raises(ModelError, match=r"the request cannot fit and was not sent: .* prompts 11,"):
        await bench.turn("p" * 40_000)
    assert (scripted.server.requests, bench.compacted) == ([], [])


async def test_a_summary_longer_than_what_it_stands_for_is_not_used_and_not_asked_for_without_end(
    scripted: Provider, tmp_path: Path
) -> None:
    script = scripted.script(Script([DONE], summaries=[Reply(text="S" * 32_000)]))
    history = [UserMessage(text="go"), *exchange(0, 24_000, tool="Launch"), *exchange(1, 5_000)]
    bench = Bench(scripted.model(), root=tmp_path, messages=history)
    for _ in range(5):
        await bench.compaction.before_step()
    assert (bench.messages, bench.compacted, len(script.asked)) == (history, [], 3)
    assert bench.compaction.stuck is not None


async def test_where_there_is_nothing_to_shorten_nothing_is_said_to_have_been(
    scripted: Provider, tmp_path: Path
) -> None:
    bench = Bench(scripted.model(), root=tmp_path, messages=[UserMessage(text="go")])
    assert await bench.compaction.shorten() is False
    assert (bench.messages, bench.events, scripted.server.requests) == ([UserMessage(text="go")], [], [])


async def test_after_an_overflow_answer_the_providers_word_counts_and_not_the_estimate(
    scripted: Provider, tmp_path: Path
) -> None:
    scripted.script(Script([DONE]))
    history = [UserMessage(text="go"), *(m for number in range(8) for m in exchange(number, 2_000))]
    bench = Bench(scripted.model(), root=tmp_path, messages=history)
    assert bench.agent.conversation.tokens < 6_000
    assert await bench.compaction.shorten()
    assert [(event.before_tokens, event.after_tokens <= 6_000) for event in bench.compacted] == [(10_000, True)]


async def test_only_failures_in_a_row_end_the_attempts(scripted: Provider, tmp_path: Path) -> None:
    answers = [BROKEN, BROKEN, Reply(text="SUMMARY")]
    script = scripted.script(Script([DONE], summaries=[*answers, *answers, BROKEN]))
    bench = Bench(scripted.model(), root=tmp_path, messages=[UserMessage(text="go")])
    for number in range(2):
        for message in (*exchange(2 * number, 15_000), *exchange(2 * number + 1, 15_000)):
            bench.agent.conversation.add(message)
        for _ in range(3):
            await bench.compaction.before_step()
    assert ([event.how for event in bench.compacted], len(script.asked)) == (["summarized", "summarized"], 6)
    assert [event for event in bench.events if isinstance(event, Notice)] == []


async def test_a_request_for_a_summary_that_overflows_is_made_shorter(scripted: Provider, tmp_path: Path) -> None:
    script = scripted.script(Script([DONE], summaries=[OVERFLOW, OVERFLOW, Reply(text="SUMMARY")]))
    looked_at = (message for number in range(4) for message in exchange(number, 3_200))
    history = [UserMessage(text="go"), *exchange(9, 16_000, tool="Launch"), *looked_at]
    bench = Bench(scripted.model(), root=tmp_path, messages=history)
    await bench.compaction.before_step()
    assert [event.how for event in bench.compacted] == ["summarized"]
    full, shorter, shortest = map(len, script.asked)
    assert full > shorter > shortest
