"""A transcript holds what was said, and comes back as it was."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ensign.protocol import events
from ensign.protocol.messages import (
    AssistantMessage,
    Image,
    Message,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
    UserMessage,
)
from ensign.protocol.tasks import TaskState
from ensign.store.errors import StoreError
from ensign.store.head import Inherits
from ensign.store.inbox import Letter
from ensign.store.records import read
from ensign.store.replay import replay
from tests.store.values import (
    MAIN,
    SESSION,
    call,
    calls,
    conversation,
    envelope,
    head,
    opened,
    results,
    says,
    spec,
    user,
)

ODD = ["\ud83d alone", "\0\n\r\u2028\u2029\x85", "日本語 🙂", '{"n":0,"epoch":9}', "\\u0000", "x" * 100_000]


async def test_every_message_comes_back_as_it_was(tmp_path: Path) -> None:
    picture = Image(media_type="image/png", data="AAAA")
    said: list[Message] = [
        user("go"),
        AssistantMessage(
            parts=(
                Thinking(text="hm", signature="sig"),
                Thinking(text="", signature="enc", redacted=True),
                Text(text="look"),
                ToolCall(call_id="c1", name="Read", arguments=None, raw='{"file_'),
            )
        ),
        results(("c1", "no JSON")),
        *(message for text in ODD for message in (user(text), says(text))),
    ]
    said[0] = UserMessage(text="go", images=(picture,), origin="parent")
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        transcript = session.create(head())
        for message in said:
            transcript.append_message(message)
        session.close()
        again = await store.read(SESSION, MAIN)
    assert again.history == said
    assert (again.head, again.notices) == (head(), ())


async def test_events_but_deltas_are_kept_and_a_message_once(tmp_path: Path) -> None:
    who = events.Who(agent_id=MAIN, task_id=None)
    todo = events.Todo(content="a", status="pending", active_form="doing a")
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        transcript = session.create(head())
        told: list[events.Event] = [
            events.TurnStarted(**who, turn_id="u1"),
            events.MessageAdded(**who, message=user("go")),
            events.StepStarted(**who, turn_id="u1", step=1, model="p/m"),
            events.TextDelta(**who, turn_id="u1", text="par"),
            events.ThinkingDelta(**who, turn_id="u1", text="hm"),
            events.TodoChanged(**who, todos=(todo,)),
            events.UsageReported(
                **who, model="p/m", usage=Usage(input=1, cache_read=2), first_token_s=None, wall_s=1.0
            ),
            events.UsageReported(**who, model="p/m", usage=Usage(output=5), first_token_s=0.1, wall_s=1.0),
        ]
        for seq, event in enumerate(told, 1):
            session.append_event(seq, event)
        transcript.append_partial("u1", "par", "hm")
        found = await store.read(SESSION, MAIN)
        assert (found.history, found.todos, found.steps, found.last_seq) == ([user("go")], (todo,), 1, 8)
        assert (found.usage, found.partial, found.open_turn) == (Usage(input=1, output=5, cache_read=2), "par", "u1")
        session.append_event(9, events.TurnEnded(**who, turn_id="u1", stop=StopReason.END_TURN))
        session.close()
        assert (await store.read(SESSION, MAIN)).open_turn is None
    lines = (tmp_path / "sessions" / SESSION / f"{MAIN}.jsonl").read_text().splitlines()
    assert len(lines) == 1 + len(told) - 2 + 1 + 1


async def test_a_run_ends_and_begins_anew(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        child = session.create(head("a1", spec()))
        assert (await store.read(SESSION, "a1")).state is TaskState.RUNNING
        child.append_end(TaskState.COMPLETED, envelope(), notify="n1")
        ended = await store.read(SESSION, "a1")
        assert (ended.state, ended.envelope, ended.notify) == (TaskState.COMPLETED, envelope(), "n1")
        child.close()
        child, found = await session.reopen("a1")
        assert found.head.spec == spec()
        child.append_run(spec())
        assert (await store.read(SESSION, "a1")).state is TaskState.RUNNING
        session.close()


async def test_a_fork_begins_with_its_parents_conversation_up_to_the_spawn(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        parent = session.create(head())
        spawn = calls(call("c1", "Agent"))
        for message in (user("go"), spawn):
            parent.append_message(message)
        parent.accept(Letter(message_id="m1", what="message", body={}))
        inherits = Inherits(agent_id=MAIN, n=parent.position)
        fork = session.create(replace(head("f1", spec(agent_id="f1")), inherits=inherits))
        parent.append_message(results(("c1", "launched")))
        fork.append_message(results(("c1", "you are a fork")))
        found = await store.read(SESSION, "f1")
        session.close()
    assert found.history == [user("go"), spawn, results(("c1", "you are a fork"))]
    assert found.inbox.pending() == ()


async def test_compaction_puts_other_messages_in_place(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        transcript = session.create(head())
        for message in conversation(8):
            transcript.append_message(message)
        transcript.append_history([user("summary")])
        transcript.append_message(says("on we go"))
        session.close()
        assert (await store.read(SESSION, MAIN)).history == [user("summary"), says("on we go")]


async def test_only_the_user_may_read_what_is_stored(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with opened(home) as (store, _):
        session, _ = await store.open_session(SESSION)
        session.create(head()).append_message(user("secret"))
        await session.write_report("t1", "secret")
        await store.index.sessions()
        modes = {str(path.relative_to(home)): stat.S_IMODE(path.stat().st_mode) for path in [home, *home.rglob("*")]}
        session.close()
    folders = {".", "sessions", "sessions/s1", "sessions/s1/output"}
    assert {name: oct(mode) for name, mode in modes.items() if mode != (0o700 if name in folders else 0o600)} == {}


async def test_a_head_that_was_rendered_anew_is_what_a_conversation_goes_on_from(tmp_path: Path) -> None:
    later = replace(head(), system="be better", tools=())
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        main = session.create(head())
        main.append_head(later)
        main.append_message(user("go"))
        session.close()
        session, _ = await store.open_session(SESSION)
        _, past = await session.reopen(MAIN)
        assert (past.head, past.history) == (later, [user("go")])
        assert [one.session_id for one in await store.index.sessions()] == [SESSION]
        session.close()


async def test_a_closed_transcript_holds_no_descriptor_and_takes_no_record(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        main = session.create(head())
        await store.index.sessions()
        before = open_descriptors()
        for n in range(50):
            child = session.create(head(f"a{n}", spec(f"t{n}", f"a{n}")))
            child.append_message(user("go"))
            child.append_end(TaskState.COMPLETED, None)
            child.close()
            child.close()
            with pytest.raises(StoreError, match="is closed"):
                child.append_message(user("more"))
        assert open_descriptors() == before
        late = events.Notice(agent_id="a1", task_id="t1", level="info", text="late")
        session.append_event(7, late)
        assert main.position == 1
        session.close()


async def test_sync_outlives_a_close_and_makes_nothing_of_a_closed_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        transcript = session.create(head())
        transcript.append_intent(call())
        await transcript.sync()
        transcript.append_message(user("go on"))
        await transcript.sync()
        session.close()
        await transcript.sync()


async def test_names_that_are_no_ids_reach_no_file(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        for name in ("../x", "", ".", "a/b", "a\0b", "x" * 65, "-x"):
            with pytest.raises(Exception, match="is not an id"):
                await store.open_session(name)
    assert list((tmp_path / "sessions").iterdir()) == []


LIMITED = """
import asyncio, resource, sys
from pathlib import Path
from ensign.store.errors import StoreError
from ensign.store.store import Store
from tests.store.values import MAIN, SESSION, head, says, user

async def main(home):
    store = Store(home, report=lambda text: None)
    session, _ = await store.open_session(SESSION)
    transcript = session.create(head())
    transcript.append_message(user("before"))
    size = (home / "sessions" / SESSION / f"{MAIN}.jsonl").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, resource.RLIM_INFINITY))
    for _ in range(2):
        try:
            transcript.append_message(says("lost"))
        except StoreError as error:
            print(str(error).split(": ", 1)[1].split(" of ")[0])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    transcript.append_message(says("after"))
    session.close()

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.mark.slow
def test_a_full_disk_is_told_and_leaves_no_half_record(tmp_path: Path) -> None:
    """A limit on the file's size stands in for the full disk: write(2) takes 10 bytes, then none."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=True, env=environment()
    )
    assert done.stdout.splitlines() == ["the disk took 10"] * 2
    loaded = read((tmp_path / "sessions" / SESSION / f"{MAIN}.jsonl").read_bytes())
    assert (replay(head(), loaded).history, loaded.notices) == ([user("before"), says("after")], ())


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def environment() -> dict[str, str]:
    root = Path(__file__).parents[2]
    return {**os.environ, "PYTHONPATH": f"{root / 'server'}:{root}"}
