"""Programs that run other programs: wrappers, shells, `eval`, runners. What they run is judged as if it stood alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile

from ensign.permissions.shell_words import Command, RedirectKind, Script, Word
from ensign.permissions.uses import Uses, part
from ensign.permissions.wrappers import RUNNERS, Wrapper

Read = Callable[[str], Script]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def wrapper(uses: Uses, command: Command, spec: Wrapper, read: Read) -> None:
    """Find the command that a wrapper runs."""
    name = uses.words[0].text or ""
    at, assignments, scripts = _options(uses, spec, list(uses.words))
    rest = uses.words[at:]
    uses.needs_rule = spec.open or spec.unsure
    if spec.unsure:
        uses.suspects.extend(uses.words[start:] for start in range(1, min(len(uses.words), 6)))
    for script in scripts:
        _script(uses, command, script, read, at)
    if not rest:
        uses.needs_rule = spec.open or name in ("env", "command") or not (scripts or name == "exec")
        uses.pure = name in ("env", "command")
        return
    if name == "command" and any(word.text in ("-v", "-V") for word in uses.words[1:at]):
        uses.known = uses.read_only = uses.pure = uses.needs_rule = True
        uses.doubts.clear()
        return
    if name == "xargs":
        rest = _with_marks(uses, rest, at)
    if spec.appends:
        rest = (*rest, _added(uses, command))
    if spec.joins and len(rest) >= 1:
        joined = " ".join(word.text if word.text is not None else "$UNKNOWN" for word in rest)
        _script(uses, command, part(rest[0], joined), read, at)
        return
    uses.inner_at = at
    text = " ".join(word.raw for word in rest)
    uses.inner.append(
        replace(command, text=text, words=rest, assignments=assignments, redirects=(), faults=(), feeds=command.feeds)
    )


def _added(uses: Uses, command: Command) -> Word:
    """What `xargs` adds: names parted by NUL from a search are paths below its folder; all else may be anything."""
    feed = [word.text or "" for word in command.feeds]
    nul = any(re.fullmatch(r"-[a-z]*0[a-z]*|--null", word.prefix) for word in uses.words[1:])
    elsewhere = any(redirect.kind is not RedirectKind.WRITE for redirect in command.redirects)
    below = _names_below(feed) if nul and not elsewhere else None
    return Word(raw="<names from standard input>", text=None, splits=below is None, below=below)


def _names_below(feed: list[str]) -> str | None:
    """The folder that every name printed by a search lies below, when that is certain."""
    if feed[:1] == ["find"] and feed[-1] == "-print0" and not _PRINTS_MORE.intersection(feed):
        roots = list(takewhile(lambda text: text and text[0] not in "-(!", feed[1:]))
        return roots[0] if len(roots) == 1 else None if roots else "."
    if feed[:3] == ["git", "ls-files", "-z"] and not any(text[:1] in ("-", "") or ".." in text for text in feed[3:]):
        return "."
    return None


_PRINTS_MORE = frozenset(("-printf", "-print", "-ls", "-exec", "-execdir", "-ok", "-okdir", ""))


def _options(uses: Uses, spec: Wrapper, words: list[Word]) -> tuple[int, tuple[tuple[str, Word], ...], list[Word]]:
    """Return where the command begins, the variables set for it, and shell lines given by option."""
    assignments: list[tuple[str, Word]] = []
    scripts: list[Word] = []
    at, operands = 1, spec.operands
    while at < len(words):
        word = words[at]
        text = word.prefix
        name = text.partition("=")[0]
        if name in spec.script or (spec.script and re.match(r"-[a-zA-Z]*[Sc]$", text) and name[-1] in "Sc"):
            if "=" in text:
                scripts.append(part(word, text.partition("=")[2]))
            elif at + 1 < len(words):
                at += 1
                scripts.append(words[at])
        elif any(
            len(option) == 2 and text.startswith(option) and len(text) > 2 and not text.startswith("--")
            for option in spec.script
        ):
            scripts.append(part(word, text[2:]))
        elif text == "--":
            at += 1
            break
        elif name in spec.values:
            at += 0 if "=" in text else 1
        elif text.startswith("-") and len(text) > 1:
            _flag(uses, spec, words, at)
        elif spec.variables and _VARIABLE.match(text):
            assignments.append((text.partition("=")[0], part(word, text.partition("=")[2])))
        elif operands:
            operands -= 1
        else:
            break
        at += 1
    return min(at, len(words)), tuple(assignments), scripts


def _flag(uses: Uses, spec: Wrapper, words: list[Word], at: int) -> None:
    text = words[at].prefix
    short = any(len(option) == 2 and text.startswith(option) for option in spec.values) and not text.startswith("--")
    cluster = not text.startswith("--") and all(f"-{letter}" in spec.flags for letter in text[1:])
    number = re.fullmatch(r"-\d+", text)
    if text.partition("=")[0] in spec.flags or short or cluster or number:
        return
    uses.doubt(f"{text!r} is an option of {uses.words[0].text!r} that is not known", text)
    # Its value may be the next word, so every later word may begin the command.
    uses.suspects.extend(tuple(words[start:]) for start in range(at + 1, min(len(words), at + 4)))


def _with_marks(uses: Uses, rest: tuple[Word, ...], at: int) -> tuple[Word, ...]:
    """`xargs -I MARK` puts unknown text wherever the mark stands."""
    marks = {"{}"}
    for place, word in enumerate(uses.words[1:at], start=1):
        if word.prefix.startswith("-I"):
            marks.add(word.prefix[2:] or (uses.words[place + 1].prefix if place + 1 < at else ""))
    marks.discard("")
    return tuple(
        Word(raw=word.raw, text=None, prefix=word.prefix.partition(mark)[0], splits=False)
        if (mark := next((mark for mark in marks if mark in word.prefix), None))
        else word
        for word in rest
    )


def _script(uses: Uses, command: Command, script: Word, read: Read, at: int) -> None:
    """Judge a shell line that is given as text."""
    if script.text is None:
        uses.doubt("runs text that only the shell knows", hidden=True)
        return
    inner = read(script.text)
    uses.inner_faults.extend(inner.faults)
    uses.suspects.extend(inner.suspects)
    uses.inner_at = at
    uses.inner.extend(replace(item, moves=(*command.moves, *item.moves)) for item in inner.commands)


_SHELL_FLAGS = re.compile(r"[-+][ceuxvfahkmnpst]+")


def shell(uses: Uses, command: Command, read: Read) -> None:
    """`bash -c LINE` is that line; a script file or standard input is a program that was not seen."""
    words = uses.words
    at, line = 1, False
    while at < len(words) and words[at].prefix.startswith(("-", "+")):
        text = words[at].prefix
        if text in ("-o", "+o", "-O", "+O"):
            at += 1
            if text != "-o":
                uses.doubt(f"{text!r} changes the shell", text)
        elif text not in ("--norc", "--noprofile", "--posix", "--") and not _SHELL_FLAGS.fullmatch(text):
            uses.doubt(f"{text!r} makes the shell read other files", text)
            if text in ("--rcfile", "--init-file"):
                at += 1
        line |= "c" in text and not text.startswith("--")
        at += 1
    if line and at < len(words):
        uses.needs_rule = bool(uses.doubts)
        _script(uses, command, words[at], read, at)
        return
    uses.doubt("runs a program that is not shown here", words[at].prefix if at < len(words) else words[0].prefix)
    for text in _standard_input(command):
        inner = read(text)
        uses.suspects.extend(item.words for item in inner.commands)
        uses.suspects.extend(inner.suspects)


def _standard_input(command: Command) -> list[str]:
    texts = [item.target.prefix for item in command.redirects if item.kind is RedirectKind.TEXT]
    if command.feeds and command.feeds[0].text in ("echo", "printf"):
        texts.append(" ".join(word.prefix for word in command.feeds[1:] if not word.prefix.startswith("-")))
    return texts


def evaluate(uses: Uses, command: Command, read: Read) -> None:
    """`eval` joins its words into a line."""
    uses.needs_rule = False
    if any(not word.known for word in uses.words[1:]):
        uses.doubt("runs text that only the shell knows", hidden=True)
        return
    line = " ".join(word.text or "" for word in uses.words[1:])
    if line:
        _script(uses, command, part(uses.words[0], line), read, 1)


def runner(uses: Uses, name: str, read: Read) -> None:
    """What `npm exec`, `docker run` and their like may run, for deny and ask rules."""
    verbs = RUNNERS[name]
    texts = [word.text for word in uses.words[:5]]
    at = next((texts.index(verb) + 1 for verb in verbs if verb in texts[1:]), None if verbs else 1)
    if at is None:
        return
    for start in range(at, min(len(uses.words), at + 6)):
        word = uses.words[start]
        if word.prefix.startswith("-"):
            continue
        uses.suspects.append(uses.words[start:])
        if word.text and " " in word.text:
            uses.suspects.extend(item.words for item in read(word.text).commands)
        if not word.prefix.startswith("-") and name not in ("docker", "podman", "kubectl", "direnv", "git", "nix"):
            break


def trap(uses: Uses, read: Read) -> None:
    """`trap LINE SIGNAL` runs the line later."""
    uses.doubt("runs a command between the others", hidden=True)
    for word in uses.words[1:2]:
        if word.text:
            uses.suspects.extend(item.words for item in read(word.text).commands)
