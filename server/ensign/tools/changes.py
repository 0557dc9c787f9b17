"""What `Edit` and `Write` tell of a change: a line for the model, a fact and a diff for people."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ensign.protocol.tasks import FileChange
from ensign.tools.base import ToolOutput
from ensign.tools.textdiff import diff
from ensign.workspace.contents import Written
from ensign.workspace.paths import display

_SLOW_CHARS = 200_000


async def output_of(written: Written, cwd: Path, verb: str, detail: str = "") -> ToolOutput:
    """Return the output for a change that was made; `verb` opens the line."""
    name = display(written.path, cwd)
    before = written.before or ""
    slow = len(before) + len(written.after) > _SLOW_CHARS
    args = before, written.after, name
    change = await asyncio.to_thread(diff, *args) if slow else diff(*args)
    details = ", ".join(part for part in (detail, f"+{change.added} -{change.removed}") if part)
    text = f"{verb} {name} ({details})."
    return ToolOutput(
        text=f"{text} {written.note}" if written.note else text,
        files=(
            FileChange(
                path=str(written.path),
                change="created" if written.before is None else "modified",
                added=change.added,
                removed=change.removed,
            ),
        ),
        diff=change.text,
    )
