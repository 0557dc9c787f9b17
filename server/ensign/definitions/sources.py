"""Where agent files are looked for, nearest first (D5), and which files of a folder count."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import ensign
from ensign.definitions.front_matter import MAX_FILE_BYTES
from ensign.definitions.nodes import FaultError
from ensign.protocol.definition import Diagnostic, Severity, Source
from ensign.protocol.trusted import Trusted
from ensign.protocol.value import frozen

MAX_FILES = 1000
"""Of one folder, sub-folders included."""

_VENDORED = frozenset({"node_modules", "bower_components", "site-packages", "__pycache__", "vendor", "venv"})


@frozen
class Folder:
    """A folder of agent files.

    Attributes:
        root: the workspace folder it belongs to, None for the user's and the built-in ones.
        trust: what is trusted of that workspace folder, None where everything is.
    """

    source: Source
    path: Path
    root: Path | None = None
    trust: Trusted | None = None

    def trusts(self, path: Path, data: bytes) -> bool:
        """Whether a file of it counts as trusted with this content."""
        return self.trust is None or self.trust.allows(path, data)


def folders(
    *, roots: Sequence[Path], trusted: Callable[[Path], Trusted], user: Path, home: Path, built_in: Path
) -> tuple[Folder, ...]:
    """Return the folders to read, nearest first, existing or not.

    A workspace folder whose agents are the user's own (someone opened the home folder) is read as the user's.

    Args:
        roots: the workspace folders.
        trusted: what is trusted of a workspace folder.
        user: Ensign's own folder of user agents.
        home: the person's home folder.
        built_in: see `built_in_folder`.
    """
    own = (
        Folder(source=Source.USER, path=user),
        Folder(source=Source.USER_CLAUDE, path=home / ".claude" / "agents"),
    )
    users = {folder.path.resolve() for folder in own}
    project = (
        Folder(source=source, path=root / place / "agents", root=root, trust=trusted(root))
        for source, place in ((Source.PROJECT, ".ensign"), (Source.PROJECT_CLAUDE, ".claude"))
        for root in roots
    )
    return (
        *(folder for folder in project if folder.path.resolve() not in users),
        *own,
        Folder(source=Source.BUILT_IN, path=built_in),
    )


def built_in_folder() -> Path:
    """Where the built-in agents are: inside an installed package, or at the top of a checkout (D6)."""
    package = Path(ensign.__file__).parent
    installed = package / "_agents"
    return installed if installed.is_dir() else package.parents[1] / "agents"


def agent_files(folder: Folder) -> tuple[list[Path], list[Diagnostic]]:
    """Return the Markdown files below the folder, sorted by path, and what could not be looked into.

    Hidden and vendored entries are skipped. Links are followed, but no folder's out of a workspace folder that is not
    trusted; of files see `outside`.
    """
    found: list[Path] = []
    faults: list[Diagnostic] = []
    seen: set[tuple[int, int]] = set()
    waiting = [folder.path]
    while waiting:
        here = waiting.pop()
        try:
            info = here.stat()
            if (info.st_dev, info.st_ino) in seen or not stat.S_ISDIR(info.st_mode):
                continue
            if outside(folder, here) and not (folder.trust is None or folder.trust.given):
                faults.append(outside_fault(here))
                continue
            seen.add((info.st_dev, info.st_ino))
            with os.scandir(here) as entries:
                names = sorted(entry.name for entry in entries)
        except FileNotFoundError:
            continue
        except OSError as error:
            faults.append(fault(here, "error", "unreadable", f"cannot read the folder: {error.strerror}"))
            continue
        for path in (here / name for name in names if not name.startswith(".") and name not in _VENDORED):
            if path.is_dir():
                waiting.append(path)
            elif path.suffix.lower() == ".md":
                found.append(path)
    found.sort(key=lambda path: path.relative_to(folder.path).as_posix())
    if len(found) > MAX_FILES:
        message = f"more than {MAX_FILES} files; those from here on are left out"
        faults.append(fault(found[MAX_FILES], "error", "too-many", message))
    return found[:MAX_FILES], faults


def read_bytes(path: Path) -> bytes:
    """Return the file's content, cut one byte after the limit.

    Raises:
        FaultError: it cannot be read. What is not a plain file is never opened: a pipe would block.
    """
    try:
        # Opened without waiting, and judged by what was opened: a name may change its meaning in between.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FaultError("unreadable", "not a plain file")
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise FaultError("unreadable", f"cannot read the file: {error.strerror or error}") from error


def fault(path: Path, severity: Severity, code: str, message: str) -> Diagnostic:
    """A diagnostic about a file as a whole."""
    return Diagnostic(path=path, line=1, column=1, severity=severity, code=code, message=message)


def outside(folder: Folder, path: Path) -> bool:
    """Whether a path of a workspace folder leads out of it; such a file counts only where its content is trusted."""
    return folder.root is not None and not path.resolve().is_relative_to(folder.root.resolve())


def outside_fault(path: Path) -> Diagnostic:
    """A link that is not followed."""
    return fault(path, "error", "outside-link", "a link out of the workspace is not followed before it is trusted")
