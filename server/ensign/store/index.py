"""The index over all transcripts, in SQLite: what lists, panels and sums are read from. Nothing is only here."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from ensign.protocol.codec import decode
from ensign.protocol.errors import UserError
from ensign.protocol.messages import Usage
from ensign.protocol.tasks import TaskRecord
from ensign.protocol.value import frozen
from ensign.store.database import Database, NewerError, corrupt, set_aside
from ensign.store.errors import StoreError
from ensign.store.rows import Row

T = TypeVar("T")

_GATHER_S = 0.1

# One place reads by session or all at once; a scan of some ten thousand short rows takes a few milliseconds.
SESSIONS = "SELECT * FROM sessions ORDER BY last_event_at DESC"
TASKS = "SELECT record FROM tasks WHERE session_id = ?1 OR ?1 IS NULL ORDER BY created_at, task_id"
USAGE = "SELECT * FROM usage WHERE session_id = ?1 OR ?1 IS NULL ORDER BY at, request_id"
NOTIFICATIONS = "SELECT * FROM notifications WHERE session_id = ?1 OR ?1 IS NULL ORDER BY created_at, notification_id"


@frozen
class SessionRow:
    """A session. Times are Unix seconds."""

    session_id: str
    title: str
    cwd: str
    created_at: float
    last_event_at: float


@frozen
class UsageRow:
    """One request (O2). `agent` is the definition's name, `fork` or `main`."""

    request_id: str
    session_id: str
    turn_id: str | None
    task_id: str | None
    agent: str
    model: str
    purpose: str
    usage: Usage
    first_token_s: float | None
    wall_s: float
    price_usd: float | None
    at: float


@frozen
class NotificationRow:
    """A notification to an agent; `delivered_at` is None while it waits."""

    notification_id: str
    session_id: str
    agent_id: str
    task_id: str
    created_at: float
    delivered_at: float | None


