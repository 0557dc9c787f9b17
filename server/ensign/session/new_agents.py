"""`ensign/agent/create`: a person's new agent file, in the project or in their own folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from ensign.definitions.catalogue import Definitions
from ensign.definitions.scaffold import DESCRIPTION, new_file, scaffold
from ensign.protocol.errors import UserError
from ensign.protocol.setup import AgentCreate, AgentCreated
from ensign.protocol.value import frozen


@frozen
class NewAgents:
    """Makes agent files.

    Attributes:
        own: the person's folder of agents.
        root_of: the workspace folder that a directory is in.
    """

    definitions: Callable[[], Definitions]
    own: Path
    root_of: Callable[[Path], Path]
    default_cwd: Path

    async def create(self, params: AgentCreate) -> AgentCreated:
        """Write the file, unless only asked whether that could be.

        Raises:
            UserError: why not.
        """
        name = params.name.strip()
        root = self.root_of(Path(params.cwd) if params.cwd else self.default_cwd)
        folder = self.own if params.place == "user" else root / ".ensign" / "agents"
        path = await asyncio.to_thread(new_file, name, folder, self.definitions())
        text = scaffold(name)
        if not params.check:
            await asyncio.to_thread(_write, path, text, None if params.place == "user" else root)
        line = next(number for number, one in enumerate(text.split("\n")) if one.endswith(DESCRIPTION))
        start = len("description: ")
        return AgentCreated(path=str(path), line=line, start=start, end=start + len(DESCRIPTION))


def _write(path: Path, text: str, root: Path | None) -> None:
    """Write a new file. One for a project stays in it: a repository's link must not lead a person's file elsewhere."""
    try:
        if root is not None and not path.parent.resolve().is_relative_to(root.resolve()):
            raise UserError(f"{str(path.parent)!r} leads out of the workspace; no file is written through it")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error
