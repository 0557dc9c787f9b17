"""`ensign run`: one task, to its end, with progress; the report to standard output, the rest in the exit code."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from ensign.cli.ask import Terminal
from ensign.cli.console import Console
from ensign.cli.headless import Headless, headless
from ensign.cli.outcome import Outcome
from ensign.protocol import events, wire
from ensign.protocol.codec import to_wire
from ensign.protocol.errors import EnsignError, UserError

VERIFICATION = "verification"


async def run(arguments: argparse.Namespace, console: Console) -> int:
    """Do the task and return the exit code.

    Raises:
        UserError: wrong use; nothing was started.
        asyncio.CancelledError: somebody ended it; what there was has been told.
    """
    options: dict[str, Any] = {"subagents": {"wakeOnNotification": True}}
    if is_verification(arguments.agent):
        # Whoever names it on the command line wants it, whatever the setting says of being offered to models (D9).
        options["subagents"]["enableVerificationAgent"] = True
    outcome = Outcome()
    try:
        async with headless(
            console, command="run", json=arguments.json, options=options, flags=flags_of(arguments)
        ) as job:
            outcome = job.outcome
            await _work(job, arguments, console)
    except asyncio.CancelledError:
        tell(outcome, console, json=arguments.json)
        raise
    except UserError:
        raise
    except EnsignError as error:
        outcome.failed(str(error))
    tell(outcome, console, json=arguments.json)
    return outcome.code(verdict=is_verification(arguments.agent))


def is_verification(agent: str | None) -> bool:
    """Whether the report's verdict is the exit code."""
    return agent is not None and agent.strip().casefold() == VERIFICATION


async def _work(job: Headless, arguments: argparse.Namespace, console: Console) -> None:
    app = job.app
    if arguments.ask and console.source is not None and console.source.isatty():
        app.attach(editor=None, answers=True)
        app.subscribe(Terminal(app, console, job.progress).read, lambda _: None)
    opened = await app.api.session_open(wire.SessionOpen(cwd=str(console.cwd)))
    session_id = opened.session_id
    if arguments.agent is None:
        await app.api.turn_start(wire.TurnStart(session_id=session_id, text=arguments.task))
    else:
        order = wire.AgentRun(agent=arguments.agent, prompt=arguments.task, session_id=session_id)
        job.outcome.alone((await app.api.agent_run(order)).task_id)
    settled = app.api.session_settle(wire.SessionRef(session_id=session_id))
    try:
        async with asyncio.timeout(arguments.timeout):
            await settled
    except TimeoutError:
        reason = f"limit of {arguments.timeout:g} seconds reached"
        job.outcome.limited(reason)
        await app.api.session_wrap_up(session_id, reason)


def tell(outcome: Outcome, console: Console, *, json: bool) -> None:
    """Say how it ended: the last line for a script, the report and the reason for a person."""
    if json:
        ended = events.RunEnded(
            agent_id="main",
            status=outcome.status(),
            report=outcome.report,
            usage=outcome.usage,
            tasks=tuple(to_wire(record) for record in outcome.tasks.values()),
        )
        console.print_json(ended)
    elif outcome.report:
        console.print(outcome.report)
    if why := outcome.why():
        console.say(why)


def flags_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that the command line gives; what was not said is left out."""
    tools = None
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
        "timeout_s": arguments.timeout,
    }
    return {name: value for name, value in given.items() if value is not None}
