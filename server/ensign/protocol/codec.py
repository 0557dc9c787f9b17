"""Between our values and JSON: `to_wire` out, `decode` in. The only place that turns names into camelCase.

`to_wire` is on the path of every delta, so it is plain code over cached field lists; `decode` is strict and uses
pydantic, imported at the first call (it costs start time).
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar

from ensign.protocol.errors import UserError
from ensign.protocol.value import camel

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


@cache
def _members(cls: type) -> tuple[tuple[str, str], ...] | None:
    """The names of a dataclass's fields inside and on the wire; None for any other class."""
    return tuple((field.name, camel(field.name)) for field in fields(cls)) if is_dataclass(cls) else None


def to_wire(value: Any) -> Any:
    """Return `value` as JSON-ready dicts, lists and scalars, with camelCase names for dataclass fields.

    Keys of mappings are data and stay as they are.
    """
    kind: Any = value.__class__
    if kind is str or value is None or kind is int or kind is bool or kind is float:
        return value
    if (members := _members(kind)) is not None:
        return {wire: to_wire(getattr(value, name)) for name, wire in members}
    if kind is tuple or kind is list:
        return [to_wire(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "items"):
        return {str(key): to_wire(item) for key, item in value.items()}
    return value


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}
"""Validators by class, made at first use; a cache of pure values."""


def _adapter(cls: type[T]) -> TypeAdapter[T]:
    from pydantic import TypeAdapter

    if cls not in _ADAPTERS:
        _ADAPTERS[cls] = TypeAdapter(cls)
    return _ADAPTERS[cls]


def decode(cls: type[T], value: Any, *, what: str = "params") -> T:
    """Return `value` (JSON) as `cls`; unknown names are ignored, wrong types are refused.

    Raises:
        UserError: naming the first wrong field, for example `params.sessionId: Field required`.
    """
    from pydantic import ValidationError

    try:
        return _adapter(cls).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join((what, *(str(part) for part in first["loc"])))
        raise UserError(f"{where}: {first['msg']}") from error


def schema(cls: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of `cls` as it is on the wire."""
    return _adapter(cls).json_schema(by_alias=True)
