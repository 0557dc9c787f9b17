"""The folders a command may run in, after every `cd` before it."""

from __future__ import annotations

from pathlib import Path

from ensign.permissions.context import Context
from ensign.permissions.findings import Finding, refused
from ensign.permissions.paths import inside, resolve
from ensign.permissions.rules import base_name
from ensign.permissions.shell_words import Command, Word
from ensign.permissions.uses import Uses
from ensign.protocol.access import Decision
from ensign.protocol.value import frozen

_LIMIT = 4


@frozen
class Folders:
    """`known` are all that are possible; `unknown` when there may be another. `fault` is what they give rise to."""

    known: tuple[Path, ...]
    unknown: bool = False
    fault: Finding | None = None


def folders_of(command: Command, uses: Uses, cwd: Path, ctx: Context) -> Folders:
    """Follow the changes of directory; each that may have failed leaves both."""
    known, unknown = [cwd], False
    for move in command.moves:
        if move.to is None:
            unknown = True
            continue
        after = [resolve(_spelling(move.to), folder, ctx.policy.home).real for folder in known]
        known = after if move.certain else list(dict.fromkeys([*known, *after]))
        unknown = unknown and not (move.certain and move.to.prefix.startswith(("/", "~")))
        if len(known) > _LIMIT:
            known, unknown = known[:_LIMIT], True
    for word in uses.folders:
        if word.text is None:
            unknown = True
        known = [resolve(_spelling(word), folder, ctx.policy.home).real for folder in known]
    return Folders(known=tuple(known), unknown=unknown, fault=_fault(command, uses, (known, unknown, cwd), ctx))


def _spelling(word: Word) -> str:
    text = word.text if word.text is not None else word.prefix
    return text if word.tilde or not text.startswith("~") else "./" + text


def _fault(command: Command, uses: Uses, where: tuple[list[Path], bool, Path], ctx: Context) -> Finding | None:
    known, unknown, cwd = where
    if not command.words or command.words[0].text == "cd":
        return None
    if unknown:
        return _ask(command, "the folder it runs in is known only to the shell", "syntax")
    if base_name(command.words[0].prefix) == "git" and ctx.policy.git_runs:
        return _of_git(command, ctx)
    for folder in known:
        away = inside(folder, ctx.off_limits)
        if away and not inside(folder, ctx.folders) and not uses.read_only and uses.needs_rule:
            return refused(
                command.text, f"{str(away)!r} is the main checkout, which this agent must not write", "containment"
            )
        if not inside(folder, ctx.folders) and folder != cwd:
            return _ask(command, f"it runs in {str(folder)!r}, outside the workspace", "containment")
        if base_name(command.words[0].prefix) == "git" and folder != cwd and _other_repository(folder, ctx):
            return _ask(
                command, f"{str(folder)!r} is another repository, whose settings can run programs", "containment"
            )
    return None


def _of_git(command: Command, ctx: Context) -> Finding:
    """Any git command may run what the repository's settings say, also one that only reads (P9)."""
    first, *more = ctx.policy.git_runs
    also = f" and {len(more)} more" if more else ""
    reason = f"the repository's git settings, which nobody has trusted, make git run programs: {first}{also}"
    return refused(command.text, reason, "mode") if ctx.reading_only else _ask(command, reason, "containment")


def _ask(command: Command, reason: str, by: str) -> Finding:
    return Finding(text=command.text, decision=Decision.ASK, reason=reason, by=by)


def _other_repository(folder: Path, ctx: Context) -> bool:
    """Whether git would find a repository between `folder` and the workspace folder that holds it."""
    root = inside(folder, ctx.folders)
    while root is not None and folder != root:
        if (folder / ".git").exists() or ((folder / "HEAD").exists() and (folder / "objects").exists()):
            return True
        folder = folder.parent
    return False
