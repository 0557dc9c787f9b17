"""Which sandbox an agent's commands run in, by its policy (decision 0050)."""

from __future__ import annotations

from pathlib import Path

from ensign.permissions.policy import Policy
from ensign.protocol.access import Mode
from ensign.workspace.sandbox import Confinement

_KEPT = (
    *(".git/config", ".git/hooks", ".vscode", ".idea", ".ensign", ".claude", ".husky", ".cursor", ".zed"),
    *(".devcontainer", ".mcp.json", ".envrc"),
)
"""What others run or believe later, outside of the sandbox."""


def confinement_under(policy: Policy) -> Confinement | None:
    """Return the sandbox of commands under a policy; None where they run outside."""
    reading = policy.mode is Mode.PLAN
    if not policy.confined and not (reading and policy.sandbox != "off"):
        return None
    folders = (*policy.roots, *policy.worktrees)
    return Confinement(
        folders=folders,
        writable=not reading,
        readable=policy.readable,
        kept=() if reading else (*(path for folder in folders for path in _kept_in(folder)), *policy.off_limits),
        required=policy.confined or policy.sandbox == "required",
    )


def _kept_in(folder: Path) -> list[Path]:
    # A worktree's .git is a file, which says where git's settings are.
    names = (".git", *_KEPT) if (folder / ".git").is_file() else _KEPT
    return [folder / name for name in names]
