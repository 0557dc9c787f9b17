"""Values: frozen, slotted dataclasses, keyword-only unless said; snake_case here, camelCase on the wire.

`frozen` makes what `dataclass(frozen=True, slots=True, kw_only=True)` makes, at a fifteenth of the price
(docs/decisions/0004): a start defines hundreds of classes and makes values of few, so a class's methods are compiled
when the first value is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, ClassVar, NoReturn, TypeVar, dataclass_transform, overload

T = TypeVar("T")


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


@overload
def frozen(cls: type[T], /) -> type[T]: ...
@overload
def frozen(*, kw_only: bool = ...) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[T] | None = None, /, *, kw_only: bool = True) -> Any:
    """Make a class a frozen, slotted dataclass."""

    def make(cls: type[T]) -> type[T]:
        made = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
        for name, method in _METHODS.items():
            if name not in cls.__dict__:
                setattr(made, name, method)
        return made

    return make if cls is None else make(cls)


def _first_init(self: Value, /, *given: Any, **values: Any) -> None:
    _compile(type(self))
    type(self).__init__(self, *given, **values)


def _first_eq(self: Value, other: object) -> bool:
    """Needed beside `_first_init`: pydantic makes values without it."""
    _compile(type(self))
    return self == other


def _first_hash(self: Value) -> int:
    _compile(type(self))
    return hash(self)


def _compile(cls: type[Any]) -> None:
    """Give a class the methods that `dataclass` would have given it."""
    scope: dict[str, Any] = {"set_field": object.__setattr__, "MISSING": MISSING}
    positional: list[str] = []
    by_name: list[str] = []
    body: list[str] = []
    for one in fields(cls):
        parameter = given = one.name
        if one.default is not MISSING:
            scope[f"default_{one.name}"] = one.default
            parameter += f"=default_{one.name}"
        elif one.default_factory is not MISSING:
            scope[f"make_{one.name}"] = one.default_factory
            parameter += "=MISSING"
            given = f"make_{one.name}() if {one.name} is MISSING else {one.name}"
        if one.init:
            (by_name if one.kw_only else positional).append(parameter)
            body.append(f"set_field(self, {one.name!r}, {given})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    compared = [one.name for one in fields(cls) if one.compare]
    mine, others = ("".join(f"{owner}.{name}, " for name in compared) for owner in ("self", "other"))
    parameters = ", ".join(["self", *positional, *(["*", *by_name] if by_name else ())])
    source = (
        f"def __init__({parameters}):\n {'; '.join(body) or 'pass'}\n"
        "def __eq__(self, other):\n"
        f" return ({mine}) == ({others}) if other.__class__ is self.__class__ else NotImplemented\n"
        f"def __hash__(self):\n return hash(({mine}))\n"
    )
    exec(source, scope)  # noqa: S102 - of field names only, as in the standard library
    for name, first in _FIRST.items():
        if getattr(cls, name) is first:
            setattr(cls, name, scope[name])


def _show(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_set(self: object, name: str, _: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


_FIRST = {"__init__": _first_init, "__eq__": _first_eq, "__hash__": _first_hash}
_METHODS = {**_FIRST, "__repr__": _show, "__setattr__": _refuse_set, "__delattr__": _refuse_delete}
