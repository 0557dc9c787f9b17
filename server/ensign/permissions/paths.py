"""Where a spelling leads: through links, `..`, `~`, `/proc`, and parents that do not exist yet."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from ensign.permissions.programs import names
from ensign.protocol.value import frozen

_HOME = re.compile(r"~(?=/|$)|\$HOME(?=/|$)|\$\{HOME\}(?=/|$)")
_PROC_ROOT = re.compile(r"/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/(root|cwd)(?=/|$)")
_IGNORED = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")

_FOLDERS = frozenset((".git", ".vscode", ".idea", ".ensign", ".claude", ".husky", ".cursor", ".zed", ".devcontainer"))
_CREDENTIALS = frozenset((".ssh", ".aws", ".azure", ".kube", ".docker", ".gnupg", ".password-store"))
_FILES = names(
    ".mcp.json .ripgreprc .gitconfig .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc "
    ".zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .inputrc .xprofile .xinitrc .envrc .npmrc "
    ".yarnrc .yarnrc.yml .pypirc .pythonstartup .gdbinit .lldbinit .vimrc .exrc"
)
_SECRETS = frozenset((".netrc", "_netrc", ".git-credentials", ".pgpass", ".npmrc", ".pypirc"))
_BELOW_CONFIG = {"gcloud", "gh", "fish", "git"}
_SECRET_CONFIG = {"gcloud", "gh"}
_NUMBERED_KEY = re.compile(r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?")

HARMLESS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"))
"""Devices whose reading and writing changes nothing."""


@frozen
class Target:
    """A path as spelled (absolute, `..` removed by text) and as resolved through every link."""

    shown: str
    spelled: Path
    real: Path

    @property
    def both(self) -> tuple[Path, ...]:
        """Every form that a rule may be held against."""
        return (self.spelled,) if self.spelled == self.real else (self.spelled, self.real)


def resolve(spelling: str, cwd: Path, home: Path) -> Target:
    """Say where a spelling leads. Touches the disk only to read links; nothing needs to exist."""
    text = _HOME.sub(lambda _: str(home), spelling, count=1) if spelling[:1] in ("~", "$") else spelling
    absolute = os.path.join(cwd, text)  # noqa: PTH118 - Path would drop a doubled leading slash's meaning
    if "/proc/" in absolute:
        plain = os.path.normpath(absolute)
        absolute = _PROC_ROOT.sub(lambda found: "" if found[1] == "root" else str(cwd), plain) or "/"
    spelled = os.path.normpath(absolute)
    spelled = "/" + spelled.lstrip("/")
    try:
        real = os.path.realpath(absolute)
    except (OSError, ValueError):
        real = spelled
    return Target(shown=spelling, spelled=Path(spelled), real=Path("/" + real.lstrip("/")))


def proc_suffixes(path: Path) -> Iterable[Path]:
    """A path below `/proc` may show another tree: every tail of it, as an absolute path."""
    parts = path.parts
    if len(parts) > 3 and parts[1] == "proc":
        for at in range(2, len(parts)):
            yield Path("/", *parts[at:])


def inside(path: Path, folders: Iterable[Path]) -> Path | None:
    """The folder that holds `path`, or None."""
    return next((folder for folder in folders if path == folder or path.is_relative_to(folder)), None)


def fold(component: str) -> str:
    """A name as the most forgiving file system reads it: no case, invisible characters, trailing dots, streams."""
    name = component if component.isascii() else _IGNORED.sub("", unicodedata.normalize("NFKC", component))
    name = name.casefold().partition(":")[0].rstrip(". ") or component.casefold()
    return ".git" if name == "git~1" else name


def protected(path: Path, folders: Iterable[Path], ours: Iterable[Path]) -> str | None:
    """Name what makes `path` protected against writing (P15), or None; `folders` are the workspace's."""
    root = inside(path, folders)
    parts = [fold(part) for part in (path.relative_to(root).parts if root else path.parts[1:])]
    for at, part in enumerate(parts):
        if part in _FOLDERS or part in _CREDENTIALS:
            return part + "/"
        if part == ".config" and parts[at + 1 : at + 2] and parts[at + 1] in _BELOW_CONFIG:
            return f".config/{parts[at + 1]}/"
    name = parts[-1] if parts else ""
    if name in _FILES or name in _SECRETS or name.endswith(".code-workspace") or _NUMBERED_KEY.fullmatch(name):
        return name
    if root is None and (held := inside(path, ours)):
        return str(held)
    return None


def secret(path: Path, home: Path) -> str | None:
    """Name what makes reading `path` a matter for a person: SSH and cloud credentials."""
    parts = [fold(part) for part in path.parts[1:]]
    for at, part in enumerate(parts):
        if part in _CREDENTIALS and (part != ".docker" or path.is_relative_to(home)):
            return part + "/"
        if part == ".config" and parts[at + 1 : at + 2] and parts[at + 1] in _SECRET_CONFIG:
            return f".config/{parts[at + 1]}/"
    name = parts[-1] if parts else ""
    if name in _SECRETS - _FILES or (_NUMBERED_KEY.fullmatch(name) and not name.endswith(".pub")):
        return name
    return None
