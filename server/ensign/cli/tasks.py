"""`ensign tasks`, `resume`, `stop`, `undo`, `usage` and `export`: what was started anywhere, seen and steered.

They act through the process that owns a session, or on disk when there is none (B10).
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from ensign.app import App, build
from ensign.cli.console import DONE, FAILED, PARTIAL, Console
from ensign.cli.headless import headless, text_of
from ensign.cli.outcome import Outcome
from ensign.protocol import wire
from ensign.protocol.codec import decode
from ensign.protocol.errors import UserError
from ensign.protocol.tasks import TaskRecord
from ensign.protocol.undo import TaskUndone
from ensign.protocol.usage import UsageGet, UsageListed, UsageSum

SHORT = 48
"""Characters of a description in a table."""


async def tasks(arguments: argparse.Namespace, console: Console) -> int:
    """List every task, the oldest first."""
    async with _reading(console, "tasks") as app:
        records = await app.everywhere.tasks()
    if arguments.json:
        console.print_json({"tasks": records})
        return DONE
    table = [
        (
            *(one.short_id, one.state.value, one.agent, one.description[:SHORT], f"{one.usage.total:,}"),
            "; ".join(filter(None, (one.reason[:SHORT], _worktree(one)))),
        )
        for one in records
    ]
    if table:
        console.print(_columns(("ID", "STATE", "AGENT", "TASK", "TOKENS", "REASON"), table))
    else:
        console.say("no task has been started yet")
    return DONE


def _worktree(record: TaskRecord) -> str:
    return record.worktree.in_words if record.worktree is not None and record.worktree.there else ""


async def stop(arguments: argparse.Namespace, console: Console) -> int:
    """Stop tasks; exit code 1 when one is not known."""
    code = DONE
    async with _reading(console, "stop") as app:
        for identifier in arguments.ids:
            try:
                record = await app.everywhere.find(identifier)
            except UserError as error:
                console.say(str(error))
                code = FAILED
                continue
            if record.state.terminal:
                console.print(f"{record.short_id} had ended already ({record.state.value})")
                continue
            params = wire.TaskStop(ids=(record.id,))
            answer = await app.everywhere.ask(record.session_id, "ensign/task/stop", params)
            stopped = decode(wire.TasksStopped, answer, what="answer").stopped
            console.print(f"{record.short_id} {'was stopped' if stopped else 'had ended already'}")
    return code


async def undo(arguments: argparse.Namespace, console: Console) -> int:
    """Take back a task's changes where its session is open, or here; exit code 3 when some were left."""
    async with _reading(console, "undo") as app:
        record = await app.everywhere.find(arguments.id)
        if await app.everywhere.owned(record.session_id):
            answer = await app.everywhere.ask(record.session_id, "ensign/task/undo", wire.TaskRef(id=record.id))
            return _undone(decode(TaskUndone, answer, what="answer"), console)
        cwd = await _folder_of(app, record)
    # Nothing goes on by itself in a session that is opened only for this.
    alone = {"subagents": {"wakeOnNotification": False, "resumeAfterReloadSeconds": 0}}
    async with headless(replace(console, cwd=cwd), command="undo", json=False, options=alone, flags={}) as job:
        await job.app.api.session_open(wire.SessionOpen(cwd=str(cwd), id=record.session_id))
        return _undone(await job.app.api.task_undo(wire.TaskRef(id=record.id)), console)


def _undone(done: TaskUndone, console: Console) -> int:
    for path in done.undone:
        console.print(f"{path} is as it was before")
    for one in done.refused:
        console.say(one.reason)
    if done.commands:
        console.say(f"what its commands did ({done.commands}) cannot be undone")
    if not done.refused:
        return DONE
    return PARTIAL if done.undone else FAILED


async def resume(arguments: argparse.Namespace, console: Console) -> int:
    """Let a task go on where it lives, or here when its session is open nowhere; print its report."""
    async with _reading(console, "resume") as app:
        record = await app.everywhere.find(arguments.id)
        cwd = await _folder_of(app, record)
        if await app.everywhere.owned(record.session_id):
            return await _resume_there(app, record, arguments.message, console)
    return await _resume_here(record, arguments.message, replace(console, cwd=cwd))


