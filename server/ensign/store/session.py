"""One session as its owner has it: claims it, makes and reopens transcripts, writes reports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from ensign.protocol.codec import decode, to_wire
from ensign.protocol.events import Event
from ensign.store.errors import StoreError
from ensign.store.head import FORMAT, Head
from ensign.store.inbox import Inbox
from ensign.store.index import Index
from ensign.store.journal import Journal, write_whole
from ensign.store.place import OwnedFence, Place, checked
from ensign.store.records import Loaded, Record, encode
from ensign.store.replay import Replay, replay
from ensign.store.rows import Fold
from ensign.store.transcript import Binding, Transcript


class SessionStore:
    """A session that this process owns, until `close` or death.

    Attributes:
        output_dir: where reports and spilled outputs go; None when nothing can be written (then reports are not).
    """

    def __init__(
        self, session_id: str, place: Place, fence: OwnedFence, *, index: Index, now: Callable[[], float]
    ) -> None:
        self.session_id = session_id
        self.output_dir: Path | None = place.output_dir(session_id)
        self._place = place
        self._fence = fence
        self._index = index
        self._now = now
        self._open: dict[str, Transcript] = {}
        self._mine: set[str] = set()
        self._spawned = spawns(place, session_id)

    @property
    def epoch(self) -> int:
        """The number of this claim; every later one is higher."""
        return self._fence.epoch

    def agents(self) -> list[str]:
        """Agents with a transcript, by id, oldest first."""
        return self._place.agents(self.session_id)

    def main_agent(self) -> str | None:
        """Return the session's main agent, None in a new session. Blocks."""
        heads = ((agent_id, self._place.read_head(self.session_id, agent_id)) for agent_id in self.agents())
        return next((agent_id for agent_id, head in heads if head and not head.get("spec")), None)

    def spawned(self, spawn_key: str) -> str | None:
        """Return the agent that was started for this call already, in this process or an earlier one (B7)."""
        return self._spawned.get(spawn_key)

    def create(self, head: Head) -> Transcript:
        """Begin an agent's transcript.

        Raises:
            StoreError: the agent has one, its spawn was carried out before, or the disk refuses.
        """
        if head.session_id != self.session_id:
            raise StoreError(f"agent {head.agent_id!r} is of session {head.session_id!r}, not {self.session_id!r}")
        if head.spec is not None and (before := self._spawned.get(head.spec.spawn_key)):
            raise StoreError(f"agent {before!r} was started by the same call, {head.spec.spawn_key!r}")
        first = Record(0, self.epoch, self._now(), "head", to_wire(head))
        journal = self._place.create(self.session_id, head.agent_id, encode(first), self._fence)
        if head.spec is not None:
            self._spawned[head.spec.spawn_key] = head.agent_id
        fold = Fold()
        self._index.put(fold.rows(first))
        return self._transcript(journal, head, fold, position=0, inbox=Inbox())

    async def reopen(self, agent_id: str) -> tuple[Transcript, Replay]:
        """Go on with an agent's transcript: what it came to, and where to append.

        Raises:
            UserError: there is no such agent.
            DamagedError: its first line cannot be read.
            StoreError: it is open already, of a later version, or the disk refuses.
        """
        return await asyncio.to_thread(self.reopen_blocking, agent_id)

    def reopen_blocking(self, agent_id: str) -> tuple[Transcript, Replay]:
        """`reopen`, for a thread that may wait."""
        if agent_id in self._open:
            raise StoreError(f"the transcript of {agent_id!r} is open already")
        loaded = self._place.read(self.session_id, agent_id)
        result = replay_of(self._place, self.session_id, loaded)
        if agent_id not in self._mine:
            self._fence.rise_above(loaded.records[-1].epoch)
        journal = self._place.reopen(self.session_id, agent_id, loaded, self._fence)
        fold = Fold()
        for record in loaded.records:
            fold.rows(record)
        last = loaded.records[-1].n
        transcript = self._transcript(journal, result.head, fold, position=last, inbox=result.inbox)
        transcript.append_claim()
        return transcript, result

    def read(self, agent_id: str) -> Replay:
        """Return what an agent's transcript came to, without going on with it. Blocks."""
        return replay_of(self._place, self.session_id, self._place.read(self.session_id, agent_id))

    def append_event(self, seq: int, event: Event) -> None:
        """Record an event in its agent's transcript or, when that is closed, in the main agent's."""
        transcript = self._open.get(event.agent_id) or next(
            (other for other in self._open.values() if other.head.spec is None), None
        )
        if transcript is None:
            raise StoreError(f"no transcript of session {self.session_id!r} is open")
        transcript.append_event(seq, event)

    async def write_report(self, task_id: str, text: str) -> str:
        """Put a task's report file in place and return its path; empty when nothing can be written."""
        if self.output_dir is None:
            return ""
        path = self.output_dir / f"{checked(task_id)}.md"
        data = text.encode("utf-8", "backslashreplace")
        await asyncio.to_thread(write_whole, path, data)
        return str(path)

    def close(self) -> None:
        """Close what is open and give the session up. Closing twice is nothing."""
        for transcript in list(self._open.values()):
            transcript.close()
        self._fence.release(clean=not self._index.behind)

    def _transcript(self, journal: Journal, head: Head, fold: Fold, *, position: int, inbox: Inbox) -> Transcript:
        def observe(record: Record) -> None:
            if rows := fold.rows(record):
                self._index.put(rows)

        def closed() -> None:
            self._open.pop(head.agent_id, None)

        binding = Binding(fence=self._fence, now=self._now, observe=observe, closed=closed)
        transcript = Transcript(journal, head, binding, position=position, inbox=inbox)
        self._open[head.agent_id] = transcript
        self._mine.add(head.agent_id)
        return transcript


def head_of(loaded: Loaded) -> Head:
    """Return the head of a transcript that was read.

    Raises:
        StoreError: a later version wrote it.
    """
    body = loaded.records[0].body
    if body.get("format", FORMAT) > FORMAT:
        raise StoreError(f"the transcript of {body.get('agentId')!r} was written by a later version of this program")
    return decode(Head, body, what="head")


def replay_of(place: Place, session_id: str, loaded: Loaded) -> Replay:
    """Fold a transcript that was read, with the conversation that a fork began with."""
    head = head_of(loaded)
    inherits = head.inherits
    if inherits is None:
        return replay(head, loaded)
    parent = place.read(session_id, inherits.agent_id)
    return replay(head, loaded, [record for record in parent.records if record.n <= inherits.n])


def spawns(place: Place, session_id: str) -> dict[str, str]:
    """Return agent ids by spawn key; a transcript that cannot be read has none to offer."""
    found: dict[str, str] = {}
    for agent_id in place.agents(session_id):
        if spec := place.read_head(session_id, agent_id).get("spec"):
            found[spec["spawnKey"]] = agent_id
    return found
