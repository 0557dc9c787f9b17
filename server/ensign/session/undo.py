"""`task/undo` and `task/before`: a task's changes shown and taken back, from what was kept of the files (0062)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ensign.protocol.errors import UserError
from ensign.protocol.undo import FileBefore, NotUndone, TaskUndone
from ensign.session.session import Session
from ensign.tasks.task import Task
from ensign.workspace import textfile
from ensign.workspace.history import Changed
from ensign.workspace.undo import undo


async def undo_task(session: Session, task: Task) -> TaskUndone:
    """Put the files of an ended task back as they were.

    Raises:
        UserError: it runs, or nothing of its changes was kept.
    """
    if not task.record.state.terminal:
        raise UserError(f"params.id: {task.record.short_id} is {task.record.state.value}; stop it first")
    changes = await _changes(session, task)
    if not changes:
        raise UserError(
            f"params.id: {task.record.short_id} has changed no files that are known; commands cannot be undone"
        )
    done = await undo(changes, session.services.registry, f"Undo changes of {task.record.agent}")
    return TaskUndone(
        undone=tuple(map(str, done.undone)),
        refused=tuple(NotUndone(path=str(path), reason=reason) for path, reason in done.refused),
        commands=task.record.envelope.facts.commands_total if task.record.envelope is not None else 0,
    )


async def text_before(session: Session, task: Task, path: str) -> FileBefore:
    """Return what a file held before the task, for a diff.

    Raises:
        UserError: the task did not change it, or its text was not kept.
    """
    found = next((one for one in await _changes(session, task) if one.path == Path(path)), None)
    if found is None or not found.kept:
        raise UserError(f"params.path: what {path!r} held before {task.record.short_id} was not kept")
    return FileBefore(text=None if found.before is None else textfile.showable(textfile.decode(found.before)[0]))


async def _changes(session: Session, task: Task) -> list[Changed]:
    history = session.records.history(task.record.agent_id)
    return [] if history is None else await asyncio.to_thread(history.changes)
