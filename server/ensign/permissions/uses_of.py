"""Which reader of arguments a command goes to."""

from __future__ import annotations

import re

from ensign.permissions import programs, uses_find, uses_git, uses_text, uses_wrap, wrappers
from ensign.permissions.rules import base_name
from ensign.permissions.shell_words import Command
from ensign.permissions.uses import Uses, reader, writer

_SPECIAL = {"sed": uses_text.sed, "gsed": uses_text.sed, "git": uses_git.git}
_TESTS = frozenset(("test", "[", "[["))
_AWKS = frozenset(("awk", "gawk", "mawk", "nawk"))


def uses_of(command: Command, read: uses_wrap.Read) -> Uses:
    """Say what a command uses. `read` takes apart a shell line that is given as text."""
    uses = Uses(words=command.words)
    if not command.words:
        uses.needs_rule = False
        uses.known = uses.read_only = True
        return uses
    first = command.words[0]
    if not first.known or first.text == "":
        uses.doubt(f"which program {first.raw!r} is, only the shell knows", hidden=True)
        return uses
    written = first.text or ""
    name = base_name(written)
    if written != name and "/" in written and not written.startswith(("/bin/", "/usr/bin/")):
        uses.doubt(f"{written!r} is a file of its own, whatever its name", written)
    _dispatch(uses, command, name, read)
    return uses


def _dispatch(uses: Uses, command: Command, name: str, read: uses_wrap.Read) -> None:
    if name in wrappers.WRAPPERS:
        uses_wrap.wrapper(uses, command, wrappers.WRAPPERS[name], read)
    elif name == "eval":
        uses_wrap.evaluate(uses, command, read)
    elif name in wrappers.SHELLS:
        uses_wrap.shell(uses, command, read)
    elif name == "trap":
        uses_wrap.trap(uses, read)
    elif name == "find":
        uses_find.find(uses, command)
    elif name in _TESTS:
        uses_find.test(uses)
    elif name in _AWKS:
        uses_text.awk(uses)
    elif name in _SPECIAL:
        _SPECIAL[name](uses)
        if name == "git":
            uses_wrap.runner(uses, name, read)
    elif name in programs.READERS:
        reader(uses, programs.READERS[name])
    elif name in programs.WRITERS:
        writer(uses, programs.WRITERS[name])
    else:
        _opaque(uses, name, read)


def _opaque(uses: Uses, name: str, read: uses_wrap.Read) -> None:
    """A program that is not understood: only the options that are known to be treacherous are looked for."""
    if name in wrappers.RUNNERS:
        uses_wrap.runner(uses, name, read)
    if name in programs.VERSION_ONLY and len(uses.words) == 2 and uses.words[1].text == "--version":
        uses.known = uses.read_only = uses.pure = True
        return
    if name in programs.NO_RULE_NEEDED:
        uses.known = uses.read_only = uses.pure = True
        return
    if name == "export" and all(_safe_export(word.text) for word in uses.words[1:]):
        uses.known = uses.read_only = uses.pure = True
        uses.needs_rule = False
        return
    if name in programs.OPAQUE_BUILTINS:
        if any("[" in word.prefix for word in uses.words[1:]):
            uses.doubt("a subscript is evaluated", hidden=True)
        if name in programs.REDEFINING:
            uses.doubt(f"{name!r} changes what later names mean", hidden=True)
        uses.pure = name not in ("source", ".")
    for word in uses.words[1:]:
        text = word.prefix
        for option in programs.TREACHEROUS.get(name, ()):
            long = option.startswith("--") and (text.partition("=")[0] == option or text.startswith(option))
            if long or (not option.startswith("--") and text.startswith(option)):
                uses.doubt(f"{option!r} makes {name!r} run a program", option)
    if name in ("curl", "wget", "tar", "unzip", "gcc", "go", "cc", "clang"):
        _outputs(uses)


def _safe_export(text: str | None) -> bool:
    found = re.fullmatch(r"([A-Z_][A-Z0-9_]*)(?:=.*)?", text or "", re.DOTALL)
    return found is not None and found[1] in programs.SAFE_VARIABLES


def _outputs(uses: Uses) -> None:
    words = uses.words
    for at, word in enumerate(words[:-1]):
        if word.text in programs.TARGET_OPTIONS:
            uses.write(words[at + 1])
