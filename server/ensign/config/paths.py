"""Where Ensign keeps its own files (`contract.md`, State), from an environment that is passed in."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ensign.config.temporary import TemporaryFolder, remove_left_behind
from ensign.definitions.sources import fault
from ensign.protocol.definition import Diagnostic
from ensign.protocol.errors import UserError
from ensign.protocol.value import frozen

_SOCKET_FOLDER_BYTES = 75
"""A socket's whole path has room for 103 bytes on macOS and 107 on Linux, and its name takes 24 of them."""


@frozen
class StatePaths:
    """Ensign's own places.

    Attributes:
        home: what is read from: settings, agents.
        state: what is written to: `home`, or a folder for this process alone where that cannot be written.
        user_home: the person's home folder.
        policy: the system-wide file that can only deny and ask.
        temporary: what `state` is in where the home cannot be written.
    """

    home: Path
    state: Path
    user_home: Path
    policy: Path
    temporary: TemporaryFolder | None = None

    @property
    def settings(self) -> Path:
        """The user's settings file."""
        return self.home / "settings.json"

    @property
    def agents(self) -> Path:
        """The user's own agents."""
        return self.home / "agents"

    @property
    def granted(self) -> Path:
        """The rules that the person has saved, by workspace folder (decision 0010)."""
        return self.state / "granted.json"

    @property
    def trusted(self) -> Path:
        """What the person has trusted, by workspace folder."""
        return self.state / "trusted.json"

    @property
    def sessions(self) -> Path:
        """Transcripts and outputs."""
        return self.state / "sessions"

    @property
    def worktrees(self) -> Path:
        """Worktrees of subagents, by repository."""
        return self.state / "worktrees"

    @property
    def run(self) -> Path:
        """Sockets and locks."""
        return self.state / "run"

    @property
    def sockets(self) -> Path:
        """Where the sockets of open sessions are: `run`, or a short path where the system could not take one there."""
        if len(os.fsencode(self.run)) <= _SOCKET_FOLDER_BYTES:
            return self.run
        return Path(tempfile.gettempdir()) / f"ensign-{os.getuid() if hasattr(os, 'getuid') else 0}"

    @property
    def log(self) -> Path:
        """Log files."""
        return self.state / "log"


def state_paths(environ: Mapping[str, str]) -> StatePaths:
    """Return the places, without touching them.

    Raises:
        UserError: ENSIGN_HOME is not absolute, or there is no home folder.
    """
    user_home = environ.get("USERPROFILE" if sys.platform == "win32" else "HOME") or str(Path.home())
    given = environ.get("ENSIGN_HOME", "").strip()
    home = Path(user_home) / given[2:] if given.startswith("~/") else Path(given)
    if given and not home.is_absolute():
        raise UserError(f"ENSIGN_HOME must be an absolute path, not {given!r}")
    if not given:
        import platformdirs

        home = platformdirs.user_data_path("ensign", appauthor=False)
    return StatePaths(home=home, state=home, user_home=Path(user_home), policy=_policy_file(environ))


def _policy_file(environ: Mapping[str, str]) -> Path:
    match sys.platform:
        case "win32":
            return Path(environ.get("PROGRAMDATA", r"C:\ProgramData")) / "Ensign" / "policy.json"
        case "darwin":
            return Path("/Library/Application Support/Ensign/policy.json")
        case _:
            return Path("/etc/ensign/policy.json")


def prepare(paths: StatePaths) -> tuple[StatePaths, tuple[Diagnostic, ...]]:
    """Create the folders that are written to; only their owner may look inside.

    Where that is not possible (a read-only home), state lives in a temporary folder of this process, and a warning says
    that nothing will be remembered. Settings and agents are still read from the home.
    """
    try:
        _create(paths)
    except OSError as error:
        remove_left_behind()
        folder = TemporaryFolder()
        state = folder.path
        temporary = replace(paths, state=state, temporary=folder)
        _create(temporary)
        message = f"cannot write here ({error.strerror}); sessions are kept in {str(state)!r} and nothing is remembered"
        return temporary, (fault(paths.home, "warning", "read-only", message),)
    return paths, ()


def _create(paths: StatePaths) -> None:
    paths.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in (paths.sessions, paths.run, paths.log):
        folder.mkdir(mode=0o700, exist_ok=True)
    if not os.access(paths.state, os.W_OK):
        raise PermissionError(13, "Permission denied")
