"""A worktree for a subagent, against `git worktree add` and `git worktree remove` run by hand."""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path

from ensign.workspace.processes import Processes
from ensign.workspace.worktrees import Worktrees
from tests.bench.figures import Row, paired
from tests.workspace.repository import ENVIRONMENT, Repository, empty

FILES = 10_000


async def worktrees(folder: Path, pairs: int) -> list[Row]:
    """Made, and removed again as nothing was changed."""
    repository = empty(folder / "repository")
    _grow(repository)
    processes = Processes(ENVIRONMENT)
    trees = Worktrees(folder / "worktrees", processes, ENVIRONMENT)
    made: list[tuple[float, float]] = []
    removed: list[tuple[float, float]] = []
    try:
        for number in range(pairs + 1):
            began = time.monotonic()
            worktree = await trees.create(repository.path, f"agent-{number}", "bench")
            own_made = time.monotonic() - began
            began = time.monotonic()
            assert (await trees.settle(worktree)).state == "removed"
            own_removed = time.monotonic() - began
            bare = str(folder / f"bare-{number}")
            bare_made = await _git(repository, "worktree", "add", "--quiet", "-b", f"bare-{number}", bare)
            bare_removed = await _git(repository, "worktree", "remove", bare)
            if number:
                made.append((own_made, bare_made))
                removed.append((own_removed, bare_removed))
    finally:
        await trees.close()
        await processes.close()
    return [
        paired(f"worktree of {FILES:,} files", made, target=1.3, note="bare: git worktree add"),
        paired("the same removed", removed, target=None, note="bare: git worktree remove, which proves less"),
    ]


async def _git(repository: Repository, *arguments: str) -> float:
    began = time.monotonic()
    await asyncio.to_thread(
        subprocess.run, ("git", *arguments), cwd=repository.path, env=ENVIRONMENT, check=True, capture_output=True
    )
    return time.monotonic() - began


def _grow(repository: Repository) -> None:
    for number in range(FILES):
        place = repository.path / f"package{number % 100:02}"
        place.mkdir(exist_ok=True)
        (place / f"module{number}.py").write_text(f"def function_{number}():\n    return {number}\n" * 20)
    repository.commit("all")
