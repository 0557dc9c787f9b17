"""`AskUserQuestion`: a choice that is put to the person, through the queue of approvals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ensign.protocol.approvals import Choice, Outcome
from ensign.protocol.events import ToolFinished
from ensign.testing.replies import Reply, calls
from tests.session.bench import CHILD, bench, delegate


def question(text: str = "Which database?", *labels: str) -> tuple[str, dict[str, Any]]:
    options = [{"label": label, "description": f"use {label}"} for label in labels or ("SQLite", "Postgres")]
    return ("AskUserQuestion", {"questions": [{"question": text, "header": "Storage", "options": options}]})


async def test_the_person_s_choice_is_the_answer(tmp_path: Path) -> None:
    async with bench(tmp_path / "w", calls(question()), Reply(text="ok")) as built:
        await built.say("go")
        request = await built.asked()
        assert (request.title, request.reason, request.outcomes) == (
            "Which database?", "Storage", (Outcome.ALLOW_ONCE, Outcome.DENY),
        )  # fmt: skip
        assert request.choices == (
            Choice(label="SQLite", description="use SQLite"),
            Choice(label="Postgres", description="use Postgres"),
        )
        # An approval without a choice says nothing.
        assert not await built.answer(request, Outcome.ALLOW_ONCE)
        assert await built.answer(request, Outcome.ALLOW_ONCE, "Postgres")
        await built.settle()
        assert built.tool_results() == ["Which database? Postgres"]


async def test_own_words_and_no_choice_are_answers_too(tmp_path: Path) -> None:
    both = {"questions": [*question("One?")[1]["questions"], *question("Two?")[1]["questions"]]}
    async with bench(tmp_path / "w", calls(("AskUserQuestion", both)), Reply(text="ok")) as built:
        await built.say("go")
        await built.answer(await built.asked(), Outcome.ALLOW_ONCE, "a flat file")
        await built.answer(await built.asked(2), Outcome.DENY, "later")
        await built.settle()
        assert built.tool_results() == ["One? a flat file\nTwo? [the person did not choose, and said: later]"]


async def test_where_nobody_can_be_asked_it_says_so_and_nothing_is_denied(tmp_path: Path) -> None:
    same = calls(question("Which?", "a", "a"))
    async with bench(tmp_path / "w", calls(question()), same, Reply(text="ok"), answers=False, headless=True) as built:
        await built.turn("go")
        refused, wrong = built.tool_results()
        assert "nobody is there to be asked" in refused
        assert "Decide by yourself" in refused
        assert "the same label" in wrong
        finished = [event for event in built.events if isinstance(event, ToolFinished)]
        assert [event.denied_by for event in finished] == [None, None]


async def test_a_subagent_cannot_ask(tmp_path: Path) -> None:
    async with bench(tmp_path / "w", calls(delegate("general-purpose")), Reply(text="ok")) as built:
        built.server.route(CHILD, calls(question()), Reply(text="done"))
        await built.turn("go")
        first, second = built.child_requests()
        assert "AskUserQuestion" not in [tool["function"]["name"] for tool in first.json["tools"]]
        assert "not available to this agent" in second.json["messages"][-1]["content"]
