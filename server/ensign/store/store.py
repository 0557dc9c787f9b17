"""The store: sessions, their transcripts and the index over them. What `session/` and `tasks/` hold of the disk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from ensign.protocol.errors import UserError
from ensign.protocol.wire import SessionInfo
from ensign.store.disk import Disk
from ensign.store.errors import OwnedError, StoreError
from ensign.store.export import as_json, as_markdown
from ensign.store.index import Index
from ensign.store.memory import Memory
from ensign.store.ownership import Owner
from ensign.store.place import Place
from ensign.store.recovery import Recovered, recover_session
from ensign.store.replay import Replay
from ensign.store.rows import Fold, Row
from ensign.store.session import SessionStore, head_of, replay_of
from ensign.store.trace import as_trace


class Store:
    """Everything that outlives a session, under ENSIGN_HOME.

    Where nothing can be written there, it works in memory and says so once. Nothing is ever deleted unasked.

    Attributes:
        index: lists and sums over all sessions, tasks and requests.
    """

    def __init__(self, home: Path, *, report: Callable[[str], None], now: Callable[[], float] = time.time) -> None:
        """Open the store; the index opens at its first use.

        `report` is told what a person should know, in a sentence, from any thread; `now` returns Unix seconds.
        """
        # Transcripts keep milliseconds; live rows and rebuilt ones must be the same.
        self._now = lambda: round(now(), 3)
        try:
            self._place: Place = Disk(home, now)
        except StoreError as error:
            report(f"{error}; sessions are kept in memory and are gone when the server ends")
            self._place = Memory()
        place = self._place
        self.index = Index(place.database, everything=lambda: every_row(place), report=report, now=now)

    async def open_session(self, session_id: str) -> tuple[SessionStore, Recovered | None]:
        """Become a session's owner; a new id is a new session.

        Returns:
            The session and, when its last owner died, what was found.

        Raises:
            OwnedError: a living process owns it.
            StoreError: the disk refuses.
        """
        return await self._claim(session_id, "open")

    async def recover(self) -> list[Recovered]:
        """Bring every session whose owner died to order; call it once at the start. What it returns is told once."""
        found: list[Recovered] = []
        for session_id in await asyncio.to_thread(self._dead):
            try:
                session, recovered = await self._claim(session_id, "recovering")
            except OwnedError:
                continue  # Another window was quicker.
            await asyncio.to_thread(session.close)
            if recovered is not None:
                found.append(recovered)
        return found

    async def catch_up(self) -> None:
        """Make the index say what the transcripts of dead owners do; their last rows may not have reached it.

        For who only looks: the next owner does it too, and what `recover` brought to order needs it no more.
        """
        for session_id in await asyncio.to_thread(self._dead):
            await self.index.replace(session_id, partial(session_rows, self._place, session_id))

    async def sessions(self) -> list[SessionInfo]:
        """Return all sessions, the latest first."""
        rows = await self.index.sessions()
        owners = await asyncio.to_thread(lambda: [self._place.owner(row.session_id) for row in rows])
        return [
            SessionInfo(
                session_id=row.session_id,
                title=row.title,
                cwd=row.cwd,
                created_at=row.created_at,
                last_event_at=row.last_event_at,
                open=owner is not None and owner.held,
            )
            for row, owner in zip(rows, owners, strict=True)
        ]

    async def owner(self, session_id: str) -> Owner | None:
        """Return who owns a session, or did last; None when it never had an owner."""
        return await asyncio.to_thread(self._place.owner, session_id)

    async def agents(self, session_id: str) -> list[str]:
        """Return the agents of a session, oldest first."""
        return await asyncio.to_thread(self._place.agents, session_id)

    async def read(self, session_id: str, agent_id: str) -> Replay:
        """Return what a transcript came to, whoever owns its session."""
        return await asyncio.to_thread(
            lambda: replay_of(self._place, session_id, self._place.read(session_id, agent_id))
        )

    async def export(self, session_id: str, agent_id: str, form: Literal["markdown", "json"] = "markdown") -> str:
        """Return a transcript for people, whoever owns its session."""

        def run() -> str:
            loaded = self._place.read(session_id, agent_id)
            return as_json(loaded) if form == "json" else as_markdown(head_of(loaded), loaded)

        return await asyncio.to_thread(run)

    async def trace(self, session_id: str, agent_ids: Sequence[str]) -> str:
        """Return what these agents did over time, for Perfetto or Chrome."""

        def run() -> str:
            return as_trace([self._place.read(session_id, agent_id) for agent_id in agent_ids])

        return await asyncio.to_thread(run)

    async def main_agent(self, session_id: str) -> str:
        """Return the main agent of a session.

        Raises:
            UserError: there is no such session.
        """
        main = await asyncio.to_thread(self._main, session_id)
        if main is None:
            raise UserError(f"there is no session {session_id!r}")
        return main

    async def rename(self, session_id: str, title: str) -> None:
        """Name a session that is not open; an open one is named through its main agent's transcript.

        Raises:
            OwnedError: it is open.
            UserError: there is none.
        """
        main = await self.main_agent(session_id)
        session, _ = await self._claim(session_id, "recovering")
        try:
            transcript, _ = await session.reopen(main)
            transcript.append_title(title)
        finally:
            await asyncio.to_thread(session.close)

    async def delete(self, session_id: str) -> None:
        """Remove a session for good, because a person said so.

        Raises:
            OwnedError: it is open.
            UserError: there is none.
        """
        await asyncio.to_thread(self._place.delete, session_id)
        await self.index.replace(session_id, lambda: ())

    async def close(self) -> None:
        """Write what the index still holds. Sessions are closed by who opened them, before."""
        await self.index.close()

    async def _claim(
        self, session_id: str, state: Literal["open", "recovering"]
    ) -> tuple[SessionStore, Recovered | None]:
        def run() -> tuple[SessionStore, Recovered | None]:
            fence = self._place.claim(session_id, state)
            try:
                session = SessionStore(session_id, self._place, fence, index=self.index, now=self._now)
                removed = self._place.tidy(session_id)
                return session, recover_session(session, removed) if fence.died else None
            except BaseException:
                fence.release(clean=False)
                raise

        session, recovered = await asyncio.to_thread(run)
        if recovered is not None:
            # What its owner had not yet put into the index when it died.
            await self.index.replace(session_id, partial(session_rows, self._place, session_id))
        return session, recovered

    def _main(self, session_id: str) -> str | None:
        heads = ((agent_id, self._place.read_head(session_id, agent_id)) for agent_id in self._place.agents(session_id))
        return next((agent_id for agent_id, head in heads if head and not head.get("spec")), None)

    def _dead(self) -> list[str]:
        owners = ((session_id, self._place.owner(session_id)) for session_id in self._place.sessions())
        return [session_id for session_id, owner in owners if owner is None or owner.died]


def session_rows(place: Place, session_id: str) -> list[Row]:
    """Return the rows of a session as its transcripts have them, the last of each key."""
    rows: dict[tuple[str, object], Row] = {}
    for agent_id in place.agents(session_id):
        try:
            loaded = place.read(session_id, agent_id)
        except UserError:
            continue  # Recovery reports it; the other agents' rows do not depend on it.
        fold = Fold()
        for record in loaded.records:
            rows.update((row.key, row) for row in fold.rows(record))
    return list(rows.values())


def every_row(place: Place) -> Iterator[list[Row]]:
    """Yield the rows of each session in turn."""
    for session_id in place.sessions():
        yield session_rows(place, session_id)
