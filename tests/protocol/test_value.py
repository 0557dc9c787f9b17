"""`frozen` makes what the standard library's decorator makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest

from ensign.protocol.codec import decode, to_wire
from ensign.protocol.value import Value, frozen


@frozen
class Base(Value):
    kind: str = "base"


@frozen
class Derived(Base):
    """A value with every kind of field."""

    name: str
    secret: str = field(default="", repr=False)
    options: Mapping[str, int] = field(default_factory=dict[str, int])
    length: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", len(self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standard:
    kind: str = "base"
    name: str
    secret: str = field(default="", repr=False)
    options: Mapping[str, int] = field(default_factory=dict[str, int])
    length: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", len(self.name))


@frozen
class Reserved(Value):
    """Says nothing of itself."""

    word: str

    def __repr__(self) -> str:
        return "Reserved"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reserved)

    def __hash__(self) -> int:
        return 0


@frozen
class Read(Value):
    """Made by decoding before it is ever made by hand."""

    task_id: str


@frozen(kw_only=False)
class Point:
    """By position, or by name."""

    x: int
    y: int = 0
    name: str = field(default="", kw_only=True)


def test_it_shows_compares_and_hashes_as_the_standard_one() -> None:
    ours, other = Derived(name="a", secret="s"), Derived(name="a", secret="t")
    standard = Standard(name="a", secret="s")
    assert repr(ours) == repr(standard).replace("Standard", "Derived")
    assert (ours == Derived(name="a", secret="s"), ours == other, ours == Base(), Base() == Base()) == (
        *(True, False, False),
        True,
    )
    assert hash(Base()) == hash(Base())
    assert [one.name for one in fields(Derived)] == [one.name for one in fields(Standard)]
    assert is_dataclass(Derived)
    assert not hasattr(ours, "__dict__")


def test_its_defaults_are_made_anew_for_each_and_replace_makes_another() -> None:
    one, two = Derived(name="a"), Derived(name="ab")
    assert (one.options, one.options is two.options, one.length, two.length) == ({}, False, 1, 2)
    assert replace(one, name="abc") == Derived(name="abc")
    assert replace(one, name="abc").length == 3


@pytest.mark.parametrize("wrong", [{}, {"name": "a", "nam": "b"}, {"name": "a", "length": 1}])
def test_wrong_arguments_are_refused_as_any_call_refuses_them(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="argument"):
        Derived(**wrong)


def test_values_may_be_given_by_position_where_the_class_says_so() -> None:
    assert Point(1, 2, name="p") == Point(x=1, y=2, name="p")
    assert repr(Point(1)) == "Point(x=1, y=0, name='')"
    wrong: Any = Point
    with pytest.raises(TypeError, match="argument"):
        wrong(1, 2, "p")


def test_nothing_can_be_changed_added_or_deleted() -> None:
    made: Any = Derived(name="a")
    with pytest.raises(FrozenInstanceError, match="name"):
        made.name = "b"
    with pytest.raises(FrozenInstanceError, match="more"):
        made.more = 1
    with pytest.raises(FrozenInstanceError, match="name"):
        del made.name
    assert made == Derived(name="a")


def test_methods_of_the_class_itself_stay() -> None:
    assert (repr(Reserved(word="a")), Reserved(word="a") == Reserved(word="b"), hash(Reserved(word="c"))) == (
        *("Reserved", True),
        0,
    )


def test_a_value_that_was_decoded_is_equal_to_one_that_was_made() -> None:
    decoded = decode(Read, {"taskId": "t1"})
    assert decoded == decode(Read, {"taskId": "t1"})
    assert hash(decoded) == hash(decode(Read, {"taskId": "t1"}))
    assert (decoded, to_wire(decoded)) == (Read(task_id="t1"), {"taskId": "t1"})


def test_a_field_that_is_not_compared_makes_no_difference() -> None:
    other = Base(kind="b")
    lengthened = Derived(name="a")
    object.__setattr__(lengthened, "length", 9)
    assert (lengthened == Derived(name="a"), other == Base(kind="b"), other == Base()) == (True, True, False)
