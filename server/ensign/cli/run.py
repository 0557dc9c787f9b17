"""`ensign run`: one task, to its end, with progress; the report to standard output, the rest in the exit code."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from ensign.app import App, build
from ensign.cli.ask import Terminal
from ensign.cli.progress import progress_for
from ensign.protocol import events, wire
from ensign.protocol.codec import to_wire
from ensign.protocol.messages import AssistantMessage, StopReason, Usage
from ensign.protocol.tasks import TaskRecord, TaskState

DONE, FAILED, WRONG_USE, PARTIAL, DENIED, INTERRUPTED = 0, 1, 2, 3, 4, 130

_VERDICT = re.compile(r"^VERDICT: (PASS|FAIL|PARTIAL)\s*$", re.MULTILINE)
_VERDICT_CODES = {"PASS": DONE, "FAIL": FAILED, "PARTIAL": PARTIAL}


class Outcome:
    """How a run went: a fold of its events."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.tasks: dict[str, TaskRecord] = {}
        self.report = ""
        self.ending: events.TurnEnded | None = None
        self.failure = ""
        self.denied = 0
        self.effects = 0

    def read(self, event: events.Event) -> None:
        """Take in an event of any agent."""
        match event:
            case events.UsageReported(usage=usage):
                self.usage += usage
            case events.TaskChanged(record=record):
                self.tasks[record.id] = record
            case events.ToolFinished(denied_by=by, files=files, command=command):
                self.denied += by is not None and by != "filter"
                self.effects += bool(files) or command is not None
            case events.MessageAdded(message=AssistantMessage() as message, task_id=None) if message.text.strip():
                self.report = message.text.strip()
            case events.TurnEnded(task_id=None):
                self.ending = event
            case events.TurnFailed(task_id=None, message=message, partial_text=partial):
                self.failure = message
                self.report = partial or self.report
            case _:
                pass

    def status(self) -> str:
        """The word for how a main agent's run ended."""
        if self.failure:
            return "failed"
        if self.ending is None or self.ending.stop is StopReason.CANCELLED:
            return "interrupted"
        return "partial" if self.ending.reason or self.ending.stop is not StopReason.END_TURN else "completed"

    def code(self, status: str) -> int:
        """The exit code: 4 when calls were denied and nothing had an effect, else by the status."""
        if status == "completed" and self.denied and not self.effects:
            return DENIED
        return {"completed": DONE, "partial": PARTIAL, "interrupted": INTERRUPTED, "stopped": INTERRUPTED}.get(
            status, FAILED
        )


async def run(arguments: argparse.Namespace, cwd: Path, environment: dict[str, str]) -> int:
    """Do the task and return the exit code."""
    app = build(
        options={},
        roots=(cwd,),
        environment=environment,
        command_line=options_of(arguments),
        client_name="run",
        headless=True,
    )
    outcome = Outcome()
    progress = progress_for(sys.stderr)
    out = sys.stdout

    def read(_session_id: str, _seq: int, event: events.Event) -> None:
        outcome.read(event)
        progress.read(event)
        if arguments.json:
            print_json(out, to_wire(event))

    app.subscribe(read, lambda _: None)
    try:
        async with asyncio.timeout(arguments.timeout):
            status = await _work(app, arguments, cwd, outcome)
    except TimeoutError:
        status = "partial"
        outcome.report = outcome.report or f"The run did not end within {arguments.timeout:g} seconds."
    finally:
        await app.close("interrupted (the command ended)")
        progress.close()
    return _finish(arguments, outcome, status, out)


async def _work(app: App, arguments: argparse.Namespace, cwd: Path, outcome: Outcome) -> str:
    if arguments.ask and sys.stdin.isatty():
        app.attach(editor=None, answers=True)
        app.subscribe(Terminal(app, sys.stdin, sys.stderr).read, lambda _: None)
    opened = await app.api.session_open(wire.SessionOpen(cwd=str(cwd)))
    if arguments.agent is None:
        await app.api.turn_start(wire.TurnStart(session_id=opened.session_id, text=arguments.task))
        await app.api.session_settle(wire.SessionRef(session_id=opened.session_id))
        return outcome.status()
    started = await app.api.agent_run(
        wire.AgentRun(agent=arguments.agent, prompt=arguments.task, session_id=opened.session_id)
    )
    await app.api.session_settle(wire.SessionRef(session_id=opened.session_id))
    record = outcome.tasks[started.task_id]
    outcome.report = Path(record.output_file).read_text(encoding="utf-8") if record.output_file else ""
    outcome.failure = record.reason if record.state is TaskState.FAILED else ""
    return record.state.value


def _finish(arguments: argparse.Namespace, outcome: Outcome, status: str, out: TextIO) -> int:
    if arguments.json:
        ended = events.RunEnded(
            agent_id="main",
            status=status,
            report=outcome.report,
            usage=outcome.usage,
            tasks=tuple(to_wire(record) for record in outcome.tasks.values()),
        )
        print_json(out, to_wire(ended))
    elif outcome.report:
        out.write(f"{outcome.report}\n")
    if outcome.failure and not arguments.json:
        sys.stderr.write(f"ensign: {outcome.failure}\n")
    elif outcome.ending is not None and outcome.ending.reason:
        sys.stderr.write(f"ensign: {outcome.ending.reason}\n")
    verdicts = _VERDICT.findall(outcome.report) if arguments.agent == "Verification" else []
    return _VERDICT_CODES[verdicts[-1]] if verdicts else outcome.code(status)


def options_of(arguments: argparse.Namespace) -> dict[str, object]:
    """The settings that the command line gives; what was not said is left out."""
    tools: Sequence[str] | None = None
    if arguments.tools is not None:
        tools = tuple(name.strip() for name in arguments.tools.split(",") if name.strip())
    given = {
        "model": arguments.model,
        "mode": arguments.mode,
        "allow": tuple(arguments.allow) or None,
        "deny": tuple(arguments.deny) or None,
        "tools": tools,
        "max_turns": arguments.max_turns,
        "max_tokens": arguments.max_tokens,
    }
    return {name: value for name, value in given.items() if value is not None}


def print_json(out: TextIO, value: object) -> None:
    """One object, one line."""
    out.write(json.dumps(value, ensure_ascii=False) + "\n")
    out.flush()
