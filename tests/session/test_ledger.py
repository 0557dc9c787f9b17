"""The ledger: each request counted once, at the agent that sent it; sums that equal what the server was asked (O2)."""

from __future__ import annotations

from pathlib import Path

from ensign.protocol.messages import Usage
from ensign.protocol.usage import UsageBy, UsageGet, UsageListed
from ensign.testing.replies import Call, Reply
from tests.session.bench import CHILD, Bench, bench, delegate


def call(agent: str | None, usage: Usage) -> Reply:
    name, arguments = delegate(agent)
    return Reply(calls=(Call(name=name, arguments=arguments),), usage=usage)


async def ledger(built: Bench, by: UsageBy) -> UsageListed:
    return await built.api.usage_get(UsageGet(session_id=built.session_id, by=by))


async def test_the_sums_are_those_of_the_requests_and_a_fork_starts_at_zero(tmp_path: Path) -> None:
    script = (
        call("Explore", Usage(input=100, output=10)),
        call(None, Usage(input=20, output=10, cache_read=80)),
        Reply(text="started", usage=Usage(input=5, output=5, cache_read=120)),
        Reply(text="done", usage=Usage(input=1, output=1, cache_read=2)),
    )
    async with bench(tmp_path / "w", *script) as built:
        built.server.route(CHILD, Reply(text="found", usage=Usage(input=40, output=4)))
        built.server.route("<fork-boilerplate>", Reply(text="forked", usage=Usage(input=10, output=3, cache_read=90)))
        await built.turn("go")
        await built.settle()
        by_agent = await ledger(built, "agent")
        assert {one.key: (one.requests, one.usage) for one in by_agent.sums} == {
            "main": (4, Usage(input=126, output=26, cache_read=202)),
            "fork": (1, Usage(input=10, output=3, cache_read=90)),
            "Explore": (1, Usage(input=40, output=4)),
        }
        assert {one.key: round(one.cache_share, 2) for one in by_agent.sums} == {
            "main": 0.62,
            "fork": 0.9,
            "Explore": 0.0,
        }
        assert by_agent.total.requests == len(built.server.requests) == 6
        totals = {by: (await ledger(built, by)).total for by in ("task", "agent", "model", "turn", "session")}
        assert {by: total.usage for by, total in totals.items()} == dict.fromkeys(
            totals, Usage(input=176, output=33, cache_read=292)
        )
        records = {one.agent: one.usage for one in await built.tasks()}
        assert records["fork"] == Usage(input=10, output=3, cache_read=90)
        assert {one.key for one in (await ledger(built, "task")).sums} == {
            built.session_id,
            *(one.id for one in await built.tasks()),
        }


async def test_a_price_is_known_or_said_not_to_be(tmp_path: Path) -> None:
    replies = (Reply(text="a", usage=Usage(input=1_000_000)), Reply(text="b", usage=Usage(input=1)))
    async with bench(tmp_path / "w", *replies) as built:
        built.app.api.sessions.get(built.session_id).set_model("openai/gpt-4o")
        await built.turn("one")
        built.app.api.sessions.get(built.session_id).set_model("openai/scripted")
        await built.turn("two")
        total = (await ledger(built, "model")).total
    assert (total.requests, total.unpriced, total.price_usd) == (2, 1, 2.5)
