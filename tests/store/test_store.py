"""The store as session and tasks use it: lists, recovery, the index and what becomes of it, no disk at all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ensign.protocol import events
from ensign.protocol.errors import UserError
from ensign.protocol.messages import Usage
from ensign.protocol.tasks import TaskState
from ensign.protocol.wire import SessionInfo
from ensign.store.database import MIGRATIONS
from ensign.store.index import UsageRow
from ensign.store.recovery import REASON, CutOff, Recovered
from ensign.store.session import SessionStore
from ensign.store.store import Store
from tests.store.values import (
    MAIN,
    SESSION,
    call,
    calls,
    envelope,
    head,
    left_behind,
    opened,
    record,
    results,
    says,
    spec,
    user,
)

CHILD = events.Who(agent_id="a1", task_id="t1")


async def lived(store: Store) -> SessionStore:
    """A session with a main agent and one subagent that is still running."""
    session, _ = await store.open_session(SESSION)
    main = session.create(head())
    session.append_event(1, events.TurnStarted(agent_id=MAIN, turn_id="u1"))
    main.append_message(user("find the bug\nplease"))
    child = session.create(head("a1", spec(background=True)))
    session.append_event(2, events.TaskChanged(**CHILD, record=record()))
    child.append_message(user("look"))
    used = events.UsageReported(
        **CHILD, model="p/m", usage=Usage(input=7, output=2), first_token_s=0.5, wall_s=2.0, price_usd=0.25
    )
    session.append_event(3, used)
    child.append_message(calls(call()))
    child.append_intent(call())
    return session


def clock() -> float:
    return 100.0


async def test_sessions_tasks_and_requests_are_listed(tmp_path: Path) -> None:
    store = Store(tmp_path, report=pytest.fail, now=clock)
    session = await lived(store)
    info = SessionInfo(
        session_id=SESSION, title="find the bug", cwd="/w", created_at=100.0, last_event_at=100.0, open=True
    )
    assert await store.sessions() == [info]
    assert await store.index.tasks(SESSION) == [record()]
    assert await store.index.usage(SESSION) == [
        UsageRow(
            request_id="a1:3",
            session_id=SESSION,
            turn_id=None,
            task_id="t1",
            agent="Explore",
            model="p/m",
            purpose="step",
            usage=Usage(input=7, output=2),
            first_token_s=0.5,
            wall_s=2.0,
            price_usd=0.25,
            at=100.0,
        )
    ]
    assert await store.index.tasks("other") == []
    session.close()
    await store.rename(SESSION, "The bug")
    assert await store.sessions() == [replace(info, title="The bug", open=False)]
    await store.delete(SESSION)
    assert (await store.sessions(), await store.index.tasks(), await store.index.usage()) == ([], [], [])
    with pytest.raises(UserError, match="no session 's1'"):
        await store.rename(SESSION, "gone")
    with pytest.raises(UserError, match="no session 's1'"):
        await store.delete(SESSION)
    await store.close()


async def test_a_run_whose_owner_died_is_ended_and_told_of_once(tmp_path: Path) -> None:
    """ATK-243, BUG-113: the owner's death is its lock let go with nothing said."""
    async with opened(tmp_path) as (store, _):
        session = await lived(store)
        # What a dead owner leaves is what a living one has written so far.
        home = left_behind(tmp_path / "sessions", tmp_path / "after")
        session.close()
    half = home / "sessions" / SESSION / ".x.jsonl.tmp"
    half.write_bytes(b"half")
    async with opened(home) as (store, _):
        assert await store.recover() == [
            Recovered(
                session_id=SESSION,
                interrupted=(CutOff(task_id="t1", agent_id="a1", unknown=(call(),)),),
                open_turn="u1",
                removed=(str(half),),
                notices=(),
            )
        ]
        assert await store.recover() == []
        child = await store.read(SESSION, "a1")
        assert (child.state, child.unknown) == (TaskState.INTERRUPTED, (call(),))
        assert child.envelope is not None
        assert (child.envelope.status, child.envelope.reason, child.envelope.report) == (
            "interrupted",
            REASON,
            "let me see",
        )
        told = (await store.read(SESSION, MAIN)).inbox.pending()
        assert [(letter.message_id, letter.body["taskId"]) for letter in told] == [(child.notify, "t1")]
        assert [task.state for task in await store.index.tasks()] == [TaskState.INTERRUPTED]
        session, recovered_now = await store.open_session(SESSION)
        assert recovered_now is None
        transcript, found = await session.reopen("a1")
        transcript.append_run(spec(background=True))
        assert found.history[-1] != calls(call())
        session.close()


