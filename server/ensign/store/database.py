"""`ensign.db`: its schema and its one connection, used by the index's thread alone."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ensign.store.errors import StoreError
from ensign.store.rows import Row

BUSY_S = 5.0
"""Other windows and the command line write the same file; a commit takes well under a millisecond."""

MIGRATIONS = (
    """
    CREATE TABLE IF NOT EXISTS sessions (
        session_id TEXT PRIMARY KEY, title TEXT NOT NULL, cwd TEXT NOT NULL,
        created_at REAL NOT NULL, last_event_at REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS tasks (
        task_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, state TEXT NOT NULL,
        created_at REAL NOT NULL, record TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS usage (
        request_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, turn_id TEXT, task_id TEXT,
        agent TEXT NOT NULL, model TEXT NOT NULL, purpose TEXT NOT NULL,
        input INTEGER NOT NULL, output INTEGER NOT NULL, cache_write INTEGER NOT NULL, cache_read INTEGER NOT NULL,
        first_token_s REAL, wall_s REAL NOT NULL, price_usd REAL, at REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS notifications (
        notification_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, agent_id TEXT NOT NULL, task_id TEXT NOT NULL,
        created_at REAL NOT NULL, delivered_at REAL
    ) WITHOUT ROWID;
    """,
)
"""Script `i` leads from `user_version` i to i + 1. Rows can be had from the transcripts again, so a script may drop."""

_REPLACE = {
    "sessions": "REPLACE INTO sessions VALUES (?,?,?,?,?)",
    "tasks": "REPLACE INTO tasks VALUES (?,?,?,?,?)",
    "usage": "REPLACE INTO usage VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "notifications": "REPLACE INTO notifications VALUES (?,?,?,?,?,?)",
}
_FORGET = (
    "DELETE FROM sessions WHERE session_id = ?1 OR ?1 IS NULL",
    "DELETE FROM tasks WHERE session_id = ?1 OR ?1 IS NULL",
    "DELETE FROM usage WHERE session_id = ?1 OR ?1 IS NULL",
    "DELETE FROM notifications WHERE session_id = ?1 OR ?1 IS NULL",
)


class NewerError(StoreError):
    """The file was written by a later version of the program."""


class Database:
    """A connection with the schema of today. Every method may raise `sqlite3.Error`."""

    def __init__(self, path: Path | None) -> None:
        if path is not None:
            # SQLite makes the file by the umask alone, and its journal files like it.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._connection = sqlite3.connect(path or ":memory:", timeout=BUSY_S, isolation_level=None)
        try:
            self.fresh = self._migrate()
        except BaseException:
            self._connection.close()
            raise

    def _migrate(self) -> bool:
        """Bring the schema to today's; True when the rows must be filled in."""
        version = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(MIGRATIONS):
            raise NewerError(f"the index has version {version}, this program knows {len(MIGRATIONS)}")
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        for script in MIGRATIONS[version:]:
            self._connection.executescript(f"BEGIN IMMEDIATE; {script} COMMIT;")
        return version < len(MIGRATIONS)

    def filled(self) -> None:
        """Note that the rows of all transcripts are in; until then every opening fills them in again."""
        self._connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        self.fresh = False

    def clear(self) -> None:
        """Drop all rows; should the filling in that follows not come to its end, the next opening makes up for it."""
        with self._transaction():
            self._connection.execute("PRAGMA user_version = 0")
            for statement in _FORGET:
                self._connection.execute(statement, (None,))

    def put(self, rows: Iterable[Row]) -> None:
        """Write rows in one transaction, each in place of the one with its key."""
        with self._transaction():
            for row in rows:
                values = [json.dumps(value) if isinstance(value, dict) else value for value in row.values]
                self._connection.execute(_REPLACE[row.table], values)

    def forget(self, session_id: str) -> None:
        """Drop a session's rows."""
        with self._transaction():
            for statement in _FORGET:
                self._connection.execute(statement, (session_id,))

    def all(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._connection.execute(query, values).fetchall()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


def corrupt(error: sqlite3.Error) -> bool:
    """Whether an error means that the file's contents are bad, not that it is busy or the disk full."""
    return type(error) is sqlite3.DatabaseError


def set_aside(path: Path, at: float) -> Path:
    """Move a bad database out of the way, with its journal files, and return where it is now."""
    kept = path.with_name(f"{path.name}.damaged-{int(at)}")
    path.replace(kept)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return kept
