"""Base of the values that cross a border: snake_case here, camelCase on the wire."""

from __future__ import annotations

from typing import Any, ClassVar


def camel(name: str) -> str:
    """`task_id` -> `taskId`."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


class Value:
    """A value with a wire form; `codec.py` reads and writes it.

    `__pydantic_config__` is pydantic's own hook for plain dataclasses, so that this module need not import it.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar[Any] = {"alias_generator": camel}
