"""Worktrees over real git: made in every odd state, never losing work, leaving nothing when there is none."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from ensign.protocol.errors import ToolError
from ensign.protocol.worktree import Worktree
from ensign.workspace.processes import Processes
from ensign.workspace.worktrees import Worktrees
from tests.workspace.repository import ENVIRONMENT, Repository, empty, made


@pytest.fixture
async def trees(tmp_path: Path) -> AsyncIterator[Worktrees]:
    processes = Processes(ENVIRONMENT)
    yield Worktrees(tmp_path / "home" / "worktrees", processes, ENVIRONMENT | {"GIT_DIR": "/nowhere"})
    await processes.close()


async def create(trees: Worktrees, repository: Repository, name: str = "agent-1") -> Worktree:
    return await trees.create(repository.path, name, "the agent")


async def test_a_worktree_is_a_locked_copy_on_a_branch_of_its_own_and_goes_without_a_trace(
    trees: Worktrees, tmp_path: Path
) -> None:
    repository = made(tmp_path / "w")
    worktree = await create(trees, repository)
    assert (Path(worktree.path) / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert (worktree.branch, worktree.base) == ("agent-1", repository.git("rev-parse", "HEAD"))
    assert worktree.main == str(repository.path)
    assert "locked an agent of Ensign works in it" in repository.git("worktree", "list", "--porcelain")
    assert repository.git("status", "--porcelain", folder=Path(worktree.path)) == ""
    after = await trees.settle(worktree)
    assert (after.state, after.reason) == ("removed", "nothing was changed in it")
    assert repository.as_before
    assert list(trees.home.iterdir()) == []
    assert await trees.settle(after) == after


def edited(repository: Repository, path: Path) -> None:
    (path / "a.txt").write_text("one\n2\nthree\nfour\n")


def untracked(repository: Repository, path: Path) -> None:
    (path / "new.txt").write_text("x\n")


def deleted(repository: Repository, path: Path) -> None:
    (path / "a.txt").unlink()


def committed(repository: Repository, path: Path) -> None:
    Repository(path).commit("work", b__txt="b\n")


def dropped(repository: Repository, path: Path) -> None:
    committed(repository, path)
    repository.git("reset", "--quiet", "--hard", "HEAD~", folder=path)


def detached(repository: Repository, path: Path) -> None:
    repository.git("checkout", "--quiet", "--detach", folder=path)
    committed(repository, path)


def elsewhere(repository: Repository, path: Path) -> None:
    repository.git("checkout", "--quiet", "-b", "feature", folder=path)
    committed(repository, path)


def hidden(repository: Repository, path: Path) -> None:
    repository.git("update-index", "--assume-unchanged", "a.txt", folder=path)
    edited(repository, path)


def broken(repository: Repository, path: Path) -> None:
    (path / ".git").write_text("gitdir: /nowhere\n")


def no_index(repository: Repository, path: Path) -> None:
    admin = repository.path / ".git" / "worktrees" / path.name
    (admin / "index").write_bytes(b"not an index")


WORK = [
    (edited, "uncommitted changes", (1, 2, 1)),
    (untracked, "uncommitted changes", (1, 1, 0)),
    (deleted, "uncommitted changes", (1, 0, 3)),
    (committed, "1 commit", (1, 1, 0)),
    (dropped, "1 commit", (0, 0, 0)),
    (detached, "1 commit", (1, 1, 0)),
    (elsewhere, "1 commit", (1, 1, 0)),
    (hidden, "git cannot tell what is in it: the index hides changes of 'a.txt'", (0, 0, 0)),
    (broken, "git cannot tell what is in it: ", (0, 0, 0)),
    (no_index, "git cannot tell what is in it: ", (0, 0, 0)),
]


@pytest.mark.parametrize(("work", "reason", "stat"), WORK, ids=[one[0].__name__ for one in WORK])
async def test_work_is_kept_whatever_kind_it_is_of(
    trees: Worktrees,
    tmp_path: Path,
    work: Callable[[Repository, Path], None],
    reason: str,
    stat: tuple[int, int, int],
) -> None:
    repository = made(tmp_path / "w")
    worktree = await create(trees, repository)
    path = Path(worktree.path)
    work(repository, path)
    seen = sorted(one.name for one in path.iterdir())
    after = await trees.settle(worktree)
    assert after.state == "kept"
    assert after.reason.startswith(reason)
    assert (after.files, after.added, after.removed) == stat
    assert sorted(one.name for one in path.iterdir()) == seen
    assert worktree.branch in repository.branches
    assert "locked" not in repository.git("worktree", "list", "--porcelain")
    assert repository.status == ""


@pytest.mark.slow
async def test_an_ignored_file_is_work_when_the_agent_wrote_it_and_not_when_a_build_did(
    trees: Worktrees, tmp_path: Path
) -> None:
    repository = made(tmp_path / "w", __gitignore="out/\n", a__txt="a\n")
    for written, state in (((), "removed"), (("out/report.md",), "kept")):
        worktree = await create(trees, repository, f"agent-{state}")
        out = Path(worktree.path) / "out"
        out.mkdir()
        (out / "report.md").write_text("x\n")
        after = await trees.settle(worktree, [str(Path(worktree.path) / name) for name in written])
        assert after.state == state


@pytest.mark.slow
async def test_odd_repositories_get_a_worktree_like_any_other(trees: Worktrees, tmp_path: Path) -> None:
    repository = made(tmp_path / "ein Ordner, é")
    head = repository.commit("second", b__txt="b\n")
    repository.git("checkout", "--quiet", "--detach", "HEAD~")
    worktree = await create(trees, repository, "agent-detached")
    assert worktree.base == repository.git("rev-parse", "HEAD") != head
    assert (await trees.settle(worktree)).state == "removed"
    repository.git("checkout", "--quiet", "main")

    (repository.path / "a.txt").write_text("dirty\n")
    (repository.path / "untracked.txt").write_text("x\n")
    (repository.path / ".git" / "index.lock").touch()
    worktree = await create(trees, repository, "agent-dirty")
    assert (Path(worktree.path) / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert (await trees.settle(worktree)).state == "removed"
    (repository.path / ".git" / "index.lock").unlink()
    assert sorted(repository.status.splitlines()) == ["?? untracked.txt", "M a.txt"]

    linked = tmp_path / "linked"
    repository.git("worktree", "add", "--quiet", "-b", "other", str(linked))
    worktree = await trees.create(linked, "agent-linked", "the agent")
    assert worktree.main == str(linked)
    assert (await trees.settle(worktree)).state == "removed"
    assert repository.worktrees == [str(linked)]

    bare = tmp_path / "bare.git"
    repository.git("clone", "--quiet", "--bare", str(repository.path), str(bare))
    worktree = await trees.create(bare, "agent-bare", "the agent")
    assert (Path(worktree.path) / "a.txt").exists()
    assert (await trees.settle(worktree)).state == "removed"


async def test_without_a_repository_or_a_commit_there_is_none_and_it_says_why(trees: Worktrees, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(ToolError, match="is in none: not a git repository"):
        await trees.create(tmp_path / "plain", "agent-1", "the agent")
    with pytest.raises(ToolError, match=r"has none yet .*not a valid object name HEAD.*; commit something first"):
        await create(trees, empty(tmp_path / "w"))


@pytest.mark.slow
async def test_a_name_that_is_taken_is_passed_over(trees: Worktrees, tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    repository.git("branch", "agent-1")
    second = await create(trees, repository)
    third = await create(trees, repository)
    assert [second.branch, third.branch] == ["agent-1-2", "agent-1-3"]
    assert [(await trees.settle(one)).state for one in (second, third)] == ["removed", "removed"]
    assert repository.branches == ["agent-1", "main"]


@pytest.mark.slow
async def test_nothing_of_the_repository_runs(trees: Worktrees, tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    canary = tmp_path / "CANARY"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {canary}\ncat\n")
    program.chmod(0o755)
    hooks = repository.path / ".husky"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-merge"):
        (hooks / name).write_text(program.read_text())
        (hooks / name).chmod(0o755)
    repository.commit("evil", __gitattributes="* filter=e=vil merge=evil diff=evil\n")
    included = tmp_path / "included"
    for name, value in (
        ("core.hooksPath", ".husky"),
        ("core.fsmonitor", str(program)),
        ("filter.e=vil.smudge", str(program)),
        ("filter.e=vil.clean", str(program)),
        ("filter.e=vil.process", str(program)),
        ("filter.e=vil.required", "true"),
        ("diff.external", str(program)),
        ("diff.evil.textconv", str(program)),
        (f"includeIf.gitdir:{trees.home.parent}/**.path", str(included)),
        ("includeIf.gitdir:**/worktrees/**.path", str(included)),
    ):
        repository.git("config", name, value)
    included.write_text(f'[filter "e=vil"]\n\tsmudge = {program} 2\n')
    worktree = await create(trees, repository)
    (Path(worktree.path) / "a.txt").write_text("changed\n")
    after = await trees.settle(worktree)
    assert (after.state, after.files) == ("kept", 1)
    assert not canary.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [("commit", "--allow-empty", "--no-verify", "-m", "x"), ("status",), ("diff",), ("stash",), ("add", ".")]
)
async def test_no_command_runs_a_filter_for_a_file_that_only_looks_changed(
    trees: Worktrees, tmp_path: Path, command: tuple[str, ...]
) -> None:
    repository = made(tmp_path / "w")
    repository.commit("all", data__bin="data\n", __gitattributes="*.bin filter=evil\n")
    canary = tmp_path / "CANARY"
    repository.git("config", "filter.evil.clean", f"touch {canary}; cat")
    os.utime(repository.path / "data.bin", (1, 1))
    await trees.git.run(repository.path, *command, identity=True)
    assert not canary.exists()


async def test_what_cannot_be_made_leaves_nothing(trees: Worktrees, tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    blob = repository.git("rev-parse", "HEAD:a.txt")
    (repository.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(ToolError, match="no worktree was made: git reset failed"):
        await create(trees, repository)
    assert repository.as_before
    whole = made(tmp_path / "whole")
    worktree = await trees.settle(await create(trees, whole))
    Path(worktree.path).parent.symlink_to(tmp_path)
    with pytest.raises(ToolError, match="is a link"):
        await create(trees, whole)


@pytest.mark.slow
async def test_a_submodule_that_was_set_up_is_kept_and_one_that_was_not_is_no_obstacle(
    trees: Worktrees, tmp_path: Path
) -> None:
    inner = made(tmp_path / "inner")
    repository = made(tmp_path / "w")
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub")
    repository.commit("with a submodule")
    untouched = await create(trees, repository, "agent-untouched")
    assert (await trees.settle(untouched)).state == "removed"
    worktree = await create(trees, repository, "agent-setup")
    path = Path(worktree.path)
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", folder=path)
    Repository(path / "sub").commit("work in the submodule", c__txt="c\n")
    repository.git("checkout", "--quiet", "HEAD~", folder=path / "sub")
    after = await trees.settle(worktree)
    assert (after.state, after.reason) == ("kept", "a submodule was set up in it")


async def test_three_at_once_are_three(trees: Worktrees, tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    created = await asyncio.gather(*(create(trees, repository, f"agent-{n}") for n in range(3)))
    assert sorted(repository.worktrees) == sorted(one.path for one in created)
    await asyncio.gather(*map(trees.settle, created))
    assert repository.as_before


@pytest.mark.slow
async def test_one_that_is_gone_is_made_again_from_its_branch_or_its_first_commit(
    trees: Worktrees, tmp_path: Path
) -> None:
    repository = made(tmp_path / "w")
    first = await trees.settle(await create(trees, repository))
    repository.commit("meanwhile", z__txt="z\n")
    again = await trees.reopen(first, "the agent")
    assert (again.path, again.base, again.state) == (first.path, first.base, "live")
    assert not (Path(again.path) / "z.txt").exists()
    Repository(Path(again.path)).commit("work", b__txt="b\n")
    kept = await trees.settle(again)
    repository.git("worktree", "list")
    for path in sorted(Path(kept.path).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    Path(kept.path).rmdir()
    third = await trees.reopen(kept, "the agent")
    assert (Path(third.path) / "b.txt").read_text() == "b\n"
    assert "locked" in repository.git("worktree", "list", "--porcelain")
    assert (await trees.settle(third)).reason == "1 commit"


CRASH = """
import asyncio, os, sys
from pathlib import Path
from ensign.workspace.processes import Processes
from ensign.workspace.worktrees import Worktrees

