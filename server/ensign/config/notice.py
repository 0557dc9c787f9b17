"""The one sentence that tells a person that a folder asks for something; the same in every face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ensign.protocol.trust import TrustFile, TrustKind

_NAMED = 2
_NOUNS: Mapping[TrustKind, tuple[str, str]] = {
    "settings": ("settings", "settings"),
    "agent": ("an agent", "{} agents"),
    "mcp": ("MCP servers", "MCP servers"),
    "skill": ("a skill", "{} skills"),
    "git": ("programs that git runs", "programs that git runs"),
}


def notice_of(files: Sequence[TrustFile], *, trusted: bool) -> str:
    """Return what waits for a person's trust, or nothing; of a folder that was trusted before, by name."""
    waiting = [one for one in files if not one.trusted]
    if not waiting:
        return ""
    if trusted:
        names = [one.name for one in waiting[:_NAMED]]
        if len(waiting) > _NAMED:
            names.append(f"{len(waiting) - _NAMED} more")
        verb = "is" if len(waiting) == 1 else "are"
        return f"{_joined(names)} {verb} new or changed since you trusted this folder"
    counted = [(words, sum(one.kind == kind for one in waiting)) for kind, words in _NOUNS.items()]
    nouns = [words[count > 1].format(count) for words, count in counted if count]
    rules = any(ask.startswith("allows without asking") for one in waiting for ask in one.asks)
    if rules:
        nouns[0] = "permission rules"
    return f"This folder brings {_joined(nouns)}; they count only once you trust them"


def _joined(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
