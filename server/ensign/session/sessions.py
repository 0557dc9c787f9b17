"""The sessions of a server: opened, found, listed, closed; and one stream of all their events."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from ensign.protocol.errors import UserError
from ensign.protocol.events import Event, Notice
from ensign.protocol.ids import new_id
from ensign.protocol.messages import UserMessage
from ensign.protocol.wire import SessionInfo
from ensign.session.records import Records
from ensign.session.restore import restore_inbox, restore_tasks, resume_after_reload
from ensign.session.services import Services
from ensign.session.session import Session
from ensign.session.worktrees import report_leftovers
from ensign.store.recovery import Recovered
from ensign.store.session import SessionStore
from ensign.tasks.summaries import keep_summarizing
from ensign.tasks.task import Task

OnEvent = Callable[[str, int, Event], None]


class Attendant(Protocol):
    """Is told when this process becomes a session's owner, and when it is about to give it up."""

    async def opened(self, session_id: str) -> None:
        """The session is open here."""
        ...

    async def closing(self, session_id: str) -> None:
        """The session will be closed."""
        ...

    async def closed(self, session_id: str) -> None:
        """The session is closed, and everything in it has ended."""
        ...


class Sessions:
    """Every open session by id."""

    def __init__(self, services: Services, fallback_output: Path, said: deque[str]) -> None:
        """`said`: what people should know and no session has told them yet; the next one that opens does."""
        self._services = services
        self._said = said
        self._fallback = fallback_output
        self._open: dict[str, Session] = {}
        self._readers: list[OnEvent] = []
        self._answers = False
        self._watched: dict[str, asyncio.Task[None]] = {}
        self._recovering: asyncio.Task[object] | None = None
        self._tidying: asyncio.Task[None] | None = None
        self._attendants: list[Attendant] = []

    def attend(self, attendant: Attendant) -> None:
        """Tell `attendant` of sessions that are opened and closed from now on."""
        self._attendants.append(attendant)

    def subscribe(self, reader: OnEvent) -> Callable[[], None]:
        """Hand every event of every session to `reader`; the returned function ends that."""
        self._readers.append(reader)
        return lambda: self._readers.remove(reader)

    def watch(self, task_ids: Iterable[str]) -> None:
        """Keep summaries of these tasks, and of no others (X4)."""
        wanted = {
            task.id: task for session in self._open.values() for task in map(session.manager.find, task_ids) if task
        }
        for task_id in self._watched.keys() - wanted.keys():
            self._watched.pop(task_id).cancel()
        for task_id, task in wanted.items():
            running = self._watched.get(task_id)
            if running is None or running.done():
                interval_s = self._services.settings().subagents.summary_seconds
                self._watched[task_id] = asyncio.create_task(keep_summarizing(task, interval_s))

    def definitions_changed(self) -> None:
        """Agent files have changed; main agents are told at their next step."""
        for session in self._open.values():
            session.definitions_changed()

    async def settings_changed(self) -> None:
        """Settings have changed: models are resolved anew, servers that are new are started and others ended."""
        for session in self._open.values():
            session.settings_changed()
            await session.remote.start()

    def can_answer(self, answers: bool) -> None:
        """Say whether somebody is there who could answer a question (P7)."""
        self._answers = answers
        for session in self._open.values():
            session.approvals.channel = answers

    def all(self) -> tuple[Session, ...]:
        """The open sessions, oldest first."""
        return tuple(self._open.values())

    def get(self, session_id: str) -> Session:
        """Return an open session.

        Raises:
            UserError: none with this id is open.
        """
        session = self._open.get(session_id)
        if session is None:
            raise UserError(f"no session {session_id!r} is open; open it with ensign/session/open")
        return session

    def task(self, identifier: str) -> tuple[Session, Task]:
        """Return a task of any open session, by id, name or short id.

        Raises:
            UserError: there is none.
        """
        for session in self._open.values():
            task = session.manager.find(identifier)
            if task is not None:
                return session, task
        raise UserError(f"there is no task {identifier!r} in the open sessions")

    async def open(self, cwd: Path, session_id: str | None = None, model: str | None = None) -> Session:
        """Open a stored session, or a new one; one that is open already is returned as it is.

        Raises:
            UserError: `cwd` is no folder, or the session belongs to another process.
        """
        if session_id is not None and session_id in self._open:
            return self._open[session_id]
        if not cwd.is_dir():
            raise UserError(f"{str(cwd)!r} is not a folder")
        store, recovered = await self._services.store.open_session(session_id or new_id())
        try:
            session = await self._begin(store, recovered, cwd, model)
        except BaseException:
            store.close()
            raise
        self._open[session.id] = session
        if self._recovering is None:
            # Other sessions whose process died are brought to order once, when nobody waits for it any more.
            self._recovering = asyncio.create_task(self._services.store.recover(), name="recover")
            self._tidying = asyncio.create_task(report_leftovers(session), name="left worktrees")
        for attendant in self._attendants:
            await attendant.opened(session.id)
        return session

    async def _begin(self, store: SessionStore, recovered: Recovered | None, cwd: Path, model: str | None) -> Session:
        main_id = store.main_agent()
        main = await store.reopen(main_id) if main_id is not None else None
        records = Records(store, self._fallback, main)
        session = Session(self._services.at(cwd), records, cwd, created_at=self._services.clock())
        session.approvals.channel = self._answers
        await session.begin(model)
        session.log.read(lambda seq, event: self._publish(session.id, seq, event))
        if main is not None:
            session.log.seq = await restore_tasks(session, store)
            restore_inbox(session, main[1])
        if recovered is not None:
            self._tell(session, recovered)
        else:
            resume_after_reload(session)
        while self._said:
            session.emit(Notice(**session.main.who, level="warning", text=self._said.popleft()))
        return session

    def _tell(self, session: Session, recovered: Recovered) -> None:
        """Say once what a crash left behind."""
        texts = list(recovered.notices)
        if recovered.open_turn:
            texts.append("The server ended in the middle of a turn; what had been said up to then is here.")
        if recovered.interrupted:
            count = len(recovered.interrupted)
            texts.append(f"{count} task{'s were' if count > 1 else ' was'} interrupted and can be resumed.")
        for text in texts:
            session.emit(Notice(**session.main.who, level="warning", text=text))

    def _publish(self, session_id: str, seq: int, event: Event) -> None:
        for reader in tuple(self._readers):
            reader(session_id, seq, event)

    async def list(self) -> tuple[SessionInfo, ...]:
        """All stored sessions, the latest first."""
        return tuple(await self._services.store.sessions())

    async def rename(self, session_id: str, title: str) -> None:
        """Name a session, open or not."""
        if session_id in self._open:
            self._open[session_id].rename(title)
        else:
            await self._services.store.rename(session_id, title)

    async def delete(self, session_id: str) -> None:
        """Remove a session for good, because a person said so."""
        await self.close(session_id, "its session was deleted")
        await self._services.store.delete(session_id)

    async def close(self, session_id: str, reason: str) -> None:
        """Close a session if it is open; what runs in it is interrupted."""
        session = self._open.pop(session_id, None)
        if session is None:
            return
        for attendant in self._attendants:
            await attendant.closing(session_id)
        await session.close(reason)
        for attendant in self._attendants:
            await attendant.closed(session_id)

    async def close_all(self, reason: str) -> None:
        """Close every session; used at the end of the server."""
        self.watch(())
        if under_way := {task for task in (self._recovering, self._tidying) if task is not None}:
            await asyncio.wait(under_way)
        for session_id in list(self._open):
            await self.close(session_id, reason)


def go_on(text: str) -> UserMessage | None:
    """A person's message to a task that is resumed; blank means none."""
    return UserMessage(text=text) if text.strip() else None