async def test_a_spawn_is_carried_out_once_for_each_call(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        session = await lived(store)
        with pytest.raises(UserError, match="started by the same call"):
            session.create(head("a2", replace(spec(), agent_id="a2")))
        session.close()
        session, _ = await store.open_session(SESSION)
        assert (session.spawned("s1:t1"), session.spawned("s1:t2")) == ("a1", None)
        session.close()


@pytest.mark.parametrize("what", ["missing", "garbage", "torn", "emptied"])
async def test_a_lost_or_damaged_index_is_made_anew_from_the_transcripts(tmp_path: Path, what: str) -> None:
    async with opened(tmp_path) as (store, _):
        session = await lived(store)
        session.close()
        rows = [await store.sessions(), await store.index.tasks(), await store.index.usage()]
    path = tmp_path / "ensign.db"
    match what:
        case "missing":
            path.unlink()
        case "garbage":
            path.write_bytes(b"not a database at all, but long enough to be looked at" * 200)
        case "torn":
            path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 4096)
        case _:
            path.write_bytes(b"")
    async with opened(tmp_path) as (store, said):
        assert [await store.sessions(), await store.index.tasks(), await store.index.usage()] == rows
    kept = list(tmp_path.glob("ensign.db.damaged-*"))
    assert len(kept) == len(said) == (1 if what in {"garbage", "torn"} else 0)


async def test_an_index_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        (await lived(store)).close()
        rows = await store.sessions()
    change_index(tmp_path, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = (tmp_path / "ensign.db").read_bytes()
    async with opened(tmp_path) as (store, said):
        assert await store.sessions() == rows
    assert (tmp_path / "ensign.db").read_bytes() == before
    assert len(said) == 1
    assert "has version 2, this program knows 1" in said[0]


async def test_an_index_that_cannot_be_written_loses_no_session_and_is_mended_at_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "ensign.db").mkdir()
    async with opened(tmp_path) as (store, said):
        session = await lived(store)
        with pytest.raises(UserError, match="cannot use the index"):
            await store.sessions()
        session.close()
        assert len((await store.read(SESSION, MAIN)).history) == 1
    assert len(said) == 1
    (tmp_path / "ensign.db").rmdir()
    async with opened(tmp_path) as (store, said):
        await store.recover()
        assert [info.title for info in await store.sessions()] == ["find the bug"]
        assert said == []


async def test_rows_that_the_disk_refused_are_made_up_for_at_the_next_start(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, said):
        assert await store.sessions() == []
        change_index(tmp_path, "ALTER TABLE tasks RENAME TO away")
        session = await lived(store)
        await store.index.usage()
        session.close()
        assert said == [f"the index {str(tmp_path / 'ensign.db')!r} is not written: no such table: tasks"]
    change_index(tmp_path, "ALTER TABLE away RENAME TO tasks")
    async with opened(tmp_path) as (store, said):
        assert await store.index.tasks() == []
        await store.recover()
        assert [task.id for task in await store.index.tasks()] == ["t1"]


def change_index(home: Path, statement: str) -> None:
    with closing(sqlite3.connect(home / "ensign.db")) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize("home", ["file/home", "file"])
async def test_without_a_disk_everything_works_in_memory_after_one_warning(tmp_path: Path, home: str) -> None:
    """ATK-253. Root passes every permission check, so the way leads through a file."""
    (tmp_path / "file").write_text("")
    async with opened(tmp_path / home) as (store, said):
        session = await lived(store)
        assert (await session.write_report("t1", "x"), session.output_dir) == ("", None)
        assert (await store.read(SESSION, MAIN)).history == [user("find the bug\nplease")]
        main_closed = (await store.read(SESSION, "a1")).unknown
        assert main_closed == (call(),)
        session.close()
        assert await store.recover() == []
        session, recovered = await store.open_session(SESSION)
        assert recovered is None
        transcript, found = await session.reopen(MAIN)
        transcript.append_message(says("here"))
        await transcript.sync()
        session.close()
        assert (await store.read(SESSION, MAIN)).history == [*found.history, says("here")]
        assert [info.title for info in await store.sessions()] == ["find the bug"]
        await store.delete(SESSION)
        assert await store.sessions() == []
    consequence = "sessions are kept in memory and are gone when the server ends"
    assert said == [f"cannot write to {str(tmp_path / home)!r}: Not a directory; {consequence}"]


async def test_a_report_is_whole_or_as_it_was(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        path = Path(await session.write_report("t1", "first"))
        await session.write_report("t1", "second \ud83d")
        assert path == tmp_path / "sessions" / SESSION / "output" / "t1.md"
        assert path.read_text() == "second \\ud83d"
        assert list(path.parent.iterdir()) == [path]
        with pytest.raises(UserError, match="is not an id"):
            await session.write_report("../t1", "x")
        session.close()


async def test_a_transcript_is_exported_for_people(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        session = await lived(store)
        session.close()
        session, _ = await store.open_session(SESSION)
        transcript, _ = await session.reopen("a1")
        transcript.append_message(results(("c1", "```\nfenced\n```")))
        transcript.append_message(says("found it"))
        transcript.append_end(TaskState.COMPLETED, envelope())
        session.close()
        assert await store.export(SESSION, "a1") == MARKDOWN
        lines = (await store.export(SESSION, "a1", "json")).splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("[", "]", 12)


MARKDOWN = """\
# Explore: look around

Model `p/m` in `/w`

## Prompt

look

## Assistant

let me see

### Bash

<details><summary>Input</summary>

```json
{
  "command": "make",
  "n": [
    1,
    null
  ]
}
```

</details>

<details><summary>Result</summary>

````
```
fenced
```
````

</details>

## Assistant

found it

## Ended: completed

found it
"""
