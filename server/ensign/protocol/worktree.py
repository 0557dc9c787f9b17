"""A git worktree of an agent's own, as records, facts and the wire show it."""

from __future__ import annotations

from typing import Literal

from ensign.protocol.value import Value, frozen

WorktreeState = Literal["live", "kept", "conflict", "merged", "removed", "discarded"]


@frozen
class Worktree(Value):
    """A separate copy of a checkout, on a branch of its own (W1, W2).

    Attributes:
        base: the commit it started from.
        main: the checkout that it was made from, and that its work is merged into.
        state: `live` while its agent runs; `conflict` when merging it left conflicts in `main` to be solved there.
        reason: why it was kept, or what became of it.
        files, added, removed: the difference to `base`, committed or not: files and lines.
    """

    path: str
    branch: str
    base: str
    main: str
    state: WorktreeState = "live"
    reason: str = ""
    files: int = 0
    added: int = 0
    removed: int = 0

    @property
    def there(self) -> bool:
        """Whether it is still on disk, by what is known."""
        return self.state in {"live", "kept", "conflict"}

    @property
    def in_words(self) -> str:
        """One line for people and models."""
        stat = f"{self.files} file{'' if self.files == 1 else 's'}, +{self.added} -{self.removed}"
        match self.state:
            case "removed":
                return f"worktree {self.path} removed: {self.reason}"
            case "merged" | "discarded":
                return f"worktree {self.path} {self.state}"
            case "live":
                return f"worktree {self.path} on branch {self.branch}"
            case _:
                return f"worktree {self.path} on branch {self.branch}: {stat} ({self.reason})"


@frozen
class WorktreeMerged(Value):
    """Answer to `ensign/worktree/merge`; `conflicts` are files in the main checkout that are to be solved there."""

    worktree: Worktree
    conflicts: tuple[str, ...] = ()


@frozen
class WorktreeDiscarded(Value):
    """Answer to `ensign/worktree/discard`; `commit` holds the work until git cleans up, empty if there was none."""

    worktree: Worktree
    commit: str = ""
