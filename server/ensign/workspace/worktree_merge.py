"""The two ends that a person gives a worktree's work: merged into the checkout it came from, or discarded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ensign.protocol.errors import ToolError
from ensign.protocol.worktree import Worktree, WorktreeDiscarded, WorktreeMerged
from ensign.workspace.git import Git
from ensign.workspace.worktree_contents import HALF_DONE, look, tip_of
from ensign.workspace.worktree_notes import Held
from ensign.workspace.worktrees import Worktrees

_SHOWN = 5


async def merge(worktrees: Worktrees, worktree: Worktree, message: str, unsaved: Iterable[Path]) -> WorktreeMerged:
    """Commit what is uncommitted in a worktree, merge it into its main checkout, and clear it away.

    A conflict is left in the main checkout, where it is solved like any other; merging again afterwards clears away.
    `unsaved` are files with text in the editor that is not on disk.

    Raises:
        ToolError: why not; the main checkout is then as it was.
    """
    held = await worktrees.take(worktree)
    return await worktrees.to_the_end(held, _merge(worktrees, held, message, frozenset(unsaved)))


async def discard(worktrees: Worktrees, worktree: Worktree) -> WorktreeDiscarded:
    """Throw a worktree away with its work and its branch, because a person said so.

    Raises:
        ToolError: git did not.
    """
    held = await worktrees.take(worktree)
    return await worktrees.to_the_end(held, _discard(worktrees, held))


async def _merge(worktrees: Worktrees, held: Held, message: str, unsaved: frozenset[Path]) -> WorktreeMerged:
    git, main = worktrees.git, Path(held.note.worktree.main)
    await _fit(git, main)
    tip = await _committed(git, held, message, filters=False)
    said = await git.ask(main, "diff", "--name-only", "-z", "--no-renames", f"HEAD...{tip}", "--")
    changed = [name for name in said.split("\0") if name]
    if open_files := [name for name in changed if main / name in unsaved]:
        raise ToolError(f"not merged: {_list(open_files)} {_has(open_files)} unsaved changes in the editor; save first")
    if changed:
        await _refuse_filtered(git, main, changed)
        if conflicts := await _git_merge(git, main, held, tip, message):
            after = replace(held.note.worktree, state="conflict", reason="its merge has conflicts to be solved")
            held.write(after, "kept")
            return WorktreeMerged(worktree=after, conflicts=tuple(str(main / name) for name in conflicts))
    after = replace(held.note.worktree, state="merged", reason="")
    if left := (await look(git, held)).work:
        after = replace(after, state="kept", reason=f"merged, but something is left: {left}")
        held.write(after, "kept")
    else:
        await worktrees.remove(held, expected=tip)
    return WorktreeMerged(worktree=after)


async def _discard(worktrees: Worktrees, held: Held) -> WorktreeDiscarded:
    git, commit = worktrees.git, ""
    if (await look(git, held)).work and held.path.is_dir():
        commit = await _committed(git, held, f"Discarded from {held.note.worktree.branch}", filters=True)
    await worktrees.remove(held, expected=await tip_of(git, held))
    return WorktreeDiscarded(worktree=replace(held.note.worktree, state="discarded", reason=""), commit=commit)


async def _fit(git: Git, main: Path) -> None:
    """Refuse to merge into what is no checkout, or is in the middle of something."""
    where = await git.run(main, "rev-parse", "--is-inside-work-tree", "--absolute-git-dir")
    inside, _, folder = where.text.rstrip("\n").partition("\n")
    if where.code != 0 or inside != "true":
        raise ToolError(f"not merged: {str(main)!r} is no checkout; merge the branch where there is one")
    if busy := next((name for name in HALF_DONE if (Path(folder) / name).exists()), None):
        raise ToolError(f"not merged: something is under way in {str(main)!r} ({busy}); finish or abort it first")
    if await git.ask(main, "ls-files", "-z", "--unmerged"):
        raise ToolError(f"not merged: {str(main)!r} has conflicts that are not solved; solve them first")


async def _committed(git: Git, held: Held, message: str, *, filters: bool) -> str:
    """Commit everything in a worktree and return the commit.

    `filters` says whether files that settings filter may be committed as they are, though no filter runs.
    """
    if not held.path.is_dir():
        if tip := await tip_of(git, held):
            return tip
        raise ToolError(f"the worktree {str(held.path)!r} is gone, and so is its branch")
    if await git.ask(held.path, "ls-files", "-z", "--unmerged"):
        raise ToolError(f"the worktree {str(held.path)!r} has conflicts of its own; open it and solve them first")
    said = await git.ask(held.path, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    if names := [one[3:] for one in said.split("\0") if one]:
        if not filters:
            await _refuse_filtered(git, held.path, names)
        await git.ask(held.path, "add", "--all", "--", ".")
        done = await git.run(held.path, "commit", "--quiet", "--no-verify", "-m", message, identity=True)
        if done.code != 0:
            raise ToolError(f"the work in {str(held.path)!r} could not be committed: {done.why}")
    return (await git.ask(held.path, "rev-parse", "--verify", "HEAD^{commit}")).strip()


async def _refuse_filtered(git: Git, folder: Path, names: list[str]) -> None:
    """We run no filters, so files that need one would come out wrong."""
    if filtered := await git.filtered(folder, names):
        name, by = next(iter(filtered.items()))
        raise ToolError(
            f"not merged: {name!r} goes through the filter {by!r} of the git settings, which Ensign does not run; "
            "commit and merge the branch with git itself"
        )


async def _git_merge(git: Git, main: Path, held: Held, tip: str, message: str) -> list[str]:
    """Merge a commit; return the files in conflict, names as git has them."""
    branch = held.note.worktree.branch
    meant = await git.run(main, "rev-parse", "--verify", "--quiet", f"{branch}^{{commit}}")
    what = branch if meant.text.strip() == tip else tip
    options = ("--quiet", "--ff", "--no-edit", "--no-verify", "-m", message)
    before = await git.ask(main, "status", "--porcelain=v1", "-z")
    said = await git.run(main, "merge", *options, what, identity=True)
    if said.code == 0:
        return []
    conflicts = await git.ask(main, "diff", "--name-only", "-z", "--diff-filter=U")
    if conflicts:
        return [name for name in dict.fromkeys(conflicts.split("\0")) if name]
    if await git.ask(main, "status", "--porcelain=v1", "-z") != before:
        # Cut off half way, by a full disk perhaps: what git had begun is taken back.
        await git.ask(main, "reset", "--quiet", "--merge")
    raise ToolError(f"not merged, and nothing was changed in {str(main)!r}: {said.why}")


def _list(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(map(repr, names[:_SHOWN])) + (f" and {more} more" if more > 0 else "")


def _has(names: list[str]) -> str:
    return "has" if len(names) == 1 else "have"
