"""Limits of a main agent's turn: those of whoever started the server hold for it as for a subagent (A10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ensign.protocol import events, wire
from ensign.protocol.approvals import Outcome
from ensign.protocol.tasks import TaskState
from ensign.testing.replies import Reply, calls
from tests.session.bench import CHILD, bench

LOOK = calls(("Glob", {"pattern": "*"}))


async def test_the_tokens_of_a_turn_end_it_with_one_report_and_the_next_turn_starts_afresh(tmp_path: Path) -> None:
    script = (LOOK, LOOK, Reply(text="so far"), LOOK, Reply(text="done"))
    async with bench(tmp_path / "w", *script, command_line={"max_tokens": 200}) as built:
        first = await built.turn("go")
        assert isinstance(first, events.TurnEnded)
        assert (first.reason, len(built.server.requests)) == ("limit of 200 tokens reached", 3)
        assert built.server.requests[-1].json["tool_choice"] == "none"
        second = await built.turn("again")
        assert isinstance(second, events.TurnEnded)
        assert (second.reason, len(built.server.requests)) == ("", 5)


@pytest.mark.slow
async def test_the_clock_of_a_turn_stands_still_while_a_person_is_asked(tmp_path: Path) -> None:
    """A subagent that is cut by the same limit shows that the time has passed."""
    write = calls(("Write", {"file_path": "a.txt", "content": "hello\n"}))
    async with bench(tmp_path / "w", write, Reply(text="written"), command_line={"timeout_s": 1.0}) as built:
        built.server.route(CHILD, Reply(text="never", gate="never"), Reply(text="cut"))
        await built.say("go")
        request = await built.asked()
        await built.api.agent_run(wire.AgentRun(agent="Explore", prompt="look", session_id=built.session_id))
        assert (await built.task_in(TaskState.PARTIAL)).reason == "limit of 1 seconds reached"
        await built.answer(request, Outcome.ALLOW_ONCE)
        ended = await built.until(events.TurnEnded, lambda event: event.task_id is None)
        assert (ended.reason, (built.root / "a.txt").read_text()) == ("", "hello\n")
