"""Questions to a person through an editor that does not draw them: one at a time, never allowed by silence (P7)."""

from __future__ import annotations

from typing import Any

import pytest

from ensign.protocol import wire
from ensign.protocol.approvals import Choice, Outcome
from tests.lsp.conftest import Near
from tests.lsp.fake import question
from tests.lsp.raw import Message, RawClient

ASK = "window/showMessageRequest"


async def ready(near: Near, experimental: Any = None) -> RawClient:
    await near.client.initialize(experimental=experimental)
    await near.client.request("ensign/session/list", {})
    near.app.calls.clear()
    return near.client


async def asked(client: RawClient, count: int = 1) -> list[Message]:
    return await client.until(lambda m: m.get("method") == ASK, count)


async def reply(near: Near, message: Message, result: Any) -> Any:
    """Answer a question and return what the runtime was told."""
    near.app.called.clear()
    near.client.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
    await near.app.called.wait()
    return near.app.calls[-1]


async def test_a_question_shows_who_asks_and_all_that_would_run(near: Near) -> None:
    client = await ready(near)
    command = "ls" + " " * 400 + "; touch CANARY"
    near.app.ask(question(1, detail=command))
    (message,) = await asked(client)
    assert message["params"] == {
        "type": 2,
        "message": f"[Explore · task 1] Run a command\n{command}\nno rule allows it",
        "actions": [
            {"title": "Allow once"},
            {"title": "Allow for this task"},
            {"title": "Allow for this session"},
            {"title": "Always allow Bash(touch:*)"},
            {"title": "Deny"},
        ],
    }


@pytest.mark.parametrize("outcome", list(Outcome))
async def test_each_answer_is_taken_as_it_was_given(near: Near, outcome: Outcome) -> None:
    client = await ready(near)
    near.app.ask(question(1))
    (message,) = await asked(client)
    action = message["params"]["actions"][list(Outcome).index(outcome)]
    assert await reply(near, message, action) == wire.ApprovalAnswer(id="q1", outcome=outcome, message="")


async def test_only_the_offered_answers_are_shown(near: Near) -> None:
    client = await ready(near)
    near.app.ask(question(1, outcomes=(Outcome.ALLOW_ONCE, Outcome.DENY), rules=()))
    (message,) = await asked(client)
    assert message["params"]["actions"] == [{"title": "Allow once"}, {"title": "Deny"}]
    denied = wire.ApprovalAnswer(id="q1", outcome=Outcome.DENY, message="the editor's answer was none of those offered")
    assert await reply(near, message, {"title": "Allow for this session"}) == denied


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (None, "the question was dismissed"),
        ({}, "the editor's answer was none of those offered"),
        ({"title": "allow once"}, "the editor's answer was none of those offered"),
        ({"title": ["Allow once"]}, "the editor's answer was none of those offered"),
        ("Allow once", "the editor's answer was none of those offered"),
        ([], "the editor's answer was none of those offered"),
        (True, "the editor's answer was none of those offered"),
    ],
)
async def test_anything_else_is_a_denial_with_its_reason(near: Near, result: Any, reason: str) -> None:
    client = await ready(near)
    near.app.ask(question(1))
    (message,) = await asked(client)
    assert await reply(near, message, result) == wire.ApprovalAnswer(id="q1", outcome=Outcome.DENY, message=reason)


async def test_a_client_that_cannot_ask_is_a_denial(near: Near) -> None:
    client = await ready(near)
    near.app.ask(question(1))
    (message,) = await asked(client)
    near.app.called.clear()
    client.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}})
    await near.app.called.wait()
    assert near.app.calls == [
        wire.ApprovalAnswer(id="q1", outcome=Outcome.DENY, message="this editor cannot ask: no such method")
    ]


