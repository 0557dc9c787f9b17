"""No fork of a fork: three guards (F6), each shown to hold with the other two taken away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from ensign.protocol.errors import ToolError
from ensign.protocol.messages import Message, UserMessage
from ensign.protocol.settings import SubagentSettings
from ensign.runtime.agent import Agent
from ensign.runtime.context import MAIN
from ensign.runtime.conversation import Conversation
from ensign.tasks.agent_schema import may_fork
from ensign.tasks.fork import directive, fork_conversation
from ensign.tasks.order import FORK, Rules, order_of
from tests.session.bench import bench

CALL = {"prompt": "again", "description": "once more please"}


@pytest.fixture
async def caller(tmp_path: Path) -> AsyncIterator[tuple[Agent, Rules]]:
    """A main agent, which may fork, and the rules of its session."""
    async with bench(tmp_path / "w") as built:
        session = built.api.sessions.get(built.session_id)
        yield session.main, session.rules()


def with_origin(agent: Agent, origin: str) -> Agent:
    return replace(agent, context=replace(agent.context, query_source=origin, depth=0))


def with_messages(agent: Agent, *messages: Message) -> Agent:
    conversation = Conversation(agent.conversation.model, agent.conversation.head, messages)
    return replace(agent, conversation=conversation)


async def test_the_main_agent_may_fork(caller: tuple[Agent, Rules]) -> None:
    agent, rules = caller
    assert order_of(CALL, agent, "c1", rules).definition is None


async def test_the_origin_alone_refuses(caller: tuple[Agent, Rules]) -> None:
    agent, rules = caller
    bare = with_messages(with_origin(agent, FORK))
    with pytest.raises(ToolError, match="a fork cannot start subagents"):
        order_of(CALL, bare, "c1", rules)


async def test_the_marker_alone_refuses(caller: tuple[Agent, Rules]) -> None:
    agent, rules = caller
    conversation, first = fork_conversation(agent.conversation, "work")
    marked = with_messages(with_origin(agent, MAIN), *conversation.messages, first)
    with pytest.raises(ToolError, match="this conversation is a fork's"):
        order_of(CALL, marked, "c1", rules)


async def test_a_marker_that_a_person_or_a_file_wrote_refuses_nothing(caller: tuple[Agent, Rules]) -> None:
    agent, rules = caller
    quoted = with_messages(agent, UserMessage(text=directive("work"), origin="person"))
    assert order_of(CALL, quoted, "c1", rules).definition is None


@pytest.mark.parametrize(
    ("settings", "headless"),
    [
        (SubagentSettings(), True),
        (SubagentSettings(coordinator=True), False),
        (SubagentSettings(fork=False), False),
        (SubagentSettings(background=False), False),
    ],
    ids=["headless", "coordinator", "off", "no background"],
)
async def test_where_forking_is_off_nobody_forks(
    caller: tuple[Agent, Rules], settings: SubagentSettings, headless: bool
) -> None:
    agent, rules = caller
    assert not may_fork(settings, headless=headless)
    order = order_of(CALL, agent, "c1", replace(rules, settings=settings, headless=headless))
    assert order.agent_name == "general-purpose"


async def test_depth_alone_refuses(caller: tuple[Agent, Rules]) -> None:
    agent, rules = caller
    child = with_messages(replace(agent, context=replace(agent.context, depth=1)))
    with pytest.raises(ToolError, match="subagents cannot start subagents"):
        order_of(CALL, child, "c1", rules)
