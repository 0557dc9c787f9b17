"""What a worktree holds that would be lost with it. Where git cannot tell, it holds something."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ensign.protocol.value import frozen
from ensign.workspace.git import Git
from ensign.workspace.worktree_notes import Held

HALF_DONE = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply")
_COUNTED_BYTES = 1 << 20


@frozen
class Contents:
    """What was found.

    Attributes:
        work: what would be lost with the worktree, in words; empty when there is provably nothing.
        tip: the commit that its branch pointed to; empty where there is no such branch.
        files, added, removed: the difference to the commit it started from.
    """

    work: str
    tip: str = ""
    files: int = 0
    added: int = 0
    removed: int = 0


class _UnknownError(Exception):
    """Git cannot tell."""


async def look(git: Git, held: Held, written: Iterable[str] = ()) -> Contents:
    """Find out what is in a worktree.

    Files that its agent has `written` by tools are its work even where git ignores them.
    """
    admin = await asyncio.to_thread(admin_of, held.common, held.path)
    tip = await tip_of(git, held)
    try:
        if not held.path.is_dir():
            return Contents(work=await _lost_commits(git, held, admin, tip), tip=tip)
        if admin is None:
            raise _UnknownError("git does not know it any more")
        found = await _look(git, held, admin, written)
        return replace(found, work=found.work or await _lost_commits(git, held, admin, tip), tip=tip)
    except _UnknownError as error:
        return Contents(work=f"git cannot tell what is in it: {error}", tip=tip)


async def _look(git: Git, held: Held, admin: Path, written: Iterable[str]) -> Contents:
    where = (await _said(git, held.path, "rev-parse", "--absolute-git-dir")).rstrip("\n")
    if Path(where).resolve() != admin:
        raise _UnknownError("its .git leads elsewhere")
    entries = await _status(git, held)
    hidden, set_up = await _index(git, held.path)
    files, added, removed = await _difference(git, held, [one[3:] for one in entries if one.startswith("??")])
    found = ""
    if entries:
        found = "uncommitted changes"
    elif hidden:
        raise _UnknownError(f"the index hides changes of {hidden!r}")
    elif set_up or _holds_something(admin / "modules"):
        found = "a submodule was set up in it"
    elif busy := next((one for one in HALF_DONE if (admin / one).exists()), None):
        found = f"git has begun something in it ({busy})"
    elif ignored := await _ignored(git, held.path, written):
        found = f"its agent wrote {ignored!r}, which git ignores"
    return Contents(work=found, files=files, added=added, removed=removed)


def admin_of(common: Path, path: Path) -> Path | None:
    """The folder that git keeps for a worktree, by what git has noted there and not by what is in the worktree."""
    try:
        for folder in (common / "worktrees").iterdir():
            noted = folder / "gitdir"
            if noted.is_file() and Path(os.fsdecode(noted.read_bytes().rstrip(b"\n"))) == path / ".git":
                return folder.resolve()
    except FileNotFoundError:
        return None
    return None


async def _status(git: Git, held: Held) -> list[str]:
    """What differs from the last commit; while it is being made or removed, what is missing is nobody's doing."""
    said = await _said(
        *(git, held.path, "status", "--porcelain=v1", "-z", "--untracked-files=all"),
        *("--ignore-submodules=none", "--no-renames"),
    )
    unfinished = held.note.phase in {"creating", "removing"}
    return [one for one in said.split("\0") if one and not (unfinished and one[:2] in {" D", "D "})]


async def _index(git: Git, path: Path) -> tuple[str, bool]:
    """A file whose changes the index hides from `status`, and whether a submodule was set up."""
    hidden, set_up = "", False
    for line in (await _said(git, path, "ls-files", "-z", "-s", "-v")).split("\0"):
        if not line:
            continue
        facts, _, name = line.partition("\t")
        tag, mode, *_ = facts.split()
        if tag.islower() or (tag == "S" and (path / name).exists()):
            hidden = name
        set_up = set_up or (mode == "160000" and (path / name / ".git").exists())
    return hidden, set_up


