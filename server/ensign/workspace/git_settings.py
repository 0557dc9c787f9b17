"""What a repository's own git settings would run, read without git: a plain `git status` obeys them (P9).

Read more broadly than git does: what cannot be understood counts as running something. Nothing is followed: a file that
is included counts as running something, too. It blocks (a few small files are read).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ensign.protocol.value import frozen

_MAX_BYTES = 1024 * 1024
_HEADER = re.compile(r'[ \t\r]*\[[ \t]*([A-Za-z0-9.-]+)[ \t]*(?:"((?:[^"\\]|\\.)*)"[ \t]*)?\]')
_KEY = re.compile(r"[ \t\r]*([A-Za-z][A-Za-z0-9-]*)[ \t\r]*(?:=(.*))?", re.DOTALL)
_BLANK = re.compile(r"[ \t\r]*(?:[#;].*)?", re.DOTALL)
_SECTIONS = frozenset(("alias", "include", "includeif", "pager", "mergetool", "difftool", "guitool", "man", "browser"))
_KEYS = frozenset(
    (
        *("fsmonitor", "hookspath", "hook", "editor", "pager", "askpass", "sshcommand", "gitproxy", "program"),
        *("external", "command", "cmd", "textconv", "clean", "smudge", "process", "driver", "helper", "difffilter"),
        *("packobjectshook", "alternaterefscommand", "uploadpack", "receivepack", "vcs", "templatedir", "path"),
        *("tool", "tocmd", "cccmd", "headercmd", "sendmailcmd", "smtpserver", "recentobjectshook", "defaultkeycommand"),
    )
)
_SWITCH = frozenset(("", "true", "false", "yes", "no", "on", "off", "0", "1"))
"""`core.fsmonitor` as a switch is git's own watcher."""
_HOOKS = ("post-index-change", "reference-transaction", "fsmonitor-watchman", "query-watchman")
"""The hooks that reading may set off; all others belong to commands that change something, which ask."""


@frozen
class GitPrograms:
    """A file of a repository that makes git run something; `runs` has what, one setting each, as written."""

    path: Path
    data: bytes
    runs: tuple[str, ...]


def git_programs(folder: Path) -> tuple[GitPrograms, ...]:
    """Return what git would run in a folder by the settings of the repository it is in; empty outside of one."""
    found: list[GitPrograms] = []
    for top, git in _repositories(folder):
        common = _common(git)
        for path in dict.fromkeys((common / "config", git / "config", git / "config.worktree")):
            data = _read(path)
            if data is not None and (runs := tuple(_runs(data, git, top))):
                found.append(GitPrograms(path=path, data=data, runs=runs))
        for name in _HOOKS:
            path = common / "hooks" / name
            data = _read(path)
            if data is not None and os.access(path, os.X_OK):
                found.append(GitPrograms(path=path, data=data, runs=(f"the hook {name}",)))
    return tuple(found)


def watched(folder: Path) -> list[Path]:
    """The files and folders whose change may change the answer."""
    found = [folder / ".git"] if (folder / ".git").is_file() else []
    for _, git in _repositories(folder):
        common = _common(git)
        found += [common / "config", git / "config", git / "config.worktree", common / "hooks"]
    return list(dict.fromkeys(found or [folder / ".git" / "config"]))


def _repositories(folder: Path) -> Iterator[tuple[Path, Path]]:
    """The repository that git would find from here, with the folder it is the work tree of: at most one."""
    for here in (folder, *folder.parents):
        git = here / ".git"
        if git.is_dir():
            yield here, git
            return
        if git.is_file():
            text = (_read(git) or b"").decode(errors="surrogateescape")
            yield here, Path(os.path.normpath(here / text.removeprefix("gitdir:").strip()))
            return
        # A bare one: its settings lie open among the files of a folder.
        if (here / "HEAD").is_file() and (here / "objects").is_dir() and (here / "refs").is_dir():
            yield here, here
            return


def _common(git: Path) -> Path:
    """Where a linked worktree has its settings."""
    text = _read(git / "commondir")
    return git if text is None else Path(os.path.normpath(git / text.decode(errors="surrogateescape").strip()))


def _read(path: Path) -> bytes | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        # git cannot read it either, or says so; there is nothing to show.
        return None


def _runs(data: bytes, git: Path, top: Path) -> Iterator[str]:
    text = data.decode("utf-8", errors="surrogateescape").removeprefix("\ufeff")
    if len(data) >= _MAX_BYTES:
        yield "more than can be read"
    section = ""
    for line in text.split("\n"):
        rest = line
        while header := _HEADER.match(rest):
            section = ".".join(filter(None, (header[1], header[2]))).lower()
            rest = rest[header.end() :]
        if _BLANK.fullmatch(rest):
            continue
        key = _KEY.fullmatch(rest)
        # A continued line is part of a value for git, and could pass here for a section.
        if key is None or rest.rstrip("\r").endswith("\\"):
            yield f"a line that is not understood: {line.strip()}"
        elif _is_program(section, key[1].lower(), (key[2] or "").strip(), (git, top)):
            yield f"{section}.{key[1]} = {(key[2] or '').strip()}"


def _is_program(section: str, key: str, value: str, places: tuple[Path, Path]) -> bool:
    plain = value.split("#", maxsplit=1)[0].split(";", maxsplit=1)[0].strip().strip('"')
    if section == "core" and key == "fsmonitor":
        return plain.lower() not in _SWITCH
    if section == "core" and key == "worktree":
        return Path(os.path.realpath(places[0] / plain)) != Path(os.path.realpath(places[1]))
    first = section.split(".", maxsplit=1)[0]
    return first in _SECTIONS or key in _KEYS or plain.startswith("!") or "ext::" in value or "ext::" in section
