"""Git as we run it: argument lists, an environment of its own, and nothing that a repository could make it run."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen
from ensign.workspace.processes import Processes, Program

_KEPT = (
    *("PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR", "SYSTEMROOT"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES"),
)
"""What of the server's environment git gets: never one that names a repository, such as GIT_DIR."""
_FIXED = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # a missing object of a partial clone is an error, not a program
    "GIT_LFS_SKIP_SMUDGE": "1",
}
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.quotePath": "false",
    "submodule.recurse": "false",
    "commit.gpgSign": "false",
    "merge.verifySignatures": "false",
    "rerere.enabled": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "advice.detachedHead": "false",
}
_PROGRAMS = r"^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver)$"
_WITHOUT_CONTENT = frozenset({"config", "rev-parse", "check-attr", "update-ref", "symbolic-ref", "ls-files"})
"""Look at no file's content. Every other command may compare files anew and run a filter for it: `commit` does."""
_TEXT_MERGE = "git merge-file --marker-size=%L %A %O %B"
"""What git does with text where no driver is named."""
_AT_ONCE = 500
"""Names of one command line."""
_TIMEOUT_S = 600.0


class GitError(ToolError):
    """Git failed; the message has its own words."""


@frozen
class GitResult:
    """What git said; `text` with names as the file system has them (surrogates for bytes that are no text)."""

    code: int
    text: str
    errors: str

    @property
    def why(self) -> str:
        """The reason in git's words, on one line."""
        said = " ".join((self.errors or self.text).split())
        return said.removeprefix("fatal: ").removeprefix("error: ")[:500] or f"exit code {self.code}"


class Git:
    """Runs git, without the hooks, filters, merge drivers and monitors that settings name (P9)."""

    def __init__(self, processes: Processes, environment: Mapping[str, str]) -> None:
        """Take the server's environment, of which git gets a part."""
        self._processes = processes
        self._environment = {name: environment[name] for name in _KEPT if name in environment} | _FIXED
        self._path = environment.get("PATH", os.defpath)

    async def ask(self, folder: Path, *arguments: str) -> str:
        """Run a command that must succeed, and return its output.

        Raises:
            GitError: it did not.
        """
        result = await self.run(folder, *arguments)
        if result.code != 0:
            raise GitError(f"git {_sub_command(arguments)} failed in {str(folder)!r}: {result.why}")
        return result.text

    async def run(self, folder: Path, *arguments: str, identity: bool = False) -> GitResult:
        """Run a command; `identity` gives commits a name where the person has set none.

        Raises:
            GitError: git is missing, or took too long.
            asyncio.CancelledError: after it is gone.
        """
        settings = dict(_SETTINGS)
        if _sub_command(arguments) not in _WITHOUT_CONTENT:
            settings |= await self._without_programs(folder)
        if identity and not (await self._run(folder, ("config", "user.email"), settings)).text.strip():
            settings |= {"user.name": "Ensign", "user.email": "ensign@localhost"}
        return await self._run(folder, arguments, settings)

    async def filtered(self, folder: Path, names: Sequence[str]) -> dict[str, str]:
        """Return which of these files would go through a program, and the name of the filter."""
        programs = {name.split(".", 1)[1].rpartition(".")[0] for name in await self._programs(folder)}
        found: dict[str, str] = {}
        for start in range(0, len(names) if programs else 0, _AT_ONCE):
            said = await self.ask(folder, "check-attr", "-z", "filter", "--", *names[start : start + _AT_ONCE])
            words = said.split("\0")
            found |= {path: value for path, _, value in zip(*[iter(words)] * 3, strict=False) if value in programs}
        return found

    async def _programs(self, folder: Path) -> list[str]:
        """The settings that name filters and merge drivers, as they hold in a folder."""
        listed = await self._run(folder, ("config", "-z", "--name-only", "--get-regexp", _PROGRAMS), _SETTINGS)
        return [name for name in listed.text.split("\0") if name]

    async def _without_programs(self, folder: Path) -> dict[str, str]:
        """Read, in the very place, which filters and merge drivers there are, and return what disarms them.

        By place and not by name alone, since settings can be included for one worktree only.
        """
        found: dict[str, str] = {}
        for name in await self._programs(folder):
            if name.endswith(".driver"):
                found[name] = _TEXT_MERGE
            else:
                filter_name = name.rpartition(".")[0]
                found |= dict.fromkeys((f"{filter_name}.{one}" for one in ("clean", "smudge", "process")), "")
                found[f"{filter_name}.required"] = "false"
        return found

    async def _run(self, folder: Path, arguments: tuple[str, ...], settings: Mapping[str, str]) -> GitResult:
        program = self._program()
        environment = dict(self._environment) | {"GIT_CONFIG_COUNT": str(len(settings))}
        for number, (name, value) in enumerate(settings.items()):
            # Not by `-c`, which cannot spell a name with an equals sign in it.
            environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        chunks: list[bytes] = []

        def take(chunk: bytes) -> bool:
            chunks.append(chunk)
            return True

        try:
            async with asyncio.timeout(_TIMEOUT_S):
                done = await self._processes.capture(
                    Program(argv=[program, *arguments], cwd=folder, agent_id="", env=environment), take
                )
        except TimeoutError:
            raise GitError(f"git {_sub_command(arguments)} was stopped after {_TIMEOUT_S:g} s") from None
        return GitResult(
            code=done.exit_code if done.exit_code is not None else 1,
            text=os.fsdecode(b"".join(chunks)),
            errors=done.errors,
        )

    def _program(self) -> str:
        # A relative entry of PATH would mean a program of the workspace.
        folders = os.pathsep.join(one for one in self._path.split(os.pathsep) if Path(one).is_absolute())
        found = shutil.which("git", path=folders)
        if found is None:
            raise GitError("git is not installed, or not in PATH")
        return found


def _sub_command(arguments: tuple[str, ...]) -> str:
    return next((one for one in arguments if not one.startswith("-")), "")


def in_git(folder: Path) -> bool:
    """Whether a folder is in a git repository, by a look at the disk; nothing runs."""
    for one in (folder, *folder.parents):
        if (one / ".git").exists() or ((one / "HEAD").is_file() and (one / "objects").is_dir()):
            return True
    return False
