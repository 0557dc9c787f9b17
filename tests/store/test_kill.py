"""`kill -9` at random moments, over and over: nothing acknowledged is lost, nothing is delivered twice."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest

from ensign.protocol.messages import UserMessage
from ensign.protocol.tasks import TaskState
from ensign.store.ownership import owner_of
from ensign.store.store import Store
from tests.store.test_repair import assert_sendable
from tests.store.test_transcript import environment
from tests.store.values import MAIN, SESSION, opened


def kill_after(home: Path, lines: int, die: random.Random) -> list[str]:
    """Let a worker live until it has acknowledged so much, and a random number of busy steps more."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.store.worker", str(home)], stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines)]
        for _ in range(die.randrange(20_000)):
            pass
        process.kill()
        said += process.stdout.readlines()
    # A line without its end was being written: it acknowledges nothing.
    return [line.strip() for line in said if line.endswith("\n")]


async def check(store: Store, acknowledged: Iterable[str]) -> None:
    """Compare what is on disk with what was acknowledged."""
    found = await store.read(SESSION, MAIN)
    assert_sendable(found.history)
    messages = [message for message in found.history if isinstance(message, UserMessage)]
    said = Counter(message.text for message in messages)
    delivered = Counter(chain.from_iterable(message.delivers for message in messages))
    waiting = {letter.message_id for letter in found.inbox.pending()}
    assert max(delivered.values(), default=1) == 1
    assert waiting & set(delivered) == set()
    for line in acknowledged:
        what, _, identifier = line.partition(" ")
        match what:
            case "said":
                assert said[identifier] == 1
            case "accepted" | "ended":
                assert identifier in waiting or identifier in delivered
            case "delivered":
                assert identifier in delivered
            case _:
                pytest.fail(line)


async def kill_loop(home: Path, runs: int, seed: int) -> None:
    die = random.Random(seed)  # noqa: S311 - moments, not secrets
    acknowledged: list[str] = []
    for _ in range(runs):
        acknowledged += kill_after(home, die.randrange(1, 60), die)
        folder = home / "sessions" / SESSION
        owner = owner_of(folder)
        assert owner is not None
        assert owner.died
        async with opened(home) as (store, said):
            assert [found.session_id for found in await store.recover()] == [SESSION]
            assert await store.recover() == []
            await check(store, acknowledged)
            states = [
                (await store.read(SESSION, agent)).state for agent in await store.agents(SESSION) if agent != MAIN
            ]
            assert TaskState.RUNNING not in states
            indexed = [await store.index.sessions(), await store.index.tasks(), await store.index.notifications()]
            await store.index.rebuild()
            rebuilt = [await store.index.sessions(), await store.index.tasks(), await store.index.notifications()]
            assert indexed == rebuilt
            assert said == []
        assert [path.name for path in folder.rglob("*") if path.suffix == ".tmp"] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
async def test_twenty_kills_lose_nothing_and_double_nothing(tmp_path: Path, seed: int) -> None:
    await kill_loop(tmp_path, 5, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4, 34))
async def test_three_hundred_kills_lose_nothing_and_double_nothing(tmp_path: Path, seed: int) -> None:
    await kill_loop(tmp_path, 10, seed)
