"""Real git repositories for tests, made with the git of this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    **{f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


class Repository:
    """A repository on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def git(self, *arguments: str, folder: Path | None = None, check: bool = True) -> str:
        """Run git in it, as a person would."""
        done = subprocess.run(
            ("git", *arguments),
            cwd=folder or self.path,
            env=ENVIRONMENT,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.strip()

    def commit(self, message: str = "a commit", **files: str) -> str:
        """Write files (`a__txt` is `a.txt`) and commit everything; return the commit."""
        for name, text in files.items():
            path = self.path / name.replace("__", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    @property
    def worktrees(self) -> list[str]:
        """The paths in `git worktree list`, but for the main checkout."""
        lines = self.git("worktree", "list", "--porcelain").splitlines()
        return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")][1:]

    @property
    def branches(self) -> list[str]:
        """Every branch."""
        return self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines()

    @property
    def status(self) -> str:
        """What differs from the last commit."""
        return self.git("status", "--porcelain", "--untracked-files=all")

    @property
    def as_before(self) -> bool:
        """Whether nothing is left of any worktree."""
        folder = Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))
        kept = list((folder / "worktrees").iterdir()) if (folder / "worktrees").is_dir() else []
        locks = [*folder.glob("*.lock"), *folder.glob("refs/**/*.lock")]
        return not self.worktrees and not kept and not locks and self.branches == ["main"]


def made(path: Path, **files: str) -> Repository:
    """Make a repository with one commit."""
    repository = empty(path)
    repository.commit("the first", **(files or {"a__txt": "one\ntwo\nthree\n"}))
    return repository


def empty(path: Path) -> Repository:
    """Make a repository without any commit."""
    path.mkdir(parents=True, exist_ok=True)
    repository = Repository(path)
    repository.git("init", "--quiet", "--initial-branch=main")
    return repository
