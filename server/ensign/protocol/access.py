"""What a call would touch, and what the permission engine says of it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from ensign.protocol.value import frozen


class Effect(StrEnum):
    """What a tool, or one access, can do to the world."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    SESSION = "session"
    """Changes only the session's own records; needs no approval unless a rule says so (T2)."""


class Decision(StrEnum):
    """A verdict's three words, weakest protection first."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Mode(StrEnum):
    """Permission modes (P2). `bubble` and `dontAsk` are for subagents."""

    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    PLAN = "plan"
    BYPASS = "bypassPermissions"
    BUBBLE = "bubble"
    DONT_ASK = "dontAsk"


@frozen
class Access:
    """One thing a call would touch.

    Attributes:
        effect: how it is touched.
        target: as spelled by the model: a path, a command line, a URL, an agent name.
        path: the target resolved (links, `..`, `~`), for files; None otherwise.
        ask: why a person must be asked whatever rules and mode allow (a deny still denies), or None; for example that
            unsaved text would be replaced.
    """

    effect: Effect
    target: str
    path: Path | None = None
    ask: str | None = None


@frozen
class Part:
    """One piece of a verdict: a simple command, a redirect, a path, with its own decision."""

    text: str
    decision: Decision
    reason: str
    rule: str | None = None


@frozen
class Verdict:
    """The decision on a whole call.

    Attributes:
        reason: one sentence for people and models.
        rule: the rule that decided, as written, or None.
        by: `rule`, `protected`, `containment`, `mode`, `trust`, `syntax`, `grant`, `effect`.
        parts: every judged piece, in order; the first with the strongest decision decided.
        suggestions: the rules that "always allow" would save, one for each part that asks; empty where "always" is
            not offered (P15).
        grants: the exact rules that an answer for the task or the session stands for.
        asked_by_mode: True when only the mode stood in the way (`bypassPermissions` lifts just these).
    """

    decision: Decision
    reason: str
    rule: str | None = None
    by: str = "mode"
    parts: tuple[Part, ...] = ()
    suggestions: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    asked_by_mode: bool = False
