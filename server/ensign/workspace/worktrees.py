"""Git worktrees for agents: made, let go of without losing work, merged, discarded, and found again after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen
from ensign.protocol.worktree import Worktree
from ensign.workspace import worktree_notes
from ensign.workspace.git import Git, GitError
from ensign.workspace.processes import Processes
from ensign.workspace.worktree_contents import admin_of, look, tip_of
from ensign.workspace.worktree_notes import Held, Note

T = TypeVar("T")

_NAMES = 20
"""How many names are tried for a worktree whose first choice is taken."""


@frozen
class Repository:
    """A repository as it is seen from one folder.

    Attributes:
        main: the checkout that the folder is in; of a bare repository, the repository itself.
        common: the repository's own folder.
        head: the commit that is checked out.
    """

    main: Path
    common: Path
    head: str


class Worktrees:
    """All worktrees below one folder, of any repository; those of this process are held by it."""

    def __init__(self, home: Path, processes: Processes, environment: Mapping[str, str]) -> None:
        """Take `home`, the folder below which worktrees are made, and what git needs."""
        self.home = home
        self.git = Git(processes, environment)
        self._held: dict[str, Held] = {}
        self._looking = asyncio.Lock()
        self._running: set[asyncio.Task[object]] = set()

    def held(self, path: str) -> bool:
        """Whether an agent of this process works in it."""
        return path in self._held

    def off_limits(self, worktree: Worktree) -> tuple[Path, ...]:
        """What an agent in a worktree must not write: the checkouts of the repository, and others' worktrees."""
        held = self._held.get(worktree.path)
        common = [held.common.parent if held.common.name == ".git" else held.common] if held is not None else []
        return (Path(worktree.main), *common, self.home)

    async def create(self, folder: Path, name: str, agent_id: str) -> Worktree:
        """Make a worktree and a branch at the commit that is checked out in `folder`; locked until `settle`.

        Raises:
            ToolError: why there is none; nothing is left then.
        """
        repository = await self._repository(folder)
        parent = worktree_notes.folder_for(self.home, repository.main, repository.common)
        for number in range(1, _NAMES):
            chosen = name if number == 1 else f"{name}-{number}"
            worktree = Worktree(
                path=str(parent / chosen), branch=chosen, base=repository.head, main=str(repository.main)
            )
            if await self._branch_taken(repository, chosen):
                continue
            note = Note(worktree=worktree, common=str(repository.common), agent_id=agent_id, phase="creating")
            with suppress(FileExistsError):
                return await self._make(worktree_notes.begun(note))
        raise ToolError(f"no worktree was made: {name!r} and {_NAMES} names like it are taken in {str(parent)!r}")

    async def reopen(self, worktree: Worktree, agent_id: str) -> Worktree:
        """Work in a worktree again, made anew from its branch or its first commit where it is gone (B4).

        Raises:
            ToolError: why that is not possible.
        """
        async with self._looking:
            return await self._reopen(worktree, agent_id)

    async def _reopen(self, worktree: Worktree, agent_id: str) -> Worktree:
        path = Path(worktree.path)
        if path.is_dir():
            held = worktree_notes.hold(path)
            if held is None:
                raise ToolError(
                    f"the worktree {worktree.path!r} is not Ensign's any more, or another process works in it"
                )
            self._held[worktree.path] = held
            held.write(replace(held.note.worktree, state="live", reason=""), "live")
            await self._lock(held)
            return held.note.worktree
        repository = await self._repository(Path(worktree.main))
        # What was merged is in the main checkout; starting before it would take the agent's own work from it.
        base = repository.head if worktree.state == "merged" else worktree.base
        again = replace(worktree, base=base, state="live", reason="", files=0, added=0, removed=0)
        held = worktree_notes.hold(path)
        if held is None:
            note = Note(worktree=again, common=str(repository.common), agent_id=agent_id, phase="creating")
            held = worktree_notes.begun(note)
        held.write(again, "creating")
        if await asyncio.to_thread(admin_of, held.common, path) is not None:
            # Git still knows the folder that somebody removed.
            await self._git_remove(held)
        return await self._make(held, onto=await self._branch_taken(repository, worktree.branch))

    async def settle(self, worktree: Worktree, written: Iterable[str] = ()) -> Worktree:
        """Its agent is at its end: remove the worktree if there is provably nothing in it, else keep it (W2).

        What was settled before is returned as it is.
        """
        held = self._held.get(worktree.path)
        return worktree if held is None else await self.to_the_end(held, self._settle(held, written))

    async def to_the_end(self, held: Held, work: Coroutine[Any, Any, T]) -> T:
        """Do something with a worktree that must not be cut off half way, also when nobody waits for it any more."""

        async def whole() -> T:
            try:
                return await work
            finally:
                self._held.pop(held.note.worktree.path, None)
                held.release()

        task = asyncio.ensure_future(whole())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Return once nothing is under way."""
        await asyncio.gather(*self._running, return_exceptions=True)

    async def leftovers(self) -> list[Worktree]:
        """Settle what processes that are gone have left behind, and return what became of it (B7)."""
        found: list[Worktree] = []
        for path in await asyncio.to_thread(lambda: list(worktree_notes.noted(self.home))):
            async with self._looking:
                try:
                    held = None if self.held(str(path)) else worktree_notes.hold(path)
                except ToolError as error:
                    found.append(Worktree(path=str(path), branch="", base="", main="", state="kept", reason=str(error)))
                    continue
                if held is not None:
                    crashed = held.note.phase != "kept"
                    after = await self.to_the_end(held, self._settle(held, ()))
                    if crashed or not after.there:
                        found.append(after)
        return found

    def known(self) -> list[Worktree]:
        """Every worktree there is, by its note. Blocks."""
        return worktree_notes.all_noted(self.home)

    async def take(self, worktree: Worktree) -> Held:
        """Take a worktree that no agent works in, to merge or discard it; `release` it afterwards.

        Raises:
            ToolError: an agent works in it, or it is gone.
        """
        async with self._looking:
            held = None if self.held(worktree.path) else worktree_notes.hold(Path(worktree.path))
        if held is None:
            raise ToolError(f"the worktree {worktree.path!r} is gone, or an agent works in it")
        return held

    async def remove(self, held: Held, *, expected: str | None = None) -> None:
        """Remove a worktree, its branch (where it still points to `expected`, or to the first commit) and its note.

        Raises:
            ToolError: git did not; the note stays.
        """
        held.write(held.note.worktree, "removing")
        common, branch = held.common, held.note.worktree.branch
        admin = await asyncio.to_thread(admin_of, common, held.path)
        if admin is not None:
            await self._git_remove(held)
        elif held.path.is_dir():
            await asyncio.to_thread(_remove_hull, held.path, common)
        tip = await tip_of(self.git, held)
        if tip and tip in {expected, held.note.worktree.base}:
            # Only as it was looked at: a commit that comes at this very moment is not lost.
            await self.git.ask(common, f"--git-dir={common}", "update-ref", "-d", f"refs/heads/{branch}", tip)
        held.forget()

    async def _repository(self, folder: Path) -> Repository:
        said = await self.git.run(
            folder, "rev-parse", "--is-bare-repository", "--path-format=absolute", "--git-common-dir"
        )
        if said.code != 0:
            raise ToolError(f"a worktree needs a git repository, and {str(folder)!r} is in none: {said.why}")
        bare, common = said.text.split("\n", 2)[:2]
        head = await self.git.run(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if head.code != 0:
            raise ToolError(
                f"a worktree needs a commit to start from, and the repository of {str(folder)!r} has none yet "
                "(git: not a valid object name HEAD); commit something first"
            )
        main = common if bare == "true" else (await self.git.ask(folder, "rev-parse", "--show-toplevel")).rstrip("\n")
        return Repository(main=Path(main), common=Path(common).resolve(), head=head.text.strip())

    async def _branch_taken(self, repository: Repository, branch: str) -> bool:
        said = await self.git.run(
            *(repository.common, f"--git-dir={repository.common}", "show-ref", "--verify", "--quiet"),
            f"refs/heads/{branch}",
        )
        return said.code == 0

    async def _git_remove(self, held: Held) -> None:
        # Force, twice: it is locked, and may name submodules that nothing was set up in.
        await self.git.ask(
            *(held.common, f"--git-dir={held.common}", "worktree", "remove", "--force", "--force", "--"), str(held.path)
        )

    async def _make(self, held: Held, *, onto: bool = False) -> Worktree:
        """Have git make it; `onto`: on its branch, which is there already."""
        worktree, common = held.note.worktree, held.common
        self._held[worktree.path] = held
        try:
            # Files come in a second step: settings can be included for this worktree alone, and are read in it first.
            await self.git.ask(
                *(common, f"--git-dir={common}", "worktree", "add", "--quiet", "--no-checkout"),
                *("--lock", "--reason", f"an agent of Ensign works in it ({worktree.branch})"),
                *(("--", worktree.path, worktree.branch) if onto else ("-b", worktree.branch, "--", worktree.path)),
                *(() if onto else (worktree.base,)),
            )
            await self.git.ask(held.path, "reset", "--quiet", "--hard", "--no-recurse-submodules")
            held.write(worktree, "live")
        except BaseException as error:
            self._held.pop(worktree.path, None)
            await asyncio.shield(self._clear(held))
            if isinstance(error, GitError):
                raise ToolError(f"no worktree was made: {error}") from error
            raise
        return worktree

    async def _clear(self, held: Held) -> None:
        """Take back what was half made and nobody has seen; where even that fails, the note tells the next start."""
        with suppress(ToolError, OSError):
            await self.remove(held)
        held.release()

    async def _resume_making(self, held: Held) -> None:
        """Let an index be written for files that were, when the making of them was cut off."""
        admin = await asyncio.to_thread(admin_of, held.common, held.path)
        if admin is not None and held.path.is_dir():
            (admin / "index.lock").unlink(missing_ok=True)
            await self.git.run(held.path, "reset", "--quiet")

    async def _settle(self, held: Held, written: Iterable[str]) -> Worktree:
        if held.note.phase == "creating":
            await self._resume_making(held)
        found = await look(self.git, held, written)
        worktree = replace(held.note.worktree, files=found.files, added=found.added, removed=found.removed)
        reason = found.work
        if not reason:
            try:
                await self.remove(held, expected=found.tip)
            except (ToolError, OSError) as error:
                reason = f"it could not be removed: {error}"
            else:
                return replace(worktree, state="removed", reason="nothing was changed in it")
        kept = replace(worktree, state="conflict" if worktree.state == "conflict" else "kept", reason=reason)
        with suppress(ToolError):
            held.write(kept, "kept")
        await self._unlock(held)
        return kept

    async def _lock(self, held: Held) -> None:
        reason = f"an agent of Ensign works in it ({held.note.worktree.branch})"
        await self.git.run(
            *(held.common, f"--git-dir={held.common}", "worktree", "lock", "--reason", reason, "--", str(held.path))
        )

    async def _unlock(self, held: Held) -> None:
        # Not locked is as good.
        await self.git.run(held.common, f"--git-dir={held.common}", "worktree", "unlock", "--", str(held.path))


def _remove_hull(path: Path, common: Path) -> None:
    """Remove what git makes before it knows a worktree: a folder with nothing in it but a pointer to the repository.

    Raises:
        OSError: there is more in it.
    """
    pointer = path / ".git"
    if pointer.is_file() and pointer.read_text(encoding="utf-8", errors="replace").startswith(f"gitdir: {common}"):
        pointer.unlink()
    path.rmdir()
