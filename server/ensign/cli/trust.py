"""`ensign trust`: what a folder asks for, with all of its content, and the person's say on it."""

from __future__ import annotations

import argparse
import asyncio

from ensign.app import build
from ensign.cli.console import DONE, FAILED, Console
from ensign.protocol import wire
from ensign.protocol.trust import FolderTrust, TrustFile, TrustSet


async def trust(arguments: argparse.Namespace, console: Console) -> int:
    """Show what the folder asks for; trust it when told so; exit code 1 while something is not trusted.

    In a terminal, without `--yes` and `--no`, the person is asked.
    """
    app = build(options={}, roots=(console.cwd,), environment=console.environment, command_line={}, client_name="trust")
    (folder,) = (await app.trust.get(wire.Empty())).folders
    if not arguments.json:
        console.print(text_of(folder))
    asks = not (arguments.yes or arguments.no or arguments.json)
    yes = arguments.yes or (asks and await asyncio.to_thread(_agreed, folder, console))
    if yes or arguments.no:
        hashes = {one.path: one.hash for one in folder.files}
        answer = TrustSet(path=folder.path, trusted=yes, hashes=hashes if yes else {})
        (folder,) = (await app.trust.set(answer)).folders
        if not arguments.json:
            console.say("trusted, as shown" if yes else "nothing of it is trusted any more")
    await app.close("done")
    if arguments.json:
        console.print_json(folder)
    return FAILED if not arguments.no and any(not one.trusted for one in folder.files) else DONE


def text_of(folder: FolderTrust) -> str:
    """What the folder asks for; the content of what is not trusted yet, whole."""
    if not folder.files:
        return f"{folder.path}: nothing in it needs trust"
    lines = [f"{folder.path}: {_count(len(folder.files))} that only trust lets count"]
    for one in folder.files:
        lines += ["", f"{one.name} [{one.kind}]: {_state(one)}", *(f"  - {ask}" for ask in one.asks)]
        if not one.trusted:
            lines += [f"    | {line}" for line in one.content.split("\n")]
    return "\n".join(lines)


def _count(files: int) -> str:
    return f"{files} file{'' if files == 1 else 's'}"


def _state(one: TrustFile) -> str:
    if one.trusted:
        return "trusted"
    return "changed since it was trusted" if one.changed else "not trusted"


def _agreed(folder: FolderTrust, console: Console) -> bool:
    if all(one.trusted for one in folder.files) or console.source is None or not console.source.isatty():
        return False
    console.err.write("Trust this, as it is shown? (y = yes, anything else = not now) ")
    return console.source.readline().strip().lower() in ("y", "yes")