async def main(home, folder, mode):
    trees = Worktrees(Path(home), Processes(dict(os.environ)), dict(os.environ))
    ask = trees.git.ask
    async def cut(folder, *words):
        if mode in words:
            if mode == "remove":
                os.unlink(Path(words[-1]) / "a.txt")
            os.kill(os.getpid(), 9)
        return await ask(folder, *words)
    trees.git.ask = cut
    worktree = await trees.create(Path(folder), "agent-1", "the agent")
    if mode == "work":
        (Path(worktree.path) / "a.txt").write_text("work")
        os.kill(os.getpid(), 9)
    await trees.settle(worktree)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cut", "left"), [("add", []), ("reset", []), ("remove", []), ("update-ref", []), ("work", ["kept"])]
)
async def test_a_kill_at_any_moment_leaves_what_the_next_start_finds(
    trees: Worktrees, tmp_path: Path, cut: str, left: list[str]
) -> None:
    repository = made(tmp_path / "w")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CRASH, str(trees.home), str(repository.path), cut, env=ENVIRONMENT
    )
    assert await process.wait() == -9
    found = await trees.leftovers()
    assert [one.state for one in found] == (left or ["removed"])
    assert repository.as_before is not bool(left)
    assert await trees.leftovers() == [], "told once"
    assert [one.state for one in trees.known()] == left


async def test_what_another_process_works_in_is_left_alone(trees: Worktrees, tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    worktree = await create(trees, repository)
    other = Worktrees(trees.home, Processes(ENVIRONMENT), ENVIRONMENT)
    assert await other.leftovers() == []
    with pytest.raises(ToolError, match="an agent works in it"):
        await other.take(worktree)
    await trees.settle(worktree)
