"""Merging and discarding worktrees over real git: whole or not at all, and nothing left afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ensign.protocol.errors import ToolError
from ensign.protocol.worktree import Worktree
from ensign.workspace.processes import Processes
from ensign.workspace.worktree_merge import discard, merge
from ensign.workspace.worktrees import Worktrees
from tests.workspace.repository import ENVIRONMENT, Repository, made

MESSAGE = "Change a line (subagent general-purpose)"


@pytest.fixture
async def trees(tmp_path: Path) -> AsyncIterator[Worktrees]:
    processes = Processes(ENVIRONMENT)
    yield Worktrees(tmp_path / "home" / "worktrees", processes, ENVIRONMENT)
    await processes.close()


async def worked(trees: Worktrees, repository: Repository, name: str, **files: str) -> Worktree:
    """Make a worktree, leave uncommitted work in it, and settle it."""
    worktree = await trees.create(repository.path, name, "the agent")
    for file, text in files.items():
        path = Path(worktree.path) / file.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return await trees.settle(worktree)


@pytest.mark.slow
async def test_three_change_one_file_and_are_merged_one_after_the_other_the_third_with_a_conflict(
    trees: Worktrees, tmp_path: Path
) -> None:
    repository = made(tmp_path / "w", a__txt="one\ntwo\nthree\nfour\nfive\n")
    first = await worked(trees, repository, "agent-1", a__txt="ONE\ntwo\nthree\nfour\nfive\n")
    second = await worked(trees, repository, "agent-2", a__txt="one\ntwo\nthree\nfour\nFIVE\n", new__txt="x\n")
    third = await worked(trees, repository, "agent-3", a__txt="1\ntwo\nthree\nfour\nfive\n")
    assert repository.status == ""
    for worktree in (first, second):
        merged = await merge(trees, worktree, MESSAGE, ())
        assert (merged.worktree.state, merged.conflicts) == ("merged", ())
    a = repository.path / "a.txt"
    assert a.read_text() == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert (repository.path / "new.txt").exists()
    assert repository.status == ""

    conflict = await merge(trees, third, MESSAGE, ())
    assert (conflict.worktree.state, conflict.conflicts) == ("conflict", (str(a),))
    assert "<<<<<<< HEAD\nONE\n=======\n1\n>>>>>>> agent-3" in a.read_text()
    with pytest.raises(ToolError, match=r"something is under way in '.*' \(MERGE_HEAD\); finish or abort it first"):
        await merge(trees, conflict.worktree, MESSAGE, ())
    a.write_text("Eins\ntwo\nthree\nfour\nFIVE\n")
    repository.commit("solved")
    done = await merge(trees, conflict.worktree, MESSAGE, ())
    assert done.worktree.state == "merged"
    assert repository.as_before
    assert list(trees.home.iterdir()) == []


@pytest.mark.slow
async def test_a_conflict_that_was_solved_by_hand_is_cleared_away_at_the_next_start(
    trees: Worktrees, tmp_path: Path
) -> None:
    repository = made(tmp_path / "w")
    worktree = await worked(trees, repository, "agent-1", a__txt="ours\n")
    repository.commit("meanwhile", a__txt="theirs\n")
    await merge(trees, worktree, MESSAGE, ())
    assert await trees.leftovers() == []
    repository.commit("solved", a__txt="both\n")
    assert [one.state for one in await trees.leftovers()] == ["removed"]
    assert repository.as_before


@pytest.mark.slow
async def test_a_merge_that_would_lose_something_is_refused_and_changes_nothing(
    trees: Worktrees, tmp_path: Path
) -> None:
    repository = made(tmp_path / "w", a__txt="a\n", b__txt="b\n")
    worktree = await worked(trees, repository, "agent-1", a__txt="from the agent\n")
    a, b = (repository.path / name for name in ("a.txt", "b.txt"))
    a.write_text("dirty\n")
    with pytest.raises(ToolError, match=r"nothing was changed in .* would be overwritten by merge: a.txt"):
        await merge(trees, worktree, MESSAGE, ())
    repository.git("checkout", "--quiet", "a.txt")
    with pytest.raises(ToolError, match=r"'a.txt' has unsaved changes in the editor; save first"):
        await merge(trees, worktree, MESSAGE, [a])
    lock = repository.path / ".git" / "index.lock"
    lock.touch()
    with pytest.raises(ToolError, match=r"nothing was changed in .*index.lock"):
        await merge(trees, worktree, MESSAGE, ())
    lock.unlink()
    assert (a.read_text(), repository.status) == ("a\n", "")
    b.write_text("dirty, and none of its business\n")
    assert (await merge(trees, worktree, MESSAGE, [b])).worktree.state == "merged"
    assert (a.read_text(), b.read_text()) == ("from the agent\n", "dirty, and none of its business\n")
    assert repository.as_before


@pytest.mark.slow
async def test_files_of_a_filter_are_not_merged_as_we_run_none_and_others_are(trees: Worktrees, tmp_path: Path) -> None:
    repository = made(tmp_path / "w", __gitattributes="*.bin filter=upper\n", a__txt="a\n", data__bin="x\n")
    repository.git("config", "filter.upper.clean", "tr a-z A-Z")
    repository.git("config", "filter.upper.smudge", "touch CANARY")
    binary = await worked(trees, repository, "agent-1", data__bin="y\n")
    text = await worked(trees, repository, "agent-2", a__txt="b\n")
    with pytest.raises(ToolError, match=r"'data.bin' goes through the filter 'upper'"):
        await merge(trees, binary, MESSAGE, ())
    assert (await merge(trees, text, MESSAGE, ())).worktree.state == "merged"
    assert repository.git("log", "-1", "--format=%s %an") == f"{MESSAGE} Ensign"
    assert not list(tmp_path.rglob("CANARY"))


@pytest.mark.slow
async def test_what_is_discarded_can_be_had_again_for_a_while(trees: Worktrees, tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    worktree = await worked(trees, repository, "agent-1", a__txt="valuable\n", new__txt="new\n")
    gone = await discard(trees, worktree)
    assert gone.worktree.state == "discarded"
    assert repository.as_before
    assert repository.git("show", f"{gone.commit}:a.txt") == "valuable"
    assert repository.git("show", f"{gone.commit}:new.txt") == "new"
    with pytest.raises(ToolError, match="is gone, or an agent works in it"):
        await discard(trees, worktree)


async def test_a_link_out_of_a_worktree_is_not_followed_when_it_is_removed(trees: Worktrees, tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    worktree = await trees.create(repository.path, "agent-1", "the agent")
    (Path(worktree.path) / "out").symlink_to(repository.path)
    await trees.settle(worktree)
    await discard(trees, worktree)
    assert (repository.path / "a.txt").exists()
    assert repository.as_before


async def test_a_bare_repository_has_nothing_to_merge_into(trees: Worktrees, tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    repository.git("clone", "--quiet", "--bare", str(repository.path), str(tmp_path / "bare"))
    worktree = await worked(trees, Repository(tmp_path / "bare"), "agent-1", a__txt="x\n")
    with pytest.raises(ToolError, match="is no checkout; merge the branch where there is one"):
        await merge(trees, worktree, MESSAGE, ())
