"""JSON out of our values, and careful looks into JSON that may be anything."""

from __future__ import annotations

import json
from typing import Any, TypeGuard, cast

Object = dict[str, Any]
_DECODER = json.JSONDecoder(strict=False)


def dumps(value: Any) -> bytes:
    """Return compact JSON in UTF-8; what is no Unicode text (lone surrogates) becomes `?`."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)
    return text.encode("utf-8", "replace")


def loads(text: str) -> Any:
    """Return the JSON value, or None where `text` is none. Raw control characters in strings are let through."""
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def an_object(value: Any) -> Object:
    """Return `value` if it is an object, else an empty one."""
    return cast("Object", value) if isinstance(value, dict) else {}


def a_list(value: Any) -> list[Any]:
    """Return `value` if it is an array, else an empty one."""
    return value if _is_list(value) else []


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def a_string(value: Any) -> str:
    """Return `value` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def a_count(value: Any) -> int | None:
    """Return `value` if it is a whole number from 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
