"""The entry of the command line: run one command on an event loop, turn what goes wrong into words and a code."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path

from ensign.cli.arguments import parse
from ensign.protocol.errors import EnsignError, UserError

Command = Callable[[argparse.Namespace, Path, dict[str, str]], Coroutine[None, None, int]]

_WRONG_USE, _FAILED, _INTERRUPTED = 2, 1, 130


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    parsed = parse(arguments)
    cwd = (getattr(parsed, "cwd", None) or getattr(parsed, "folder", None) or Path.cwd()).expanduser().resolve()
    if not cwd.is_dir():
        sys.stderr.write(f"ensign: {str(cwd)!r} is not a folder\n")
        return _WRONG_USE
    environment = dict(os.environ)
    try:
        return asyncio.run(_command(parsed.command)(parsed, cwd, environment))
    except UserError as error:
        sys.stderr.write(f"ensign: {error}\n")
        return _WRONG_USE
    except EnsignError as error:
        sys.stderr.write(f"ensign: {error}\n")
        return _FAILED
    except KeyboardInterrupt:
        sys.stderr.write("ensign: interrupted\n")
        return _INTERRUPTED


def _command(name: str) -> Command:
    # Imported when used: a command pays only for what it needs.
    if name == "run":
        from ensign.cli.run import run

        return run
    from ensign.cli import reports

    return {"agents": reports.agents, "explain": reports.explain, "doctor": reports.doctor}[name]
