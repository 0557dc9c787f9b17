"""Keys: held so that no log, repr or message can show them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ensign.protocol.errors import UserError

MASK = "***"
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|xai|gsk|pk|AIza)[-_]?[A-Za-z0-9_\-*.]{12,}|(?<=Bearer )[^\s\"',]{6,}")


class Secret:
    """A string that does not show itself; `reveal` is called where a request is built and nowhere else."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return f"Secret({MASK if self._value else ''})"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str:
        raise TypeError("a secret is never stored")

    def reveal(self) -> str:
        """Return the string itself."""
        return self._value


def read_key(value: str, where: str) -> Secret:
    """Return the key in `value`, without the blanks that copying brings along.

    Raises:
        UserError: it cannot stand in an HTTP header; the message names `where` it came from, never the key.
    """
    key = value.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UserError(f"the key in {where!r} has characters that a key cannot have; copy it again")
    return Secret(key)


def scrub(text: str, secrets: Iterable[Secret]) -> str:
    """Return `text` with every known secret, and what looks like a key, masked: servers repeat keys in their errors."""
    for secret in secrets:
        if secret and len(secret.reveal()) >= 4:
            text = text.replace(secret.reveal(), MASK)
    return _LOOKS_LIKE_A_KEY.sub(MASK, text)
