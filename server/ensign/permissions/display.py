"""Text that others wrote, made safe to decide on: nothing invisible, nothing that poses as us (P12)."""

from __future__ import annotations

import re
import unicodedata

_NAME_LENGTH = 40
_TASK_LENGTH = 60
_OURS = frozenset(("main", "mainagent", "system", "user", "assistant", "ensign", "you", "person", "human", "developer"))
_LOOK_ALIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0455\u043c\u0442\u043d\u0261\u0131\u03bf\u03b1\u03bd\u03b9",
    "aeopcxyismtngioavi",
)
_RUN = 8
"""A longer run of blanks is counted instead of shown: what follows it would be out of sight."""


def visible(text: str) -> str:
    """Show the whole of `text` with control, bidirectional, zero-width and unusual blank characters spelled out.

    Newlines stay; tabs and long runs of blanks are named, so that nothing hides behind them.
    """
    shown = "".join(_shown(char) for char in text)
    return re.sub(rf" {{{_RUN + 1},}}", lambda run: f"\u27e8{len(run[0])} blanks\u27e9", shown)


def _shown(char: str) -> str:
    if char == "\n" or " " <= char <= "~":
        return char
    if char == "\t":
        return "\u27e8tab\u27e9"
    if char in "\u27e8\u27e9":
        return f"\u27e8U+{ord(char):04X}\u27e9"
    kind = unicodedata.category(char)
    hidden = kind in ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp") or char in "\u115f\u1160\u3164\uffa0\u034f\u2800"
    return f"\u27e8U+{ord(char):04X}\u27e9" if hidden or 0xFE00 <= ord(char) <= 0xFE0F else char


def tag(name: str, task: str) -> str:
    """Who asks, for a prompt: a subagent's name and task on one line, which cannot be taken for the main agent."""
    return f"{clean_name(name)} \u00b7 {_line(task, _TASK_LENGTH) or 'task'}"


def clean_name(name: str) -> str:
    """A subagent's name: visible, of one line, cut with a mark, quoted where it would pose as somebody else."""
    shown = _line(name, _NAME_LENGTH)
    bare = unicodedata.normalize("NFKC", name).casefold().translate(_LOOK_ALIKE)
    bare = re.sub(r"[^a-z]", "", bare)
    if not shown:
        return "subagent"
    return f"subagent \u201c{shown}\u201d" if any(bare == word or bare.startswith(word) for word in _OURS) else shown


def _line(text: str, limit: int) -> str:
    shown = visible(text.strip()).replace("\n", "\u27e8newline\u27e9")
    shown = re.sub(r"[\[\]\u00b7\u201c\u201d]", " ", shown)
    shown = " ".join(shown.split())
    return shown if len(shown) <= limit else shown[: limit - 1] + "\u2026"
