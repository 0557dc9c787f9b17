"""Identifiers: UUIDv7, so that ids sort by time of birth; short forms for people come from the random part."""

from __future__ import annotations

import os
import time
from collections.abc import Container

_RANDOM_FROM = 12
"""Hex digits 0-11 of a UUIDv7 are the clock (equal for siblings); what follows the version digit is random."""


def new_id() -> str:
    """Return a UUIDv7 as 36 characters of lower-case hex with dashes (RFC 9562, section 5.7)."""
    millis = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = (millis & ((1 << 48) - 1)) << 80 | 0x7 << 76 | (random >> 68 & 0xFFF) << 64
    value |= 0b10 << 62 | random & ((1 << 62) - 1)
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def short_id(identifier: str, taken: Container[str] = ()) -> str:
    """Return the last 6 hex digits of the random part, or as many more as make it differ from `taken`."""
    digits = identifier.replace("-", "")[_RANDOM_FROM:]
    for length in range(6, len(digits) + 1):
        if (short := digits[-length:]) not in taken:
            return short
    return identifier
