"""From a path as somebody spelled it to the one real path it means; permissions and tools both start here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from ensign.protocol.errors import DeniedError, ToolError

_NETWORK = re.compile(r"[\\/]{2}|\\\?\?\\")
"""`\\\\server\\share`, `//server/share`, `\\??\\UNC\\...`: opening one makes Windows send credentials to the server."""
_HOME = re.compile(r"(~|\$HOME|\$\{HOME\}|%USERPROFILE%)(?=[/\\]|$)")


def resolve(spelled: str, *, cwd: Path, home: Path) -> Path:
    """Return the absolute path that `spelled` means: through `~`, `$HOME`, links, `..` and `/proc/self/cwd`.

    What does not exist yet is resolved as far as it exists, so that a link to a folder outside is seen through for a
    new file in it. On a file system that ignores case the result is spelled as on disk.

    Raises:
        DeniedError: a network path; it is refused before anything touches it.
        ToolError: empty, or with characters that no path can hold.
    """
    if not spelled.strip():
        raise ToolError("the path is empty")
    if _NETWORK.match(spelled):
        raise DeniedError(f"{spelled!r} is a network path, and these are never opened", by="filter", target=spelled)
    if "\0" in spelled:
        raise ToolError(f"{spelled!r} holds a null character")
    try:
        os.fsencode(spelled)
    except UnicodeEncodeError as error:
        raise ToolError(f"{spelled!r} cannot be the name of a file: {error.reason}") from error
    expanded = _HOME.sub(lambda _: str(home), spelled, count=1) if spelled[0] in "~$%" else spelled
    return spelled_as_on_disk(Path(os.path.realpath(cwd / expanded)))


def inside(path: Path, roots: Iterable[Path]) -> bool:
    """Whether a resolved path is one of these resolved folders or below one."""
    return any(path.is_relative_to(root) for root in roots)


def spelled_as_on_disk(path: Path) -> Path:
    """Return a resolved path with each name in the case the folder has it; itself where case matters.

    Whether case matters is asked of the file system (one `stat` of the name in the other case), not of the platform:
    both kinds are mounted on all of them.
    """
    existing, missing = _split_existing(path)
    probe = existing
    while (other := probe.name.swapcase()) == probe.name:
        if probe == probe.parent:
            return path
        probe = probe.parent
    try:
        if not probe.samefile(probe.with_name(other)):
            return path
    except OSError:
        return path
    names: list[str] = []
    while existing != existing.parent:
        names.append(_listed(existing))
        existing = existing.parent
    return existing.joinpath(*reversed(names), *missing)


def _split_existing(path: Path) -> tuple[Path, list[str]]:
    missing: list[str] = []
    while path != path.parent and not os.path.lexists(path):
        missing.insert(0, path.name)
        path = path.parent
    return path, missing


def _listed(path: Path) -> str:
    """Return the name under which the folder lists `path`."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return path.name
    if path.name in names:
        return path.name
    folded = path.name.casefold()
    return next((name for name in names if name.casefold() == folded), path.name)


def display(path: Path, cwd: Path) -> str:
    """Return `path` as people and models read it best: relative to `cwd` when below it."""
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
