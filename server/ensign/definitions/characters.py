"""Characters that have no place in what a person reviews and a model then reads."""

from __future__ import annotations

import re

UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
"""Not printable in YAML, or a line break to YAML and to nobody else. Listed by what is outside: compiles faster."""

HIDDEN = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e0fff]")
"""Hides or reorders text. Joiners and variation selectors are not here: scripts and emoji need them."""


def code_point(character: str) -> str:
    """`U+200B`, for messages."""
    return f"U+{ord(character):04X}"
