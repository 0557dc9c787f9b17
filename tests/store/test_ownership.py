"""A session has one owner; death frees it, and a later owner fences it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ensign.store.errors import FencedError, OwnedError, StoreError
from ensign.store.ownership import claim, owner_of
from tests.store.test_transcript import environment
from tests.store.values import MAIN, SESSION, head, opened, says, user

HOLD = """
import os, subprocess, sys
from pathlib import Path
from ensign.store.ownership import claim
held = claim(Path(sys.argv[1]))
command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
print(held.epoch, child.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_living_owner_is_named_and_death_frees_the_session_whatever_it_started(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        epoch, command = map(int, process.stdout.readline().split())
        with pytest.raises(OwnedError) as caught:
            claim(tmp_path)
        assert caught.value.pid == process.pid
        owner = owner_of(tmp_path)
        assert owner is not None
        assert (owner.pid, owner.held, owner.died) == (process.pid, True, False)
        # The command gets a second holder of its input, so that it outlives the owner.
        keep = os.open(f"/proc/{command}/fd/0", os.O_WRONLY)
        process.kill()
    os.kill(command, 0)
    owner = owner_of(tmp_path)
    assert owner is not None
    assert (owner.held, owner.died) == (False, True)
    held = claim(tmp_path)
    assert (held.epoch, held.died) == (epoch + 1, True)
    held.release(clean=True)
    os.kill(command, signal.SIGKILL)
    os.close(keep)


def test_each_claim_has_a_higher_epoch_and_a_clean_end_leaves_nothing_to_recover(tmp_path: Path) -> None:
    seen: list[tuple[int, bool]] = []
    for clean in (True, True, False, True):
        held = claim(tmp_path)
        seen.append((held.epoch, held.died))
        held.release(clean=clean)
        held.release(clean=clean)
    assert seen == [(1, False), (2, False), (3, False), (4, True)]


@pytest.mark.parametrize("data", [b"", b"\0" * 64, b"garbage", b"0000000000000000000\n{}"])
def test_a_lock_file_that_says_nothing_is_a_dead_owners(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    (tmp_path / "lock").write_bytes(data)
    held = claim(tmp_path)
    assert held.died
    held.release(clean=True)


async def test_a_frozen_owner_that_wakes_up_can_append_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / SESSION
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        transcript = session.create(head())
        transcript.append_message(user("one"))
        before = (folder / f"{MAIN}.jsonl").read_bytes()
        with (folder / "lock").open("r+b") as lock:
            lock.write(b"%020d\n" % (session.epoch + 1))
        for append in (
            lambda: transcript.append_message(says("late")),
            lambda: session.create(head("other")),
        ):
            with pytest.raises(FencedError):
                append()
        assert (folder / f"{MAIN}.jsonl").read_bytes() == before
        assert not (folder / "other.jsonl").exists()
        session.close()


async def test_a_lost_lock_file_fences_the_owner_and_never_lowers_the_epoch(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / SESSION
    async with opened(tmp_path) as (store, _):
        for text in ("one", "two"):
            session, _ = await store.open_session(SESSION)
            transcript = session.create(head()) if text == "one" else (await session.reopen(MAIN))[0]
            transcript.append_message(user(text))
            session.close()
        session, _ = await store.open_session(SESSION)
        transcript, _ = await session.reopen(MAIN)
        (folder / "lock").unlink()
        with pytest.raises(FencedError):
            transcript.append_message(user("late"))
        other, recovered = await store.open_session(SESSION)
        assert recovered is not None
        transcript, found = await other.reopen(MAIN)
        assert (other.epoch, found.history) == (4, [user("one"), user("two")])
        transcript.append_message(user("three"))
        other.close()
        found = await store.read(SESSION, MAIN)
        assert (found.history, found.notices) == ([user("one"), user("two"), user("three")], ())
        session.close()


async def test_a_session_is_open_once_and_an_agent_in_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        with pytest.raises(OwnedError, match=str(os.getpid())):
            await store.open_session(SESSION)
        session.create(head())
        with pytest.raises(StoreError, match="open already"):
            await session.reopen(MAIN)
        with pytest.raises(StoreError, match="exists already"):
            session.create(head())
        session.close()


async def test_an_open_session_is_neither_deleted_nor_renamed_from_elsewhere(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        session.create(head())
        with pytest.raises(OwnedError):
            await store.delete(SESSION)
        with pytest.raises(OwnedError):
            await store.rename(SESSION, "x")
        session.close()
        await store.delete(SESSION)
    assert list((tmp_path / "sessions").iterdir()) == []
