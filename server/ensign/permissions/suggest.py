"""The rule that "always allow" would save for a command: never broader than what it shows."""

from __future__ import annotations

import re

from ensign.permissions import programs
from ensign.permissions.rules import allows, base_name, parse_rule, quoted
from ensign.permissions.shell_words import Command, Word
from ensign.permissions.uses import Uses

_PLAIN = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_./:@-]*")


def suggestion(command: Command, uses: Uses, *, exact: bool) -> str | None:
    """Return a rule that covers the command, or None where none could be written.

    A prefix is offered only where the words after it do not change the kind of action.
    """
    words = uses.words
    if not words or command.assignments or any(word.text is None for word in words):
        return None
    keep = None if exact or uses.doubts else _prefix(words)
    body = " ".join(_written(word) for word in (words[:keep] if keep else words))
    rule = f"Bash({body}:*)" if keep else f"Bash({body})"
    try:
        parsed = parse_rule(rule)
    except ValueError:
        return None
    return rule if parsed.command and allows(parsed.command, words) and "\n" not in rule else None


def _written(word: Word) -> str:
    text = quoted(word.text or "")
    return text if text.startswith("'") else re.sub(r"([*?\[{}~#!])", r"\\\1", text)


def _prefix(words: tuple[Word, ...]) -> int | None:
    name = words[0].text or ""
    count = programs.PREFIXES.get(name)
    if count is None or name != base_name(name) or name in programs.INTERPRETERS:
        return None
    if count > 1:
        sub = words[1].text if len(words) > 1 else None
        if sub is None or sub in programs.EXACT_ONLY.get(name, ()):
            return None
        if sub == "run" and name in programs.RUN_WORDS:
            count = 3
            if len(words) > 2 and words[2].text in programs.INTERPRETERS:
                return None
    if len(words) < count or not all(_PLAIN.fullmatch(word.text or "") for word in words[1:count]):
        return None
    return count
