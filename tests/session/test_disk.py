"""A disk that refuses: said clearly, earlier records whole, and the session goes on as far as it can (B7)."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ensign.protocol import events, wire
from ensign.store.errors import StoreError
from ensign.store.store import Store
from ensign.testing.replies import Reply, calls
from tests.session.bench import CHILD, bench, delegate
from tests.store.test_repair import assert_sendable


@contextmanager
def full_disk(transcript: Path) -> Iterator[None]:
    """Let no file of this process grow beyond the size of the transcript, as on a disk without room (EFBIG)."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (transcript.stat().st_size + 10, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def transcript_of(home: Path, session_id: str) -> Path:
    (path,) = (home / "ensign" / "sessions" / session_id).glob("*.jsonl")
    return path


async def test_a_full_disk_refuses_a_prompt_and_takes_it_once_there_is_room(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with bench(tmp_path / "w", Reply(text="one"), Reply(text="two"), home=home) as built:
        await built.turn("first")
        with full_disk(transcript_of(home, built.session_id)), pytest.raises(StoreError, match="cannot write"):
            await built.say("second")
        await built.turn("third")
        assert [one.json["messages"][-1]["content"] for one in built.server.requests] == ["first", "third"]


async def test_a_disk_that_fills_up_in_a_turn_ends_the_turn_with_the_reason_and_the_next_one_works(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with bench(tmp_path / "w", Reply(text="lost", gate="reply"), Reply(text="kept"), home=home) as built:
        await built.say("first")
        await built.server.reached("reply")
        with full_disk(transcript_of(home, built.session_id)):
            built.server.release("reply")
            failed = await built.until(events.TurnFailed)
        assert "cannot write" in failed.message
        await built.turn("second")
        session_id = built.session_id
        history = Store(home / "ensign", report=lambda _: None)
        found = await history.read(session_id, (await history.agents(session_id))[0])
        await history.close()
        assert_sendable(found.history)
        assert found.notices == ()


async def test_a_subagent_on_a_full_disk_fails_alone_and_its_parent_is_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    launch = calls(delegate("Explore", run_in_background=True))
    async with bench(tmp_path / "w", launch, Reply(text="ok"), Reply(text="I see"), home=home) as built:
        built.server.route(CHILD, Reply(text="report", gate="child"))
        await built.turn("go")
        await built.server.reached("child")
        sizes = {
            path.stat().st_size: path for path in (home / "ensign" / "sessions" / built.session_id).glob("*.jsonl")
        }
        with full_disk(sizes[max(sizes)]):
            built.server.release("child")
            ended = await built.until(events.TaskChanged, lambda e: e.record.state.terminal)
        assert ended.record.envelope is not None
        await built.settle()


async def test_where_nothing_can_be_written_a_session_works_and_says_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "ensign").mkdir()
    (home / "ensign" / "sessions").write_text("a file where the folder should be")
    root = tmp_path / "w"
    async with bench(root, calls(delegate("Explore")), Reply(text="done"), home=home, open_session=False) as built:
        opened = await built.open()
        built.server.route(CHILD, Reply(text="report"))
        ended = await built.turn("go")
        assert isinstance(ended, events.TurnEnded)
        (said,) = [entry.event for entry in opened.snapshot.entries if isinstance(entry.event, events.Notice)]
        assert "and nothing is remembered" in said.text
        listed = await built.api.session_list(wire.Empty())
        assert [one.session_id for one in listed.sessions] == [built.session_id]
