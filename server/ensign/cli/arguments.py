"""The arguments of every command (`contract.md`)."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import ensign
from ensign.protocol.access import Mode
from ensign.protocol.usage import UsageBy

FORMS = ("markdown", "json", "trace")
_MODES = tuple(mode.value for mode in Mode)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the command and its options; wrong use ends the process with exit code 2."""
    parser = argparse.ArgumentParser(
        prog="ensign", description="A coding agent with subagents, for editors and the command line", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"ensign {ensign.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, help: str) -> argparse.ArgumentParser:  # noqa: A002 - argparse's own word
        return commands.add_parser(name, help=help, description=help, allow_abbrev=False)

    _run(command("run", "do one task and print the report"))
    agents = command("agents", "list agent definitions and what is wrong with their files")
    agents.add_argument("cwd", nargs="?", type=Path, metavar="DIR", help="the workspace, by default this folder")
    explain = command("explain", "say what would be decided about a tool call, without running it")
    _explain(explain)
    doctor = command("doctor", "check what Ensign needs on this machine")
    for one in (explain, doctor):
        one.add_argument("--cwd", type=Path, metavar="DIR", help="the workspace, by default this folder")
    for one in (explain, agents, doctor):
        one.add_argument("--json", action="store_true", help="one JSON object on standard output")
    _tasks(
        command("tasks", "list the subagents of all sessions"),
        command("usage", "sum what model requests used and cost"),
        command("resume", "let a subagent that ended go on, and print its report"),
        command("stop", "stop running subagents"),
        command("undo", "put the files that a subagent changed back as they were"),
        command("export", "print the transcript of a subagent or a session"),
    )
    trust = command("trust", "show what a folder asks for, and with --yes trust it")
    trust.add_argument("cwd", nargs="?", type=Path, metavar="DIR", help="the workspace, by default this folder")
    answer = trust.add_mutually_exclusive_group()
    answer.add_argument("--yes", action="store_true", help="trust what is shown, as it is now")
    answer.add_argument("--no", action="store_true", help="trust nothing of it any more")
    trust.add_argument("--json", action="store_true", help="one JSON object on standard output")
    command("serve", "speak to an editor: [--stdio | --tcp PORT]")
    return parser.parse_args(list(arguments))


def _tasks(*parsers: argparse.ArgumentParser) -> None:
    tasks, usage, resume, stop, undo, export = parsers
    usage.add_argument("--by", choices=get_args(UsageBy), default="session")
    for one in (tasks, usage):
        one.add_argument("--json", action="store_true", help="one JSON object on standard output")
    resume.add_argument("id", metavar="ID")
    resume.add_argument("message", metavar="MESSAGE", nargs="?", help="what to go on with; one that completed needs it")
    stop.add_argument("ids", metavar="ID", nargs="+")
    undo.add_argument("id", metavar="ID")
    export.add_argument("id", metavar="ID")
    export.add_argument("--format", choices=FORMS, default="markdown", help="trace is for ui.perfetto.dev")


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK")
    parser.add_argument("--agent", metavar="NAME", help="run this subagent alone, instead of the main agent")
    parser.add_argument("--model", metavar="PROVIDER/MODEL")
    parser.add_argument("--cwd", type=Path, metavar="DIR", help="the workspace, by default this folder")
    parser.add_argument("--mode", choices=_MODES, help="how calls are judged that no rule covers")
    parser.add_argument("--allow", action="append", default=[], metavar="RULE", help="may be given several times")
    parser.add_argument("--deny", action="append", default=[], metavar="RULE", help="may be given several times")
    parser.add_argument("--tools", metavar="LIST", help="the only tools there are, separated by commas")
    parser.add_argument("--max-turns", type=_count, metavar="N", help="model requests of each agent")
    parser.add_argument("--max-tokens", type=_count, metavar="N", help="tokens of each agent")
    parser.add_argument("--timeout", type=_seconds, metavar="S", help="seconds for the whole run")
    parser.add_argument("--ask", action="store_true", help="ask in this terminal before what is not allowed")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tool", metavar="TOOL")
    parser.add_argument("input", metavar="INPUT_JSON")
    parser.add_argument("--settings", type=Path, metavar="FILE", help="in place of the user's settings")
    parser.add_argument("--mode", type=Mode, choices=list(Mode), metavar="{" + ",".join(_MODES) + "}")
    parser.add_argument("--agent", metavar="NAME", help="as a subagent of this definition")
    parser.add_argument("--untrusted", action="store_true", help="as if nobody had trusted the folder")


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return value


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value
