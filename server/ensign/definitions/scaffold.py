"""A new agent file: whether it may be made, and what it says at first."""

from __future__ import annotations

from pathlib import Path

from ensign.definitions.catalogue import Definitions
from ensign.definitions.fields import FIELDS
from ensign.definitions.values import is_name
from ensign.protocol.errors import UserError

DESCRIPTION = "When to use this agent, in one sentence"
_OFFERED = ("model", "permissionMode", "maxTurns", "background", "color")


def new_file(name: str, folder: Path, definitions: Definitions) -> Path:
    """Return where an agent of this name would be written.

    Raises:
        UserError: it cannot be called so, or something of that name is there.
    """
    if not name:
        raise UserError("an agent needs a name")
    if not is_name(name):
        raise UserError(
            f"{name!r} cannot be a name: a letter, then up to 31 letters, digits, '-' or '_'; 'main' is reserved"
        )
    taken = definitions.get(name)
    if taken is not None:
        where = "built in" if taken.built_in else f"defined in {str(taken.path)!r}"
        raise UserError(f"there is an agent {taken.name!r} already, {where}; choose another name")
    path = folder / f"{name}.md"
    if path.exists() or path.is_symlink():
        raise UserError(f"{str(path)!r} is there already; choose another name")
    return path


def scaffold(name: str) -> str:
    """Return the first text of an agent file: valid as it is, with the fields that people look for next."""
    meanings = {field.name: field for field in FIELDS}
    offered = [f"# {one}: {meanings[one].example}" for one in _OFFERED]
    lines = [
        "---",
        f"name: {name}",
        f"description: {DESCRIPTION}",
        "tools: Read, Glob, Grep",
        "# More fields, off until you take away the #:",
        *offered,
        "---",
        f"You are {name}. Say here what you do, how you work, and what your report must contain.",
    ]
    return "\n".join(lines) + "\n"
