"""The system prompt of an agent, from parts in a fixed order (C1)."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ensign.protocol.value import frozen

INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")
INSTRUCTION_BYTES = 40_000
"""Cap of one instructions file; what is beyond is cut and the cut is said (the size Claude Code warns at)."""


@frozen
class Environment:
    """Facts about where an agent works, read when it starts."""

    cwd: Path
    roots: tuple[Path, ...]
    platform: str
    date: str
    model: str
    branch: str | None
    worktree: str = ""
    """What an agent in a worktree of its own must know of it."""


@cache
def text_of(name: str) -> str:
    """Return one of the prompts that ship beside this module, without its final newline."""
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").rstrip("\n")


def render(*, base: str, role: str, environment: Environment, instructions: str) -> str:
    """Join the parts; empty ones leave no trace."""
    parts = (base, role.strip(), environment_text(environment), instructions)
    return "\n\n".join(part for part in parts if part)


def environment_text(environment: Environment) -> str:
    """Describe where the agent works."""
    lines = [
        "# Environment",
        f"- Working directory: {environment.cwd}",
        *(f"- Workspace folder: {root}" for root in environment.roots if root != environment.cwd),
        *([f"- Git branch (a snapshot, not kept up to date): {environment.branch}"] if environment.branch else []),
        f"- Platform: {environment.platform}",
        f"- Date: {environment.date}",
        f"- Model: {environment.model}",
        *([f"- {environment.worktree}"] if environment.worktree else []),
    ]
    return "\n".join(lines)


async def read_instructions(roots: Sequence[Path]) -> str:
    """Return the project's own instructions, each file under a heading that says where it is from; empty if none."""
    return await asyncio.to_thread(_read_instructions, tuple(roots))


def _read_instructions(roots: Sequence[Path]) -> str:
    found: list[str] = []
    for root in roots:
        for name in INSTRUCTION_FILES:
            path = root / name
            try:
                if not path.is_file():
                    continue
                with path.open("rb") as file:
                    data = file.read(INSTRUCTION_BYTES + 1)
            except OSError:
                # An unreadable instructions file must not keep an agent from starting; it is the project's, not ours.
                continue
            text = visible(data[:INSTRUCTION_BYTES].decode("utf-8", errors="replace"))
            if len(data) > INSTRUCTION_BYTES:
                text += f"\n[cut after {INSTRUCTION_BYTES:,} bytes]"
            found.append(f"# Project instructions from {path}\n\n{text.strip()}")
    return "\n\n".join(found)


def visible(text: str) -> str:
    """Drop characters that people cannot see (format and control characters but tab and line ends)."""
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in {"Cf", "Cc", "Co", "Cs"})


def read_branch(root: Path) -> str | None:
    """Return the checked-out branch by reading `.git/HEAD`; no git runs, so nothing of the repository does (P9)."""
    git = root / ".git"
    try:
        if git.is_file():
            git = root / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return visible(head.removeprefix("ref: refs/heads/"))[:200] if head.startswith("ref: ") else f"detached {head[:12]}"
