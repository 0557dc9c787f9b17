"""What a person does with a task's worktree: merge it, or throw it away; and what earlier processes have left."""

from __future__ import annotations

import logging

from ensign.protocol import events
from ensign.protocol.errors import ToolError, UserError
from ensign.protocol.worktree import Worktree, WorktreeDiscarded, WorktreeMerged
from ensign.session.session import Session
from ensign.tasks.task import Task
from ensign.workspace import worktree_merge

log = logging.getLogger(__name__)


async def report_leftovers(session: Session) -> None:
    """Clear away empty worktrees of processes that are gone, and tell once of those that hold work (B7)."""
    try:
        found = await session.services.worktrees.leftovers()
    except OSError as error:
        log.warning("worktrees that were left could not be looked at: %s", error)
        return
    for worktree in found:
        for task in session.manager.tasks.values():
            if task.record.worktree is not None and task.record.worktree.path == worktree.path:
                _became(task, worktree)
        text = f"Left by an earlier process: {worktree.in_words}."
        session.emit(events.Notice(**session.main.who, level="warning" if worktree.there else "info", text=text))


async def merge(session: Session, task: Task) -> WorktreeMerged:
    """Merge the worktree of an ended task into the checkout that it was made from.

    Raises:
        UserError: why not; nothing was changed.
    """
    worktree = _of(task)
    record, services = task.record, session.services
    message = f"{record.description}\n\nBy the subagent {record.agent} ({record.short_id}) of Ensign"
    unsaved = services.registry.documents.dirty()
    try:
        merged = await worktree_merge.merge(services.worktrees, worktree, message, unsaved)
    except ToolError as error:
        raise UserError(str(error)) from error
    _became(task, merged.worktree)
    return merged


async def discard(session: Session, task: Task) -> WorktreeDiscarded:
    """Throw the worktree of an ended task away, with its work.

    Raises:
        UserError: why not.
    """
    try:
        discarded = await worktree_merge.discard(session.services.worktrees, _of(task))
    except ToolError as error:
        raise UserError(str(error)) from error
    _became(task, discarded.worktree)
    return discarded


def _of(task: Task) -> Worktree:
    record = task.record
    if not record.state.terminal:
        raise UserError(f"task {record.short_id} has not ended ({record.state.value}); stop it, or wait for its end")
    if record.worktree is None or not record.worktree.there:
        raise UserError(f"task {record.short_id} has no worktree{_why(record.worktree)}")
    return record.worktree


def _why(worktree: Worktree | None) -> str:
    return f" any more ({worktree.state})" if worktree is not None else ""


def _became(task: Task, worktree: Worktree) -> None:
    task.change(worktree=worktree)
    task.tell()
