"""What all sessions of a server share, passed in by `app.py`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from ensign.definitions.catalogue import Definitions
from ensign.mcp.servers import Servers
from ensign.models.base import Model
from ensign.models.catalog import Catalog
from ensign.permissions.engine import PermissionEngine
from ensign.permissions.policy import Policy
from ensign.protocol.definition import AgentDefinition
from ensign.protocol.settings import Settings
from ensign.protocol.value import frozen
from ensign.store.store import Store
from ensign.tools.base import Tool
from ensign.workspace.processes import Processes
from ensign.workspace.registry import FileRegistry
from ensign.workspace.worktrees import Worktrees


@frozen
class Services:
    """Shared, live objects and the settings in force.

    Attributes:
        settings: read at each use, so that a changed file holds at once. Of the first workspace folder; see `at`.
        settings_at, models_at: those of the workspace folder that a directory is in.
        definitions: the same for agent files.
        base_policy: the main agent's policy but for rules, mode and grants, given the folder of its own output.
        add_rule: saves an "always" answer in the local settings of a workspace folder.
        trusts: whether a definition's file counts as trusted now, also after it was taken back.
        headless: a command-line run: nobody sees it, nothing forks (F6).
        platform: for the system prompt (`linux`, `darwin`, `win32`).
        clock: Unix seconds.
    """

    settings: Callable[[], Settings]
    definitions: Callable[[], Definitions]
    models: Catalog
    settings_at: Callable[[Path], Settings]
    models_at: Callable[[Path], Catalog]
    tools: tuple[Tool, ...]
    engine: PermissionEngine
    registry: FileRegistry
    processes: Processes
    servers: Servers
    worktrees: Worktrees
    store: Store
    roots: tuple[Path, ...]
    home: Path
    platform: str
    headless: bool
    trusts: Callable[[AgentDefinition], bool]
    base_policy: Callable[[Path], Policy]
    add_rule: Callable[[Path, str], Awaitable[None]]
    clock: Callable[[], float]

    def at(self, cwd: Path) -> Services:
        """The same for a session in `cwd`, whose workspace folder decides its project settings."""
        return replace(self, settings=lambda: self.settings_at(cwd), models=self.models_at(cwd))

    def model_or_none(self, reference: str) -> Model | None:
        """The model of a reference; None for a role or alias that nothing is set for (A13).

        Raises:
            UserError: unknown, with what would be valid.
        """
        return None if self.models.target(reference) is None else self.models.model(reference)
