"""Whether the text of a permission rule can be understood, asked of the permission engine itself."""

from __future__ import annotations

from ensign.permissions.rules import parse_rule


def check_rule(text: str) -> str | None:
    """Return what is wrong with the rule, or None; for settings, flags, saved answers and agent files alike."""
    try:
        parse_rule(text)
    except ValueError as error:
        return str(error)
    return None
