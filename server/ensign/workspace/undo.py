"""Undoing what an agent did to files: each as it was before, unless somebody has changed it since."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen
from ensign.workspace.history import Changed
from ensign.workspace.registry import PERSON, FileRegistry
from ensign.workspace.view import FileView


@frozen
class Undone:
    """What became of the changes; `refused` has the reason for each file that was left as it is."""

    undone: tuple[Path, ...]
    refused: tuple[tuple[Path, str], ...]


async def undo(changes: Sequence[Changed], registry: FileRegistry, label: str) -> Undone:
    """Put every file back, the last changed first; a person asked for it, and it is theirs in every record.

    `label` names the undo step of files that are open in the editor.
    """
    view = FileView(agent_id=PERSON.agent_id, agent_name=PERSON.name, registry=registry, label=label)
    undone: list[Path] = []
    refused: list[tuple[Path, str]] = []
    for change in reversed(changes):
        try:
            if await view.restore(change):
                undone.append(change.path)
        except ToolError as error:
            refused.append((change.path, str(error)))
        await asyncio.sleep(0)
    return Undone(undone=tuple(undone), refused=tuple(refused))