async def _resume_there(app: App, record: TaskRecord, message: str | None, console: Console) -> int:
    params = wire.TaskSend(id=record.id, message=message)
    await app.everywhere.ask(record.session_id, "ensign/task/resume", params)
    console.say(f"{record.short_id} goes on in the process that has its session open")
    answer = await app.everywhere.ask(record.session_id, "ensign/task/wait", wire.TaskRef(id=record.id))
    outcome = Outcome()
    outcome.tasks[record.id] = decode(TaskRecord, answer, what="task")
    outcome.alone(record.id)
    outcome.end(await asyncio.to_thread(text_of, outcome.output_file))
    return _told(outcome, console)


async def _resume_here(record: TaskRecord, message: str | None, console: Console) -> int:
    # Only this task goes on: its main agent is told when somebody opens the session.
    alone = {"subagents": {"wakeOnNotification": False, "resumeAfterReloadSeconds": 0}}
    outcome = Outcome()
    try:
        async with headless(console, command="resume", json=False, options=alone, flags={}) as job:
            outcome = job.outcome
            await job.app.api.session_open(wire.SessionOpen(cwd=str(console.cwd), id=record.session_id))
            await job.app.api.task_resume(wire.TaskSend(id=record.id, message=message))
            outcome.alone(record.id)
            await job.app.api.session_settle(wire.SessionRef(session_id=record.session_id))
    except asyncio.CancelledError:
        _told(outcome, console)
        raise
    return _told(outcome, console)


def _told(outcome: Outcome, console: Console) -> int:
    if outcome.report:
        console.print(outcome.report)
    if why := outcome.why():
        console.say(why)
    return outcome.code(verdict=False)


async def usage(arguments: argparse.Namespace, console: Console) -> int:
    """Print what requests used, summed by what they were for."""
    async with _reading(console, "usage") as app:
        listed = await app.api.usage_get(UsageGet(by=arguments.by))
        names = await _names(app, listed)
    if arguments.json:
        console.print_json(listed)
        return DONE
    head = (
        arguments.by.upper(),
        "REQUESTS",
        "INPUT",
        "OUTPUT",
        "CACHE WRITE",
        "CACHE READ",
        "CACHED",
        "SECONDS",
        "USD",
    )
    lines = [_usage_line(names.get(one.key, one.key), one) for one in (*listed.sums, listed.total)]
    console.print(_columns(head, lines))
    return DONE


def _usage_line(name: str, one: UsageSum) -> tuple[str, ...]:
    unknown = " + ?" if one.unpriced else ""
    return (
        name,
        str(one.requests),
        *(f"{count:,}" for count in (one.usage.input, one.usage.output, one.usage.cache_write, one.usage.cache_read)),
        f"{one.cache_share:.0%}",
        f"{one.wall_s:,.1f}",
        f"{one.price_usd:,.4f}{unknown}" if one.unpriced < one.requests else "?",
    )


async def _names(app: App, listed: UsageListed) -> dict[str, str]:
    """What people know the keys of sums by."""
    sessions = await app.api.session_list(wire.Empty())
    titles = {one.session_id: one.title or one.session_id for one in sessions.sessions}
    match listed.by:
        case "session":
            return titles
        case "task":
            records = await app.everywhere.tasks()
            own = {key: f"main: {title}" for key, title in titles.items()}
            return own | {one.id: f"{one.short_id} {one.agent}: {one.description[:SHORT]}" for one in records}
        case "turn":
            return {one.key: f"{', '.join(one.agents)} {one.key}" for one in listed.sums}
        case _:
            return {}


async def export(arguments: argparse.Namespace, console: Console) -> int:
    """Print a transcript."""
    async with _reading(console, "export") as app:
        text = await app.everywhere.export(arguments.id, arguments.format)
    console.print(text.rstrip("\n"))
    return DONE


@asynccontextmanager
async def _reading(console: Console, command: str) -> AsyncIterator[App]:
    """An app that opens no session."""
    app = build(options={}, roots=(console.cwd,), environment=console.environment, command_line={}, client_name=command)
    try:
        yield app
    finally:
        await app.close("the command ended")


async def _folder_of(app: App, record: TaskRecord) -> Path:
    sessions = await app.api.session_list(wire.Empty())
    folder = next((one.cwd for one in sessions.sessions if one.session_id == record.session_id), None)
    if folder is None or not Path(folder).is_dir():
        raise UserError(f"the folder of task {record.short_id} is gone: {folder!r}")
    return Path(folder)


def _columns(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns, as wide as their widest entry."""
    rows = [head, *([" ".join(cell.split()) for cell in line] for line in lines)]
    widths = [max(len(row[index]) for row in rows) for index in range(len(head))]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
