"""The arguments of every command (`contract.md`)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ensign.protocol.access import Mode


class Parser(argparse.ArgumentParser):
    """Exits with 2 on wrong use, as argparse does; the words are ours."""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the command and its options; wrong use ends the process with exit code 2."""
    parser = Parser(prog="ensign", description="A coding agent with subagents, for editors and the command line")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _run(commands.add_parser("run", help="do one task and print the report"))
    agents = commands.add_parser("agents", help="list agent definitions and what is wrong with their files")
    agents.add_argument("folder", nargs="?", type=Path, default=None, metavar="DIR")
    explain = commands.add_parser("explain", help="say what would be decided about a tool call, without running it")
    explain.add_argument("tool")
    explain.add_argument("input", metavar="INPUT_JSON")
    explain.add_argument("--settings", type=Path)
    explain.add_argument("--agent")
    explain.add_argument("--untrusted", action="store_true")
    doctor = commands.add_parser("doctor", help="check what Ensign needs on this machine")
    for command in (explain, agents, doctor):
        command.add_argument("--json", action="store_true")
    for command in (explain, doctor):
        command.add_argument("--cwd", type=Path, default=None)
    explain.add_argument("--mode", type=Mode, choices=list(Mode), default=None)
    return parser.parse_args(list(arguments))


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK")
    parser.add_argument("--agent", help="run this subagent alone, instead of the main agent")
    parser.add_argument("--model", metavar="PROVIDER/MODEL")
    parser.add_argument("--cwd", type=Path, default=None, metavar="DIR")
    parser.add_argument("--mode", type=Mode, choices=list(Mode))
    parser.add_argument("--allow", action="append", default=[], metavar="RULE")
    parser.add_argument("--deny", action="append", default=[], metavar="RULE")
    parser.add_argument("--tools", metavar="LIST", help="the only tools there are, separated by commas")
    parser.add_argument("--max-turns", type=_positive, metavar="N")
    parser.add_argument("--max-tokens", type=_positive, metavar="N")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds for the whole run")
    parser.add_argument("--ask", action="store_true", help="ask in this terminal before what is not allowed")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")


def _positive(text: str) -> int:
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value
