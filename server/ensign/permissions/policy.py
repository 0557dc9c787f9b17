"""What the engine is asked, and what it is asked under: plain values."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ensign.protocol.access import Access, Effect, Mode
from ensign.protocol.settings import Layer
from ensign.protocol.value import frozen


@frozen
class Question:
    """One call.

    Attributes:
        tool: the tool's full name; MCP tools as `mcp__server__tool`.
        effect: what the tool declares.
        accesses: what this call would touch. `Bash` gives one execute access whose target is the whole line; `Agent`
            and `Skill` one session access whose target is the name.
        cwd: the agent's own working directory, never one that a model wrote.
    """

    tool: str
    effect: Effect
    accesses: tuple[Access, ...]
    cwd: Path


@frozen
class Policy:
    """Everything that a verdict depends on beside the call and the links on disk.

    Attributes:
        layers: rules by place, nearest first; names as in `protocol.settings.Layer`.
        roots: workspace folders; for a child in a worktree, that worktree alone.
        worktrees: further folders that count as inside.
        readable: folders whose reading needs no approval: own output, own spilled results.
        off_limits: trees that must not be written by any route (the main checkout of a worktree child, W1).
        protected: folders of ours that are protected like `.git/`, for example `ENSIGN_HOME`.
        grants: answers that hold here, as exact rules; they settle an ask, never a deny.
        denied: deny rules of every ancestor (P10).
        dont_ask_allows: what `dontAsk` makes of the mode's questions: allow if True, deny if False.
        git_runs: what git would run by settings of the workspace that nobody has trusted; with any, every git asks.
        fold_case: the file system ignores case.
        sandbox: the setting: whether commands run in a sandbox while the mode is reading only.
        confined: they run in one whatever the mode and the setting, or not at all.
    """

    layers: tuple[Layer, ...] = ()
    roots: tuple[Path, ...] = ()
    home: Path = Path("/")
    mode: Mode = Mode.DEFAULT
    worktrees: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    off_limits: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    grants: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    dont_ask_allows: bool = False
    git_runs: tuple[str, ...] = ()
    fold_case: bool = False
    sandbox: Literal["auto", "required", "off"] = "auto"
    confined: bool = False
