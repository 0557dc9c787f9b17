"""What an agent must still know after its conversation was summarized, from the runtime's own records (C3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ensign.protocol.events import Todo

MAX_FILES = 30
"""Files named to the model; what it needs again it reads again."""

_BOX = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


def state_text(*, todos: Sequence[Todo], files: Sequence[Path], tasks: str) -> str:
    """Say it in words for the model; empty when there is nothing. `files`: newest first."""
    parts: list[str] = []
    if todos:
        parts.append("\n".join(["Your to-do list:", *(f"{_BOX[todo.status]} {todo.content}" for todo in todos)]))
    if files:
        names = "\n".join(f"- {path}" for path in files)
        parts.append(f"Files you read or wrote last, newest first; read again what you build on:\n{names}")
    if tasks:
        parts.append(tasks)
    return "\n\n".join(parts)