async def test_seven_subagents_that_ask_at_once_are_asked_in_turn(near: Near) -> None:
    client = await ready(near)
    for number in range(7):
        near.app.ask(question(number))
    for number in range(7):
        messages = await asked(client, number + 1)
        assert len(messages) == number + 1
        assert messages[-1]["params"]["message"].startswith(f"[Explore · task {number}]")
        await reply(near, messages[-1], {"title": "Allow once"})
    allowed = [wire.ApprovalAnswer(id=f"q{number}", outcome=Outcome.ALLOW_ONCE) for number in range(7)]
    assert near.app.calls == allowed


async def test_what_is_answered_elsewhere_is_taken_back_and_a_late_answer_does_nothing(near: Near) -> None:
    client = await ready(near)
    near.app.ask(question(1))
    near.app.ask(question(2))
    (first,) = await asked(client)
    near.app.resolve("q1", Outcome.DENY)
    assert await client.sent("$/cancelRequest") == [{"id": first["id"]}]
    _, second = await asked(client, 2)
    client.send({"jsonrpc": "2.0", "id": first["id"], "result": {"title": "Allow once"}})
    assert await reply(near, second, None) == wire.ApprovalAnswer(
        id="q2", outcome=Outcome.DENY, message="the question was dismissed"
    )
    assert len(near.app.calls) == 1
    assert [m for m in client.received if m.get("method") == "window/showMessage"] == []


async def test_what_is_answered_elsewhere_before_its_turn_is_never_asked(near: Near) -> None:
    client = await ready(near)
    for number in (1, 2, 3):
        near.app.ask(question(number))
    (first,) = await asked(client)
    near.app.resolve("q2", None, "the agent that asked was stopped")
    await reply(near, first, None)
    _, second = await asked(client, 2)
    assert second["params"]["message"].startswith("[Explore · task 3]")


async def test_a_question_from_before_is_asked_when_the_client_comes(near: Near) -> None:
    near.builder.questions = [question(1)]
    client = await ready(near)
    near.app.ask(question(2))
    (first,) = await asked(client)
    assert first["params"]["message"].startswith("[Explore · task 1]")
    await reply(near, first, None)
    _, second = await asked(client, 2)
    assert second["params"]["message"].startswith("[Explore · task 2]")


async def test_a_client_that_draws_questions_itself_is_not_asked(near: Near) -> None:
    client = await ready(near, {"ensign": {"approvals": True}})
    near.app.ask(question(1))
    (event,) = await client.sent("ensign/event")
    assert event["event"]["request"]["id"] == "q1"
    listed = await client.request("ensign/approval/list", {})
    assert [request["detail"] for request in listed["result"]["approvals"]] == ["touch file1"]
    answer = {"id": "q1", "outcome": "allow_once"}
    assert await client.request("ensign/approval/answer", answer) == {"result": {"accepted": True}}
    assert await client.request("ensign/approval/answer", answer) == {"result": {"accepted": False}}
    wrong = await client.request("ensign/approval/answer", {"id": "q1", "outcome": "yes"})
    assert wrong["error"]["code"] == -32602
    assert [m for m in client.received if m.get("method") == ASK] == []


async def test_a_client_that_goes_away_has_not_answered(near: Near) -> None:
    client = await ready(near)
    near.app.ask(question(1))
    await asked(client)
    await client.close()
    assert await near.code == 1
    assert near.app.calls == []
    assert near.app.closed == ["window closed"]


async def test_a_question_of_an_agent_offers_its_choices_and_gets_one(near: Near) -> None:
    client = await ready(near)
    choices = (Choice(label="SQLite", description="one file"), Choice(label="Postgres", description=""))
    near.app.ask(
        question(1, tag="main agent", title="Which?", detail="SQLite: one file\nPostgres", reason="", choices=choices)
    )
    (message,) = await asked(client)
    assert message["params"] == {
        "type": 2,
        "message": "[main agent] Which?\nSQLite: one file\nPostgres",
        "actions": [{"title": "SQLite"}, {"title": "Postgres"}],
    }
    chosen = wire.ApprovalAnswer(id="q1", outcome=Outcome.ALLOW_ONCE, message="Postgres")
    assert await reply(near, message, {"title": "Postgres"}) == chosen
