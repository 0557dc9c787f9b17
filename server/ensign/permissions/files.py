"""The verdict on one file access, from a file tool or from a shell line."""

from __future__ import annotations

import glob
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from ensign.permissions import patterns
from ensign.permissions.context import Context, protecting
from ensign.permissions.findings import PLAN_READS, Finding, allowed, refused
from ensign.permissions.paths import HARMLESS, Target, inside, proc_suffixes, protected, secret
from ensign.permissions.rules import READERS, WRITERS, Rule, escape
from ensign.protocol.access import Decision, Mode
from ensign.protocol.value import frozen


@frozen
class FileUse:
    """One access to judge.

    Attributes:
        tool: the tool that asks; a shell line asks as `Bash`.
        covered: a rule for the command covers writing inside the workspace.
        text: what to show for it.
    """

    tool: str
    write: bool
    target: Target
    text: str
    covered: bool = False


def relevant(rules: Iterable[Rule], tool: str, *, write: bool) -> Iterator[Rule]:
    """The rules that speak of this kind of access: `Read` and `Edit` for every tool, the others for their own."""
    kind, family = ("Edit", WRITERS) if write else ("Read", READERS)
    for rule in rules:
        if rule.tool == kind or (rule.tool in family and (rule.tool == tool or (tool == "Bash" and protecting(rule)))):
            yield rule


def rule_hits(rule: Rule, target: Target, ctx: Context) -> bool:
    """Whether a path rule means this target; where it protects, any spelling will do, else where it leads."""
    if rule.path is None:
        return protecting(rule) or inside(target.real, ctx.folders) is not None
    paths = (*target.both, *proc_suffixes(target.spelled)) if protecting(rule) else (target.real,)
    return patterns.matches(rule.path, paths, ctx.bases, protecting=protecting(rule))


def judge_file(use: FileUse, ctx: Context) -> Finding:
    """Decide on one access, in the order of P1."""
    target, write = use.target, use.write
    verb = "write" if write else "read"
    if target.shown.startswith("\\\\"):
        return refused(use.text, "a network share would be told the user's credentials", "containment")
    for rule in relevant(ctx.rules.deny, use.tool, write=write):
        if rule_hits(rule, target, ctx):
            return refused(use.text, f"the rule {rule.text!r} denies to {verb} {str(target.real)!r}", "rule", rule.text)
    if str(target.real) in HARMLESS:
        return allowed(use.text, "a device that keeps nothing", "effect")
    if write and (stop := _no_writing(use, ctx)):
        return stop
    for rule in relevant(ctx.grants, use.tool, write=write):
        if rule_hits(rule, target, ctx):
            return allowed(use.text, "allowed by an earlier answer", "grant", rule.text)
    return _asked(use, ctx) or _allowed(use, ctx) or _by_place(use, ctx)


def _no_writing(use: FileUse, ctx: Context) -> Finding | None:
    if ctx.reading_only:
        return refused(use.text, PLAN_READS, "mode")
    away = inside(use.target.real, ctx.off_limits) or inside(use.target.spelled, ctx.off_limits)
    if away and not inside(use.target.real, ctx.folders):
        return refused(use.text, f"{str(away)!r} is the main checkout, which this agent must not write", "containment")
    return None


def _asked(use: FileUse, ctx: Context) -> Finding | None:
    target, verb = use.target, "writing" if use.write else "reading"
    for rule in relevant(ctx.rules.ask, use.tool, write=use.write):
        if rule_hits(rule, target, ctx):
            return _ask(use, f"the rule {rule.text!r} asks before {verb} it", "rule", rule.text)
    for path in target.both:
        if use.write:
            name = protected(path, ctx.folders, ctx.policy.protected)
        else:
            name = secret(path, ctx.policy.home) if inside(path, ctx.folders) is None else None
        if name:
            return _ask(use, f"{str(target.real)!r} is protected ({name}): {verb} it always asks", "protected")
    return None


def _ask(use: FileUse, reason: str, by: str, rule: str | None = None) -> Finding:
    return Finding(
        text=use.text, decision=Decision.ASK, reason=reason, by=by, rule=rule, grant=exact(use.target, write=use.write)
    )


def exact(target: Target, *, write: bool) -> str:
    """The rule that means this very file."""
    return f"{'Edit' if write else 'Read'}(/{escape(str(target.real))})"


def _allowed(use: FileUse, ctx: Context) -> Finding | None:
    for rule in relevant(ctx.rules.allow, use.tool, write=use.write):
        if rule_hits(rule, use.target, ctx):
            return allowed(use.text, f"allowed by the rule {rule.text!r}", "rule", rule.text)
    return None


def _by_place(use: FileUse, ctx: Context) -> Finding:
    target, write = use.target, use.write
    rule = exact(target, write=write)
    if inside(target.real, ctx.folders if write else ctx.readable) is None:
        return Finding(
            text=use.text,
            decision=Decision.ASK,
            reason=f"{str(target.real)!r} is outside the workspace",
            by="containment",
            suggestion=rule,
            grant=rule,
        )
    if not write:
        return allowed(use.text, "reading inside the workspace", "mode")
    if use.covered:
        return allowed(use.text, "covered by the rule for the command", "rule")
    if ctx.policy.mode is Mode.ACCEPT_EDITS:
        return allowed(use.text, "the mode 'acceptEdits' allows writing inside the workspace", "mode")
    return Finding(
        text=use.text,
        decision=Decision.ASK,
        reason=f"writes {str(target.real)!r}",
        by="mode",
        suggestion=rule,
        grant=rule,
        by_mode=True,
    )


def denied_below(folder: Path, ctx: Context, excluded: Iterable[str] = ()) -> Rule | None:
    """The first rule that denies reading something below `folder` that is not left out by name."""
    left_out = set(excluded)
    for rule in relevant(ctx.rules.deny, "Bash", write=False):
        if rule.path is None:
            return rule
        if any(not _left_out(line, left_out) for line in patterns.below(rule.path, folder, ctx.bases)):
            return rule
    return None


def _left_out(line: str, excluded: set[str]) -> bool:
    parts = [part for part in line.split("/") if part]
    while parts and parts[-1] == "**":
        parts.pop()
    return bool(parts) and parts[-1] in excluded


def excluded_globs(ctx: Context, folder: Path, tool: str) -> tuple[str, ...]:
    """What a search below `folder` must leave out: `.gitignore` lines anchored at `folder`."""
    lines: dict[str, None] = {}
    for rule in relevant(ctx.rules.deny, tool, write=False):
        if rule.path is None:
            return ("/**",)
        lines.update(dict.fromkeys(patterns.below(rule.path, folder, ctx.bases)))
    return tuple(lines)


def expand(pattern: str, folder: Path, limit: int) -> list[str] | None:
    """Names that a glob stands for now, as the shell spells them; None when there are more than `limit`."""
    found = list(itertools.islice(glob.iglob(pattern, root_dir=folder), limit + 1))  # noqa: PTH207 - pathlib lists dot files
    return None if len(found) > limit else found