async def _difference(git: Git, held: Held, untracked: list[str]) -> tuple[int, int, int]:
    said = await _said(
        *(git, held.path, "diff", "--numstat", "-z", "--no-ext-diff", "--no-textconv", "--no-renames"),
        *("--ignore-submodules=dirty", held.note.worktree.base, "--"),
    )
    files = added = removed = 0
    for line in filter(None, said.split("\0")):
        more, less, _ = line.split("\t", 2)
        files += 1
        added += int(more) if more.isdigit() else 0
        removed += int(less) if less.isdigit() else 0
    lines = await asyncio.to_thread(lambda: sum(_lines(held.path / name) for name in untracked))
    return files + len(untracked), added + lines, removed


async def _ignored(git: Git, path: Path, written: Iterable[str]) -> str:
    """The first of the agent's own files that git ignores, and that would go with the worktree."""
    names = [str(Path(one).relative_to(path)) for one in written if _in(Path(one), path)]
    if not names:
        return ""
    said = await _said(git, path, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", *names)
    return said.partition("\0")[0]


def _lines(path: Path) -> int:
    """The lines of a new file; of one that is no file, or a very large one, none are counted."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _COUNTED_BYTES:
            return 0
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0


async def _lost_commits(git: Git, held: Held, admin: Path | None, tip: str) -> str:
    """Name commits that nothing but this worktree and its branch reaches, also those that its agent has dropped."""
    worktree = held.note.worktree
    seen, on = await asyncio.to_thread(_seen_by, admin)
    made = {tip} | seen
    made -= {worktree.base, ""}
    if not made:
        return ""
    said = await git.run(
        held.common,
        *(f"--git-dir={held.common}", "rev-list", "--count", *sorted(made)),
        *("--not", worktree.base, *await _checked_out(git, held), f"--exclude=refs/heads/{worktree.branch}"),
        *([f"--exclude={on}"] if on else []),
        *("--single-worktree", "--all"),
    )
    if said.code != 0:
        raise _UnknownError(said.why)
    count = int(said.text)
    return f"{count} commit{'' if count == 1 else 's'}" if count else ""


async def _checked_out(git: Git, held: Held) -> list[str]:
    """The commits that other worktrees are at; what these reach is safe."""
    said = await _said(git, held.common, f"--git-dir={held.common}", "worktree", "list", "--porcelain", "-z")
    found: list[str] = []
    for block in said.split("\0\0"):
        parted = [line.partition(" ") for line in block.split("\0")]
        lines = {name: value for name, _, value in parted}
        if lines.get("worktree") != str(held.path) and "HEAD" in lines and lines["HEAD"].strip("0"):
            found.append(lines["HEAD"])
    return found


async def tip_of(git: Git, held: Held) -> str:
    """The commit that the worktree's branch points to; empty where it has none any more."""
    said = await git.run(
        *(held.common, f"--git-dir={held.common}", "rev-parse", "--verify", "--quiet"),
        f"refs/heads/{held.note.worktree.branch}^{{commit}}",
    )
    return said.text.strip() if said.code == 0 else ""


def _seen_by(admin: Path | None) -> tuple[set[str], str]:
    """Every commit that the worktree's HEAD has been at, by git's own record, and the branch it is on now."""
    if admin is None:
        return set(), ""
    head, record, on = admin / "HEAD", admin / "logs" / "HEAD", ""
    found: set[str] = set()
    if head.is_file():
        text = head.read_text(encoding="utf-8", errors="replace").strip()
        on = text.removeprefix("ref: ") if text.startswith("ref: ") else ""
        found |= set() if on else {text}
    if record.is_file():
        lines = record.read_text(encoding="utf-8", errors="replace").splitlines()
        found |= {parts[1] for parts in (line.split(" ", 2) for line in lines) if len(parts) > 1}
    return {one for one in found if one.strip("0")}, on


async def _said(git: Git, folder: Path, *arguments: str) -> str:
    result = await git.run(folder, *arguments)
    if result.code != 0:
        raise _UnknownError(result.why)
    return result.text


def _holds_something(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _in(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder) and path.exists()