class Index:
    """Rows written behind, in a thread of its own, and read from there.

    `put` returns at once; what it was given is written together with what came meanwhile, and every read sees it. A
    missing or damaged file is filled from the transcripts; one of a later version is left alone, and this process
    keeps its rows in memory.

    Attributes:
        behind: rows were lost to a disk error, so the sessions that they belong to must be indexed again.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        everything: Callable[[], Iterator[Iterable[Row]]],
        report: Callable[[str], None],
        now: Callable[[], float],
    ) -> None:
        self._path = path
        self._everything = everything
        self._report = report
        self._now = now
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="index")
        self._closed = False
        self._database: Database | None = None
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, object], Row] = {}
        self._scheduled = False
        self._wanted = threading.Event()
        self.behind = False

    def put(self, rows: Iterable[Row]) -> None:
        """Have rows written; a later row of the same key replaces one that still waits."""
        with self._lock:
            for row in rows:
                self._waiting[row.key] = row
            if self._scheduled or not self._waiting:
                return
            self._scheduled = True
        self._thread.submit(self._write_soon)

    async def sessions(self) -> list[SessionRow]:
        """Return all sessions, the one with the latest event first."""
        return [
            SessionRow(session_id=id_, title=title, cwd=cwd, created_at=created, last_event_at=last)
            for id_, title, cwd, created, last in await self._read(lambda database: database.all(SESSIONS))
        ]

    async def tasks(self, session_id: str | None = None) -> list[TaskRecord]:
        """Return the tasks of a session, or all, oldest first."""
        rows = await self._read(lambda database: database.all(TASKS, (session_id,)))
        return [task for (record,) in rows if (task := self._task(record)) is not None]

    async def usage(self, session_id: str | None = None) -> list[UsageRow]:
        """Return the requests of a session, or all, oldest first."""
        rows = await self._read(lambda database: database.all(USAGE, (session_id,)))
        return [
            UsageRow(
                request_id=row[0],
                session_id=row[1],
                turn_id=row[2],
                task_id=row[3],
                agent=row[4],
                model=row[5],
                purpose=row[6],
                usage=Usage(input=row[7], output=row[8], cache_write=row[9], cache_read=row[10]),
                first_token_s=row[11],
                wall_s=row[12],
                price_usd=row[13],
                at=row[14],
            )
            for row in rows
        ]

    async def notifications(self, session_id: str | None = None) -> list[NotificationRow]:
        """Return the notifications of a session, or all, oldest first."""
        rows = await self._read(lambda database: database.all(NOTIFICATIONS, (session_id,)))
        return [
            NotificationRow(
                notification_id=row[0],
                session_id=row[1],
                agent_id=row[2],
                task_id=row[3],
                created_at=row[4],
                delivered_at=row[5],
            )
            for row in rows
        ]

    async def replace(self, session_id: str, rows: Callable[[], Iterable[Row]]) -> None:
        """Put these rows in place of all of a session's; none to forget it. `rows` is called in the index's thread."""

        def run(database: Database) -> None:
            found = list(rows())
            database.forget(session_id)
            database.put(found)

        await self._read(run)

    async def rebuild(self) -> None:
        """Fill every row in from the transcripts anew."""

        def run(database: Database) -> None:
            database.clear()
            self._fill(database)

        await self._read(run)

    async def close(self) -> None:
        """Write what waits and end the thread. Closing twice is nothing."""
        if self._closed:
            return
        self._closed = True

        def end() -> None:
            self._write()
            if self._database is not None:
                self._database.close()
                self._database = None

        self._wanted.set()
        await asyncio.get_running_loop().run_in_executor(self._thread, end)
        self._thread.shutdown(wait=True)

    async def _read(self, read: Callable[[Database], T]) -> T:
        def run() -> T:
            self._wanted.clear()
            self._write()
            try:
                return read(self._open())
            except sqlite3.DatabaseError as error:
                if not corrupt(error):
                    raise
                self._replace_damaged(error)
                return read(self._open())

        self._wanted.set()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, run)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"cannot use the index {str(self._path)!r}: {error}") from error

    # ---- in the thread ------------------------------------------------------------------------------------------

    def _write_soon(self) -> None:
        """Gather a little first, unless a reader waits: a thread that wakes for each row holds up the event loop."""
        self._wanted.wait(_GATHER_S)
        self._write()

    def _write(self) -> None:
        with self._lock:
            rows, self._waiting, self._scheduled = list(self._waiting.values()), {}, False
        if not rows:
            return
        try:
            self._open().put(rows)
        except (sqlite3.Error, OSError) as error:
            # Nothing is lost but rows: the transcripts have it all, and the next start reads them (`behind`).
            if isinstance(error, sqlite3.Error) and corrupt(error):
                self._replace_damaged(error)
                return
            if not self.behind:
                self._report(f"the index {str(self._path)!r} is not written: {error}")
            self.behind = True

    def _open(self) -> Database:
        if self._database is None:
            try:
                self._database = Database(self._path)
            except NewerError as error:
                self._report(f"{error}: {str(self._path)!r} is left as it is, and lists are read from the transcripts")
                self._database = Database(None)
            except sqlite3.DatabaseError as error:
                if not corrupt(error):
                    raise
                self._replace_damaged(error)
        assert self._database is not None
        if self._database.fresh:
            self._fill(self._database)
        return self._database

    def _replace_damaged(self, error: sqlite3.Error) -> None:
        if self._database is not None:
            self._database.close()
        if self._path is None:
            raise error
        kept = set_aside(self._path, self._now())
        self._report(
            f"the index was damaged ({error}); it is made anew from the transcripts, the old one is {str(kept)!r}"
        )
        self._database = Database(self._path)

    def _fill(self, database: Database) -> None:
        for rows in self._everything():
            database.put(rows)
        database.filled()

    def _task(self, record: str) -> TaskRecord | None:
        try:
            return decode(TaskRecord, json.loads(record), what="task")
        except UserError as error:
            self._report(f"a task of another version is not shown: {error}")
            return None
