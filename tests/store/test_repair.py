"""A conversation that broke off anywhere is made one that a provider takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ensign.protocol import events
from ensign.protocol.messages import AssistantMessage, Message, Text, ToolCall, ToolMessage, ToolResult, UserMessage
from ensign.store.repair import LOST, NOT_STARTED, OUTCOME_UNKNOWN, UNFINISHED, Step, sendable
from tests.store.values import MAIN, SESSION, call, calls, head, opened, results, says, user


def assert_sendable(history: Sequence[Message]) -> None:
    if history:
        assert isinstance(history[0], UserMessage)
    for before, message in zip([None, *history], history, strict=False):
        if isinstance(message, AssistantMessage):
            assert message.parts
            assert not isinstance(before, AssistantMessage)
        made = tuple(made.call_id for made in before.calls) if isinstance(before, AssistantMessage) else ()
        given = tuple(result.call_id for result in message.results) if isinstance(message, ToolMessage) else ()
        assert given == made
    last = history[-1] if history else None
    assert not (isinstance(last, AssistantMessage) and last.calls)


async def test_calls_that_were_cut_off_say_what_is_known_of_them(tmp_path: Path) -> None:
    """ATK-241: a finished call keeps its result; one with effects is unknown, and named as such to the caller."""
    who = events.Who(agent_id=MAIN, task_id=None)
    done, going, reading, waiting = (call(f"c{n}") for n in range(4))
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        transcript = session.create(head())
        for message in (user("go"), calls(done, going, reading, waiting)):
            transcript.append_message(message)
        transcript.append_intent(done)
        session.append_event(
            1, events.ToolFinished(**who, turn_id="u1", call_id="c0", tool="Bash", text="ok", is_error=False)
        )
        transcript.append_intent(going)
        session.append_event(2, events.ToolStarted(**who, turn_id="u1", call=reading, activity="reading"))
        session.close()
        session, _ = await store.open_session(SESSION)
        transcript, found = await session.reopen(MAIN)
        answer = ToolMessage(
            results=(
                ToolResult(call_id="c0", text="ok"),
                ToolResult(call_id="c1", text=OUTCOME_UNKNOWN, is_error=True),
                ToolResult(call_id="c2", text=UNFINISHED, is_error=True),
                ToolResult(call_id="c3", text=NOT_STARTED, is_error=True),
            )
        )
        assert found.history == [user("go"), calls(done, going, reading, waiting), answer]
        assert found.unknown == (going,)
        transcript.append_message(user("go on"))
        session.close()
        later = await store.read(SESSION, MAIN)
    assert later.history == [*found.history, user("go on")]
    assert later.unknown == ()


def test_a_sound_conversation_is_left_as_it_is() -> None:
    history: list[Message] = [user("go"), calls(call()), results(("c1", "ok")), says("done"), user("again")]
    assert sendable(Step(message) for message in history) == history


def test_results_are_put_in_order_completed_and_freed_of_strangers() -> None:
    asked = calls(call("a"), call("b"), call("c"))
    answered = ToolMessage(
        results=results(("x", "?"), ("c", "3"), ("a", "1"), ("a", "twice")).results, note="then this"
    )
    found = sendable(Step(message) for message in (user("go"), asked, answered))
    missing = ToolResult(call_id="b", text=NOT_STARTED, is_error=True)
    assert found == [
        user("go"),
        asked,
        ToolMessage(
            results=(ToolResult(call_id="a", text="1"), missing, ToolResult(call_id="c", text="3")), note="then this"
        ),
    ]


def test_what_a_lost_message_leaves_behind_is_made_good() -> None:
    directive = ToolMessage(results=results(("a", "1")).results, note="directive", delivers=("n1",))
    found = sendable(Step(message) for message in (says("one"), says("two"), results(("a", "1")), directive))
    lost = UserMessage(text=LOST, origin="runtime")
    note = UserMessage(text="directive", origin="runtime", delivers=("n1",))
    assert found == [lost, says("one"), lost, says("two"), note]


call_ids = st.sampled_from(["a", "b", "c"])
messages = st.one_of(
    st.builds(UserMessage, text=st.text(max_size=3)),
    st.builds(
        AssistantMessage,
        parts=st.lists(
            st.builds(Text, text=st.just("x"))
            | st.builds(ToolCall, call_id=call_ids, name=st.just("Read"), arguments=st.none(), raw=st.just("")),
            max_size=3,
            unique_by=lambda part: getattr(part, "call_id", ""),
        ).map(tuple),
    ),
    st.builds(
        ToolMessage,
        results=st.lists(st.builds(ToolResult, call_id=call_ids, text=st.just("r")), max_size=3).map(tuple),
        note=st.sampled_from(["", "note"]),
    ),
)


@given(st.lists(messages, max_size=12))
@settings(deadline=None)
def test_any_messages_at_all_become_sendable_and_stay_as_they_are_then(said: list[Message]) -> None:
    found = sendable(Step(message) for message in said)
    assert_sendable(found)
    assert sendable(Step(message) for message in found) == found
    assert [message for message in found if isinstance(message, UserMessage) and message in said] == [
        message for message in said if isinstance(message, UserMessage)
    ] or any(isinstance(message, ToolMessage) and message.note for message in said)
