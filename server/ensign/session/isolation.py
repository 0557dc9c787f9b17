"""An agent in a git worktree of its own: where it stands, what it is told, what it may write, and its end (W1, W2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ensign.permissions.child import in_worktree
from ensign.permissions.policy import Policy
from ensign.protocol.messages import Message, ToolMessage, UserMessage
from ensign.protocol.value import frozen
from ensign.protocol.worktree import Worktree
from ensign.runtime.agent import Agent
from ensign.tasks.task import Task
from ensign.workspace.worktrees import Worktrees


@frozen
class Entered:
    """A worktree that an agent gave itself, and the way back."""

    worktree: Worktree
    back: Callable[[], None]


class Isolation:
    """Gives the agents of a session their worktrees.

    Attributes:
        entered: what agents entered by themselves, by agent id.
    """

    def __init__(self, worktrees: Worktrees) -> None:
        self.worktrees = worktrees
        self.entered: dict[str, Entered] = {}

    async def close(self) -> None:
        """The session ends: settle what its main agent is in."""
        for entered in self.entered.values():
            await self.worktrees.settle(entered.worktree)
        self.entered.clear()

    async def born(self, task: Task) -> Worktree | None:
        """The worktree of a new task that is to have one.

        Raises:
            ToolError: there is none; the task must not run in the main checkout instead.
        """
        if not isolated(task):
            return None
        made = await self.worktrees.create(Path(task.spec.cwd), f"agent-{task.record.short_id}", task.record.agent_id)
        task.change(worktree=made)
        return made

    async def reborn(self, task: Task) -> tuple[Worktree | None, bool]:
        """The worktree of a task that goes on, and whether it is not the one it left (B4).

        Raises:
            ToolError: the worktree is gone and cannot be made again.
        """
        before = task.record.worktree
        if before is None:
            return await self.born(task), False
        now = await self.worktrees.reopen(before, task.record.agent_id)
        task.change(worktree=now)
        return now, not before.there

    async def over(self, task: Task) -> None:
        """The task's run is over: clear its worktree away if it is empty, and put what became of it into the facts."""
        self.entered.pop(task.record.agent_id, None)
        worktree = task.record.worktree
        if worktree is None or worktree.state != "live":
            return
        after = replace(worktree, state="kept", reason="it was still being looked at")
        try:
            after = await self.worktrees.settle(worktree, [one.path for one in task.record.files_changed])
        finally:
            task.facts.worktree = after
            task.change(worktree=after)

    def move(self, agent: Agent, worktree: Worktree) -> Callable[[], None]:
        """Put an agent into a worktree; the returned function puts it back."""
        before = (agent.cwd, agent.roots, agent.policy)

        def back() -> None:
            agent.cwd, agent.roots, agent.policy = before

        agent.cwd = placed(agent.cwd, worktree)
        agent.roots = (Path(worktree.path),)
        agent.policy = self.policy(before[2], worktree)
        return back

    def policy(self, outside: Callable[[], Policy], worktree: Worktree) -> Callable[[], Policy]:
        """What holds in a worktree: it alone is the workspace; the main checkout is read, and written by no route."""
        path, main = Path(worktree.path), self.worktrees.off_limits(worktree)

        def policy() -> Policy:
            before = outside()
            readable = (*before.readable, *before.roots, Path(worktree.main))
            return replace(in_worktree(before, path, main), readable=readable)

        return policy


def isolated(task: Task) -> bool:
    """Whether a task is to have a worktree, by what its run is described with."""
    return task.spec.options.get("isolation") == "worktree"


def placed(cwd: Path, worktree: Worktree) -> Path:
    """The folder of a worktree that is what `cwd` is in the main checkout; the nearest above it that there is."""
    path, main = Path(worktree.path), Path(worktree.main)
    inner = path / cwd.relative_to(main) if cwd.is_relative_to(main) else path
    return next((one for one in (inner, *inner.parents) if one.is_dir() or one == path), path)


def told(worktree: Worktree) -> str:
    """What an agent must know of its worktree."""
    return (
        f"You work in a git worktree of your own, {worktree.path}: a separate copy of {worktree.main} with the same "
        f"layout, on the new branch {worktree.branch}, from commit {worktree.base[:12]}. Translate paths: what you are "
        f"told of below {worktree.main} lies below {worktree.path} for you. Read a file there before you edit it: what "
        "was not committed in the main checkout is not in your copy, and submodules in it are empty. You cannot write "
        f"to {worktree.main}, nor need you: changes that you leave in your copy, committed or not, are kept for the "
        "user to merge."
    )


def with_words(first: Message, words: str) -> Message:
    """A fork's first message with more words; its prompt is its parent's and cannot say them."""
    match first:
        case ToolMessage():
            return replace(first, note=f"{first.note}\n\n{words}")
        case UserMessage():
            return replace(first, text=f"{first.text}\n\n{words}")
        case _:
            raise AssertionError("an agent's first message is not its own")


def made_anew(worktree: Worktree) -> UserMessage:
    """Tell an agent that its worktree is not the one it remembers."""
    text = (
        "This comes from the Ensign runtime: your worktree had been removed and was made again at commit "
        f"{worktree.base[:12]}. Nothing that you know of its files need be so any more; read them again."
    )
    return UserMessage(text=text, origin="runtime")
