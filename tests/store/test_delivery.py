"""Letters are delivered exactly once, whatever happens between their acceptance and their delivery (N2)."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ensign.protocol.errors import UserError
from ensign.protocol.messages import ToolMessage, UserMessage
from ensign.protocol.tasks import TaskState
from ensign.store.errors import StoreError
from ensign.store.inbox import Letter
from ensign.store.records import read
from ensign.store.session import SessionStore
from ensign.store.transcript import Transcript
from tests.store.values import MAIN, SESSION, envelope, head, left_behind, opened, says, spec, user


def letter(identifier: str) -> Letter:
    return Letter(message_id=identifier, what="notification", body={"taskId": f"t-{identifier}"})


async def test_a_letter_waits_until_a_message_names_it_also_over_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        main = session.create(head())
        assert [main.accept(letter(name)) for name in ("b", "a", "b")] == [True, True, False]
        main.append_message(UserMessage(text="news", origin="runtime", delivers=("b",)))
        session.close()
        session, _ = await store.open_session(SESSION)
        main, found = await session.reopen(MAIN)
        assert found.inbox.pending() == (letter("a"),)
        assert [main.accept(letter(name)) for name in ("b", "a")] == [False, False]
        with pytest.raises(StoreError, match="already in the conversation"):
            main.append_message(UserMessage(text="again", delivers=("b",)))
        main.append_message(ToolMessage(results=(), delivers=("a",)))
        main.append_delivered(["a", "withdrawn"])
        assert (main.inbox.pending(), main.accept(letter("withdrawn"))) == ((), False)
        rows = await store.index.notifications()
        session.close()
    assert {(row.notification_id, row.task_id, row.delivered_at is not None) for row in rows} == {
        ("b", "t-b", True),
        ("a", "t-a", True),
    }


@dataclass
class World:
    """A disk that is copied at each crash: what the next process finds is what the last one had written."""

    folder: Path
    lives: int = 0
    accepted: set[str] = field(default_factory=set[str])
    ended: set[str] = field(default_factory=set[str])

    @property
    def home(self) -> Path:
        return self.folder / str(self.lives)

    def crash(self, torn: int) -> None:
        before = self.home
        self.lives += 1
        left_behind(before / "sessions", self.home)
        path = self.home / "sessions" / SESSION / f"{MAIN}.jsonl"
        with path.open("ab") as file:
            file.write(b'{"n":99,"epoch":1,"at":1.0,"kind":"message"'[:torn])


def step(session: SessionStore, main: Transcript, world: World, do: str, n: int) -> None:
    """One thing that may happen while the parent lives."""
    match do:
        case "ready":
            for name in (f"n{n}", f"m{n}"):
                main.accept(letter(name))
                world.accepted.add(name)
        case "end":
            # A child ends, and the process dies before the parent's inbox has it, unless the next step delivers.
            if session.spawned(f"{SESSION}:t{n}") is None:
                child = session.create(head(f"a{n}", spec(f"t{n}", f"a{n}", background=True)))
                child.append_end(TaskState.COMPLETED, envelope(f"t{n}", f"a{n}"), notify=f"e{n}")
                child.close()
                world.ended.add(f"e{n}")
        case "spawn":
            if session.spawned(f"{SESSION}:t{n}") is None:
                session.create(head(f"a{n}", spec(f"t{n}", f"a{n}", background=True)))
        case "speak":
            main.append_message(says("hm"))
        case "compact":
            main.append_history([user("summary")])
        case _:
            waiting = [letter.message_id for letter in main.inbox.pending()][: n + 1]
            main.append_message(UserMessage(text="news", origin="runtime", delivers=tuple(waiting)))


async def live_once(world: World, steps: list[tuple[str, int]]) -> None:
    """One process's life: it goes on from the disk, and leaves it as it is."""
    async with opened(world.home) as (store, _):
        session, _ = await store.open_session(SESSION)
        try:
            main, _ = await session.reopen(MAIN)
        except UserError:
            main = session.create(head())
        for do, n in steps:
            step(session, main, world, do, n)
        # Copied while the session is still open: to the next life, its owner has died.
        world.crash(steps[-1][1] if steps else 0)
        session.close()


def deliveries(home: Path) -> Counter[str]:
    """Count what the transcript's messages deliver, compacted or not."""
    loaded = read((home / "sessions" / SESSION / f"{MAIN}.jsonl").read_bytes())
    messages = [record.body["message"] for record in loaded.records if record.kind == "message"]
    return Counter(name for message in messages for name in message.get("delivers", ()))


lives = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["ready", "end", "spawn", "speak", "compact", "deliver"]), st.integers(0, 30)),
        max_size=12,
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@given(lives=lives)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_under_any_schedule_of_lives_and_deaths_each_letter_is_delivered_once(
    lives: list[list[tuple[str, int]]],
) -> None:
    async def run(world: World) -> None:
        for steps in lives:
            await live_once(world, steps)
        await live_once(world, [("deliver", 1000)])

    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        asyncio.run(run(world))
        found = deliveries(world.home)
        interrupted = {name for name in found if name not in world.accepted | world.ended}
        assert found == Counter(world.accepted | world.ended | interrupted)
        # Each run that never ended of itself was ended once, and its parent told once.
        assert len(interrupted) + len(world.ended) == len(list((world.home / "sessions" / SESSION).glob("a*.jsonl")))


@pytest.mark.slow
async def test_a_hundred_letters_ready_at_once_are_delivered_once_each(tmp_path: Path) -> None:
    world = World(tmp_path)
    half = [("ready", n) for n in range(50)]
    await live_once(world, [*half, ("speak", 0), ("deliver", 30), ("compact", 7)])
    await live_once(world, [*half, ("deliver", 30), ("ready", 99), ("compact", 0)])
    await live_once(world, [("deliver", 1000)])
    assert deliveries(world.home) == Counter(world.accepted)
    assert len(world.accepted) == 102
