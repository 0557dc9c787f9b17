"""The files of a shell command, held against the rules for files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ensign.permissions import patterns, programs
from ensign.permissions.context import Context
from ensign.permissions.files import FileUse, denied_below, expand, judge_file, relevant, rule_hits
from ensign.permissions.findings import PLAN_READS, Finding, refused
from ensign.permissions.folders import Folders
from ensign.permissions.paths import Target, inside, protected, resolve
from ensign.permissions.rules import base_name
from ensign.permissions.shell_words import Command, RedirectKind, Word
from ensign.permissions.uses import Touch, Uses
from ensign.protocol.access import Decision
from ensign.protocol.value import frozen

_MAX_GLOB = 200
_NETWORK = re.compile(r"/+dev/+(?:tcp|udp)/")
_PIECES = re.compile(r"[=@:,]")


@frozen
class _Where:
    """What every access of one command is judged with."""

    command: Command
    uses: Uses
    folders: Folders
    ctx: Context
    covered: bool


def file_findings(command: Command, uses: Uses, folders: Folders, ctx: Context, *, covered: bool) -> list[Finding]:
    """Decide on everything that a command and its redirects read and write."""
    where = _Where(command=command, uses=uses, folders=folders, ctx=ctx, covered=covered)
    found: list[Finding] = []
    for redirect in command.redirects:
        if redirect.kind is RedirectKind.TEXT:
            continue
        write = redirect.kind is RedirectKind.WRITE
        touch = Touch(word=redirect.target)
        plain = _Where(command=command, uses=uses, folders=folders, ctx=ctx, covered=False)
        found += _touch(plain, touch, f"{'>' if write else '<'} {redirect.target.raw}", write=write)
    for touch in uses.reads:
        found += _touch(where, touch, command.text, write=False)
    for touch in uses.writes:
        found += _touch(where, touch, command.text, write=True)
    if not uses.pure and not uses.inner:
        found += _mentioned(where)
    return found


def _touch(where: _Where, touch: Touch, text: str, *, write: bool) -> Iterator[Finding]:
    """Judge one path in every folder it may be meant in; what is plainly allowed is not reported."""
    word = touch.word
    spelling = word.text
    if spelling is None:
        if word.below is not None and not write:
            yield from _spelled(where, Touch(word=word, tree=True), word.below, text, write=False)
            return
        if word.choices:
            for choice in word.choices:
                yield from _touch(where, Touch(word=choice, tree=touch.tree), text, write=write)
            return
        yield _unknown(where, word, text, write=write)
        return
    if _NETWORK.match(spelling):
        yield _ask(text, f"{spelling!r} opens a network connection")
        return
    if spelling == "-" or (not spelling and not write):
        return
    if word.prefix.startswith("~") and word.tilde and not re.match(r"~(?:/|$)", spelling):
        yield _ask(text, f"{word.raw!r} is a folder that only the shell knows")
        return
    if not word.tilde and spelling.startswith(("~", "$HOME", "${HOME}")):
        spelling = "./" + spelling
    if where.folders.unknown and not spelling.startswith(("/", "~/")):
        yield _ask(text, "the folder is known only to the shell")
        return
    if word.glob:
        yield from _globbed(where, touch, spelling, text, write=write)
        return
    yield from _spelled(where, touch, spelling, text, write=write)


def _spelled(where: _Where, touch: Touch, spelling: str, text: str, *, write: bool) -> Iterator[Finding]:
    for folder in where.folders.known:
        target = resolve(spelling, folder, where.ctx.policy.home)
        finding = judge_file(
            FileUse(tool="Bash", write=write, target=target, text=text, covered=where.covered), where.ctx
        )
        if finding.decision is not Decision.ALLOW or (finding.by in ("rule", "grant") and finding.rule and write):
            yield finding
        if touch.tree:
            yield from _tree(where, target, text, write=write)


def _tree(where: _Where, target: Target, text: str, *, write: bool) -> Iterator[Finding]:
    if not target.real.is_dir() and target.real.exists():
        return
    if write:
        yield from _tree_write(where, target, text)
        return
    rule = denied_below(target.real, where.ctx, _excluded(where.uses))
    if rule:
        yield Finding(
            text=text,
            decision=Decision.ASK,
            reason=(
                f"it reads everything below {str(target.real)!r}, where the rule {rule.text!r} denies reading; "
                "name the files, or leave those out by option"
            ),
            by="rule",
            rule=rule.text,
        )


def _tree_write(where: _Where, target: Target, text: str) -> Iterator[Finding]:
    """Deleting, moving or overwriting a folder touches what is protected in it."""
    for rule in relevant(where.ctx.rules.deny, "Bash", write=True):
        anchored = rule.path and rule.path.parts[:1] != ("**",) and not rule.path.floating
        if rule.path and anchored and any(patterns.below(rule.path, target.real, where.ctx.bases)):
            yield _ask(text, f"it changes everything below {str(target.real)!r}, part of which {rule.text!r} denies")
            return
    if inside(target.real, where.ctx.folders) == target.real:
        yield Finding(
            text=text,
            decision=Decision.ASK,
            reason=f"it changes everything below {str(target.real)!r}, protected files included",
            by="protected",
        )


def _excluded(uses: Uses) -> set[str]:
    """Names that a search is told to leave out; none when it is also told what to take in."""
    names: set[str] = set()
    words = [word.text or "" for word in uses.words]
    if any(word.text is None for word in uses.words):
        return names
    for at, text in enumerate(words):
        value = text.partition("=")[2] if text.startswith("--") else (words[at + 1] if at + 1 < len(words) else "")
        option = text.partition("=")[0]
        if option in ("-g", "--glob", "--iglob"):
            if not value.startswith("!"):
                return set()
            names.add(value[1:].removeprefix("**/").strip("/"))
        elif option in ("--exclude", "--exclude-dir"):
            names.add(value.strip("/"))
        elif text.startswith(":!"):
            names.add(text[2:].removeprefix("**/").strip("/"))
    return names


def _globbed(where: _Where, touch: Touch, spelling: str, text: str, *, write: bool) -> Iterator[Finding]:
    """Judge what a glob stands for now, and the folder it looks in."""
    risky = not where.uses.pure and re.match(r"[*?\[]", spelling)
    pattern = str(where.ctx.policy.home) + spelling[1:] if touch.word.tilde else spelling
    for folder in where.folders.known:
        names = expand(pattern, folder, _MAX_GLOB)
        if names is None:
            start = re.split(r"[*?\[]", pattern)[0].rpartition("/")[0] or "."
            yield from _spelled(where, Touch(word=touch.word, tree=True), start, text, write=write)
            continue
        if risky and any(name.startswith("-") for name in names):
            yield _ask(text, f"a file that {spelling!r} stands for is named like an option")
        for name in names or [pattern]:
            yield from _spelled(where, touch, name, text, write=write)


def _unknown(where: _Where, word: Word, text: str, *, write: bool) -> Finding:
    could_deny = write or any(True for _ in relevant(where.ctx.rules.deny, "Bash", write=False))
    finding = Finding(
        text=text,
        decision=Decision.ASK,
        reason=f"{word.raw!r} is a path that only the shell knows",
        by="syntax" if could_deny else "mode",
        by_mode=not could_deny,
    )
    if where.ctx.reading_only:
        return refused(text, f"{PLAN_READS}: {finding.reason}", "mode")
    return finding


def _ask(text: str, reason: str) -> Finding:
    return Finding(text=text, decision=Decision.ASK, reason=reason, by="syntax")


def _mentioned(where: _Where) -> Iterator[Finding]:
    """Words of a program that is not understood, wherever they may hold a path that is denied or protected."""
    words = [*where.command.words[1:], *(value for _, value in where.command.assignments)]
    spellings = [(word, spelling) for word in words for spelling in _candidates(word)]
    for word, spelling in spellings:
        for folder in where.folders.known:
            target = resolve(spelling, folder, where.ctx.policy.home)
            if finding := _mention(where, word, spelling, target):
                yield finding
                return


def _mention(where: _Where, word: Word, spelling: str, target: Target) -> Finding | None:
    ctx, text = where.ctx, where.command.text
    for rule in relevant(ctx.rules.deny, "Bash", write=False):
        if rule.path and rule_hits(rule, target, ctx) and not _just_a_word(where, word):
            return refused(text, f"the rule {rule.text!r} denies reading {spelling!r}", "rule", rule.text)
    if where.uses.read_only:
        return None
    away = inside(target.real, ctx.off_limits)
    if away and not inside(target.real, ctx.folders):
        return refused(text, f"{str(away)!r} must not be written by this agent", "containment")
    # git's own words name what it records, not what it writes.
    own = where.uses.known or (where.command.words and base_name(where.command.words[0].prefix) == "git")
    if own or not _touches_protected(where, target):
        return None
    reason = f"it may change {str(target.real)!r}, which is protected"
    return Finding(text=text, decision=Decision.ASK, reason=reason, by="protected")


def _just_a_word(where: _Where, word: Word) -> bool:
    """The pattern of a search is no path; every other word of a program that reads may be one."""
    name = base_name(where.command.words[0].prefix)
    spec = programs.READERS.get(name)
    paths = {touch.word.raw for touch in where.uses.reads}
    return where.uses.known and spec is not None and name != "git" and word.raw not in paths


def _candidates(word: Word) -> list[str]:
    text = word.text if word.text is not None else word.prefix
    if not text or len(text) > 1000 or "\n" in text:
        return []
    pieces = [text, *_PIECES.split(text)]
    if text.startswith("-") and not text.startswith("--"):
        pieces.append(text[2:])
    return list(dict.fromkeys(piece for piece in pieces if piece and not piece.startswith("-")))


def _touches_protected(where: _Where, target: Target) -> bool:
    ctx = where.ctx
    for rule in relevant(ctx.rules.deny, "Bash", write=True):
        if rule.path and rule_hits(rule, target, ctx):
            return True
    return any(protected(path, ctx.folders, ctx.policy.protected) for path in target.both)
