"""The entry of the command line: run one command on an event loop, turn what goes wrong into words and a code."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import traceback
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

from ensign.cli.arguments import parse
from ensign.cli.console import FAILED, INTERRUPTED, WRONG_USE, Console
from ensign.cli.output import Output
from ensign.protocol.errors import EnsignError, UserError

Command = Callable[[argparse.Namespace, Console], Coroutine[None, None, int]]

LAST_WORDS_S = 0.5
"""How long an interrupted command waits for whoever reads its output."""


def main(arguments: Sequence[str]) -> NoReturn:
    """Run a command and end the process with its exit code.

    By `os._exit`: the ordinary way out waits for threads, which may sit in a read of the terminal or in a write to a
    reader that does not read.
    """
    parsed = parse(arguments)
    code = FAILED
    try:
        code = asyncio.Runner().run(_run(parsed))
    except Exception:  # noqa: BLE001 - the process ends here; whoever reports the bug needs all of it
        traceback.print_exc()
    finally:
        os._exit(code)


async def _run(parsed: argparse.Namespace) -> int:
    ending = _Ending()
    out, err = Output(sys.stdout, ending.by_reader), Output(sys.stderr, lambda: None)
    given = getattr(parsed, "cwd", None) or Path.cwd()
    cwd = given.expanduser().resolve()
    console = Console(cwd=cwd, environment=dict(os.environ), out=out, err=err, source=sys.stdin)
    if not cwd.is_dir():
        console.say(f"{str(given)!r} is not a folder")
        code = WRONG_USE
    else:
        code = await ending.watched(_command(parsed.command)(parsed, console), console)
    patience = asyncio.timeout(LAST_WORDS_S if code == INTERRUPTED else None)
    try:
        async with patience:
            await out.drain()
            await err.drain()
    except TimeoutError:
        pass
    return code


class _Ending:
    """What ends a command early: the first signal in order, a second one at once; a reader of its output that left."""

    def __init__(self) -> None:
        self._work: asyncio.Task[int] | None = None
        self._signals = 0
        loop = asyncio.get_running_loop()
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is None:
                continue
            try:
                loop.add_signal_handler(number, self._by_signal)
            except NotImplementedError:  # Windows
                signal.signal(number, partial(self._by_signal_elsewhere, loop))

    async def watched(self, command: Coroutine[None, None, int], console: Console) -> int:
        """Run a command to its end and return its exit code."""
        work = self._work = asyncio.create_task(command, name="command")
        await asyncio.wait({work})
        if work.cancelled():
            console.say("interrupted")
            return INTERRUPTED
        error = work.exception()
        if error is None:
            return work.result()
        if isinstance(error, EnsignError):
            console.say(_in_words_of_flags(str(error)))
            return WRONG_USE if isinstance(error, UserError) else FAILED
        # A bug: whoever reports it needs all of it.
        console.err.write("".join(traceback.format_exception(error)))
        return FAILED

    def by_reader(self) -> None:
        """Nobody reads the output any more."""
        if self._signals == 0:
            self._by_signal()

    def _by_signal(self) -> None:
        self._signals += 1
        if self._signals > 1 or self._work is None or self._work.done():
            os._exit(INTERRUPTED)
        self._work.cancel()

    def _by_signal_elsewhere(self, loop: asyncio.AbstractEventLoop, number: int, frame: object) -> None:
        loop.call_soon_threadsafe(self._by_signal)


def _command(name: str) -> Command:
    # Imported when used: a command pays only for what it needs.
    if name == "run":
        from ensign.cli.run import run

        return run
    if name in {"tasks", "resume", "stop", "undo", "usage", "export"}:
        from ensign.cli import tasks

        known = {
            "tasks": tasks.tasks,
            "resume": tasks.resume,
            "stop": tasks.stop,
            "undo": tasks.undo,
            "usage": tasks.usage,
        }
        return {**known, "export": tasks.export}[name]
    if name == "trust":
        from ensign.cli.trust import trust

        return trust
    from ensign.cli import reports

    return {"agents": reports.agents, "explain": reports.explain, "doctor": reports.doctor}[name]


def _in_words_of_flags(message: str) -> str:
    """What the API says of its parameters, said of the command line."""
    words = {"params.text": "TASK", "params.prompt": "TASK", "params.agent": "--agent", "params.id": "ID"}
    name, colon, rest = message.partition(":")
    return f"{words[name]}{colon}{rest}" if name in words else message
