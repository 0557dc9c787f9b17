"""A hundred ends to tell, whatever the parent is doing: each reaches it exactly once (N2)."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensign.protocol import events, wire
from ensign.protocol.messages import AssistantMessage, Usage, UserMessage
from ensign.tasks.task import Task
from ensign.testing.http_server import RecordedRequest
from ensign.testing.replies import Reply, calls
from tests.session.bench import Bench, bench
from tests.store.values import envelope, record, spec

MANY = 100
FULL = Usage(input=126_000)
"""A count by the provider, near the window of 128,000, that makes the next request compact."""
COMPACT = "The conversation has nearly filled your context window"

Doing = Literal["idle", "streaming", "in a tool", "cancelled", "compacting", "restarted"]


class Parent:
    """The main agent's model. Everything that it was ever told stays in `seen`."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.next: list[Reply] = []

    def __call__(self, request: RecordedRequest) -> Reply:
        body = request.body.decode()
        self.seen.update(re.findall(r"task-\d{3}", body))
        if COMPACT in str(request.json["messages"][-1]["content"]):
            return Reply(text="A summary that names nothing.")
        return self.next.pop(0) if self.next else Reply(text="noted")


class Process:
    """One process of the session; the ends of its tasks are made by hand, a hundred real ones being slow."""

    def __init__(self, built: Bench, parent: Parent) -> None:
        self.built = built
        self.parent = parent
        built.server.add(parent)

    def tell(self, numbers: Sequence[int]) -> None:
        session = self.built.api.sessions.get(self.built.session_id)
        for number in numbers:
            name = f"task-{number:03}"
            task = Task(record(name, f"agent-{number}"), spec(name), None, emit=session.emit, clock=lambda: 0.0)
            session.subagents.tell(task, envelope(name, f"agent-{number}"))

    async def hear(self, doing: Doing, numbers: Sequence[int]) -> None:
        """Have these ends come in while the parent does something."""
        gate = f"gate-{numbers[0]}"
        match doing:
            case "idle" | "restarted":
                self.tell(numbers)
            case "streaming" | "cancelled":
                self.parent.next.append(Reply(text="one two three", gate=gate, gate_at=2))
                await self.built.say("go")
                await self.built.server.reached(gate)
                self.tell(numbers)
                if doing == "cancelled":
                    await self.built.api.turn_cancel(wire.SessionRef(session_id=self.built.session_id))
            case "in a tool":
                self.parent.next += [calls(("Glob", {"pattern": "*"})), Reply(text="seen", gate=gate)]
                await self.built.say("go")
                await self.built.server.reached(gate)
                self.tell(numbers)
            case "compacting":
                self.parent.next.append(Reply(text="long " * 20_000, usage=FULL))
                await self.built.say("go")
                await self.built.until(events.MessageAdded, lambda e: isinstance(e.message, AssistantMessage))
                self.tell(numbers)
        self.built.server.release(gate)
        if doing != "restarted":
            await self.built.settle()

    def delivered(self) -> Counter[str]:
        """The notifications that joined the conversation in this process, by task."""
        told: Counter[str] = Counter()
        for event in self.built.events:
            match event:
                case events.MessageAdded(message=UserMessage(text=text)) if text.startswith("<task-notification>"):
                    told[json.loads(text.splitlines()[-2])["taskId"]] += 1
                case _:
                    pass
        return told


async def live(folder: Path, schedule: Sequence[Doing]) -> None:
    parent, told, session_id = Parent(), Counter[str](), None
    share = MANY // len(schedule)
    batches = [range(at * share, MANY if at == len(schedule) - 1 else (at + 1) * share) for at in range(len(schedule))]
    left = list(zip(schedule, batches, strict=True))
    ended = False
    while not ended:
        async with bench(folder / "w", home=folder / "home", open_session=False) as built:
            await built.open(session_id)
            session_id = built.session_id
            process = Process(built, parent)
            while left:
                doing, numbers = left.pop(0)
                await process.hear(doing, numbers)
                if doing == "restarted":
                    break
            else:
                assert isinstance(await built.turn("the end"), events.TurnEnded)
                await built.settle()
                ended = True
            await asyncio.sleep(0)
            told += process.delivered()
    assert told == Counter({f"task-{number:03}": 1 for number in range(MANY)})
    assert len(parent.seen) == MANY


DOINGS = st.sampled_from(["idle", "streaming", "in a tool", "cancelled", "compacting", "restarted"])


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(schedule=st.lists(DOINGS, min_size=1, max_size=5))
async def test_a_hundred_ends_are_each_told_once_whatever_the_parent_does(schedule: list[Doing]) -> None:
    with TemporaryDirectory() as folder:
        await live(Path(folder), schedule)


@pytest.mark.soak
@settings(max_examples=200, deadline=None)
@given(schedule=st.lists(DOINGS, min_size=1, max_size=8))
async def test_a_hundred_ends_are_each_told_once_over_many_schedules(schedule: list[Doing]) -> None:
    with TemporaryDirectory() as folder:
        await live(Path(folder), schedule)
