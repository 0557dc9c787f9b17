"""A model that falls silent is told from one that works, at every point of a subagent's life (A11, A9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ensign.protocol import events
from ensign.testing.replies import Reply, calls
from tests.session.bench import CHILD, bench, delegate

QUICK: dict[str, Any] = {"subagents": {"stallSeconds": 0.3, "firstTokenSeconds": 0.5}}
READ = ("Read", {"file_path": "a.txt"})


def silent(at: int, *, text: str = "one two three four", call: bool = False) -> Reply:
    """A reply that says nothing more after so many events."""
    made = calls(READ).calls if call else ()
    return Reply(text=text, calls=made, cut="stall", cut_at=at)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "stall", "report"),
    [
        ((), silent(0), ""),
        ((), silent(3), "one two"),
        ((), silent(3, text="", call=True), ""),
        ((calls(READ),), silent(0), ""),
        ((calls(READ, text="I read."),), silent(3), "one two"),
    ],
    ids=["before the first token", "in the text", "in the arguments of a call", "after a result", "in a later text"],
)
async def test_a_silent_model_is_asked_once_more_and_then_fails_its_run_alone(
    tmp_path: Path, before: tuple[Reply, ...], stall: Reply, report: str
) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / "a.txt").write_text("x\n")
    async with bench(root, calls(delegate("Explore")), Reply(text="I go on"), options=QUICK) as built:
        built.server.route(CHILD, *before, stall, stall)
        ended = await built.turn("go")
        assert isinstance(ended, events.TurnEnded)
        found = json.loads(built.tool_results(-1)[-1])
        assert (found["status"], found["reason"], found["report"]) == ("failed", "stalled", report)
        assert len(built.child_requests()) == len(before) + 2
        restarts = [event for event in built.events if isinstance(event, events.StepRestarted)]
        assert len(restarts) == 1


@pytest.mark.slow
async def test_a_model_that_comes_round_at_the_second_try_loses_nothing_but_its_first_words(tmp_path: Path) -> None:
    async with bench(tmp_path / "w", calls(delegate("Explore")), Reply(text="ok"), options=QUICK) as built:
        built.server.route(CHILD, silent(3), Reply(text="whole"))
        await built.turn("go")
        found = json.loads(built.tool_results(-1)[-1])
        assert (found["status"], found["report"]) == ("completed", "whole")


@pytest.mark.slow
async def test_a_slow_but_living_model_is_left_in_peace(tmp_path: Path) -> None:
    async with bench(tmp_path / "w", calls(delegate("Explore")), Reply(text="ok"), options=QUICK) as built:
        slow = Reply(text="a b c d e f", interval_s=0.1, comments=30)
        built.server.route(CHILD, slow)
        await built.turn("go")
        found = json.loads(built.tool_results(-1)[-1])
        assert (found["status"], found["report"]) == ("completed", "a b c d e f")
        assert len(built.child_requests()) == 1
