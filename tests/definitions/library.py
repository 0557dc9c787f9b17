"""The one place in these tests that knows how agent files are laid out and loaded."""

from __future__ import annotations

import os
from pathlib import Path

from ensign.definitions.catalogue import Definitions
from ensign.definitions.load import load
from ensign.definitions.sources import Folder, built_in_folder, folders
from ensign.definitions.vocabulary import Vocabulary
from ensign.protocol.trusted import Trusted, content_hash

BUILT_INS = ("Explore", "general-purpose", "Plan", "Verification")


def check_rule(rule: str) -> str | None:
    """A stand-in for the permission engine's own check: a name, with or without a pattern in parentheses."""
    name, paren, rest = rule.partition("(")
    if not name.isidentifier() or (paren and not rest.endswith(")")):
        return "not a rule"
    return None


def check_model(name: str) -> str | None:
    """A stand-in for the catalogue of models."""
    known = name in {"small", "haiku", "opus", "fast"} or name.startswith(("openai/", "local/"))
    return None if known and not name.endswith("/") else f"no model {name!r}"


WORDS = Vocabulary(
    tools=frozenset({"Read", "Write", "Edit", "Glob", "Grep", "Bash", "TodoWrite", "Agent"}),
    later_tools=frozenset({"WebFetch", "WebSearch", "NotebookEdit", "Skill"}),
    unserved=frozenset({"hooks", "skills", "memory", "isolation"}),
    check_model=check_model,
    check_rule=check_rule,
)


class Library:
    """A workspace, a home and their agent files, on a real disk."""

    def __init__(self, base: Path, *, trusted: bool = True) -> None:
        self.root = base / "project"
        self.home = base / "home"
        self.user = base / "state" / "agents"
        self.trusted = trusted
        self.root.mkdir(parents=True)
        self.home.mkdir()

    @property
    def project(self) -> Path:
        return self.root / ".ensign" / "agents"

    @property
    def claude(self) -> Path:
        return self.root / ".claude" / "agents"

    @property
    def user_claude(self) -> Path:
        return self.home / ".claude" / "agents"

    def folders(self) -> tuple[Folder, ...]:
        return folders(
            roots=[self.root],
            trusted=self.trust,
            user=self.user,
            home=self.home,
            built_in=built_in_folder(),
        )

    def trust(self, root: Path) -> Trusted:
        """Trust in every agent file as it is now, or in nothing."""
        files = _files(self.project, self.claude)
        hashes = {Trusted(root=root).name(path): content_hash(path.read_bytes()) for path in files}
        return Trusted(root=root, given=self.trusted, hashes=hashes)

    def load(self, words: Vocabulary = WORDS) -> Definitions:
        return load(self.folders(), words)

    def own(self, words: Vocabulary = WORDS) -> tuple[str, ...]:
        """Names in force beside the built-in ones."""
        return tuple(name for name in self.load(words).names() if name not in BUILT_INS)

    def problems(self, words: Vocabulary = WORDS) -> list[tuple[str, int, int, str, str]]:
        """File name, line, column, severity and code of every diagnostic."""
        return [
            (item.path.name, item.line, item.column, item.severity, item.code) for item in self.load(words).diagnostics
        ]


def _files(*tops: Path) -> list[Path]:
    walks = (os.walk(top, followlinks=True) for top in tops)
    paths = (Path(folder) / name for walk in walks for folder, _, names in walk for name in names)
    return [path for path in paths if path.is_file() and os.access(path, os.R_OK)]


def write(folder: Path, name: str, text: str | bytes) -> Path:
    """Write a file with its folders."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def agent(name: str = "a", description: str = "d", body: str = "Role.", **fields: str) -> str:
    """The text of an agent file."""
    lines = [f"{key}: {value}" for key, value in {"name": name, "description": description, **fields}.items()]
    return "\n".join(["---", *lines, "---", body, ""])
