"""All tasks of this home, whichever process owns them: found, and acted on where they live (B10)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ensign.protocol.errors import UserError
from ensign.protocol.tasks import TaskRecord, TaskState
from ensign.session.remote import ask
from ensign.store.store import Store

Form = Literal["markdown", "json", "trace"]

GONE = "the process it ran in is gone"


class Everywhere:
    """Reads the index and the owners' locks; changes nothing by itself."""

    def __init__(self, store: Store, sockets: Path) -> None:
        self._store = store
        self._sockets = sockets

    async def tasks(self) -> list[TaskRecord]:
        """Every task, the oldest first; what still runs by the record of a dead process is shown as interrupted."""
        await self._store.catch_up()
        records = await self._store.index.tasks()
        live = {one.session_id: await self.owned(one.session_id) for one in records if not one.state.terminal}
        return [one if one.state.terminal or live[one.session_id] else interrupted(one) for one in records]

    async def find(self, identifier: str) -> TaskRecord:
        """Return the task with this id, short id or name; of a name that was used again, the latest.

        Raises:
            UserError: there is none, or a short id is that of several.
        """
        records = await self.tasks()
        if found := [one for one in records if one.id == identifier]:
            return found[0]
        short = [one for one in records if one.short_id == identifier]
        if len(short) > 1:
            ids = ", ".join(one.id for one in short)
            raise UserError(f"several tasks have the short id {identifier!r}: {ids}")
        named = [one for one in records if one.name == identifier]
        if not (short or named):
            raise UserError(f"there is no task {identifier!r}; `ensign tasks` lists them")
        return (short or named)[-1]

    async def owned(self, session_id: str) -> bool:
        """Whether a living process owns a session."""
        owner = await self._store.owner(session_id)
        return owner is not None and owner.held

    async def ask(self, session_id: str, method: str, params: object) -> Any:
        """Ask a session's owner.

        Raises:
            UserError: it refused, or cannot be reached.
        """
        return await ask(self._sockets, session_id, method, params)

    async def export(self, identifier: str, form: Form) -> str:
        """Return a task's transcript, or a session's: that of its main agent, as a trace those of all its agents.

        Raises:
            UserError: there is neither a task nor a session of this id.
        """
        await self._store.catch_up()
        sessions = {row.session_id for row in await self._store.index.sessions()}
        if identifier in sessions:
            agents = await self._store.agents(identifier)
            session_id, chosen = identifier, [await self._store.main_agent(identifier)] if form != "trace" else agents
        else:
            record = await self.find(identifier)
            session_id, chosen = record.session_id, [record.agent_id]
        if form == "trace":
            return await self._store.trace(session_id, chosen)
        return await self._store.export(session_id, chosen[0], form)


def interrupted(record: TaskRecord) -> TaskRecord:
    """The record as the next owner will find it."""
    return replace(
        record,
        state=TaskState.INTERRUPTED,
        reason=GONE,
        activity="",
        waiting_for=None,
        waiting_since=None,
        resumable=True,
    )
