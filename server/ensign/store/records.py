r"""The lines of a transcript: one JSON object each, `{"n", "epoch", "at", "kind", "body"}`, in this order.

A line is a record when its newline is there or its object is closed. Reading never gives up on a file for a bad spot:
what can be read on both sides of it is, and the spot is told of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, cast

from ensign.protocol.value import frozen

Kind = Literal[
    "head",
    "claim",
    "run",
    "message",
    "history",
    "event",
    "partial",
    "intent",
    "inbox",
    "delivered",
    "title",
    "hidden",
    "end",
]

_START = b'{"n":'
"""What a record opens with. Quotes inside a JSON string are escaped, so only a record or a bare object looks so."""

_START_TEXT = _START.decode()
_decoder = json.JSONDecoder()
_dumps: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_dumps_ascii: Callable[[Any], str] = json.JSONEncoder(separators=(",", ":")).encode


@frozen(kw_only=False)
class Record:
    """One line.

    Attributes:
        n: position in its transcript, from 0; the order that counts, whatever the clock says.
        epoch: the claim of the session under which it was appended.
        at: Unix seconds.
    """

    n: int
    epoch: int
    at: float
    kind: str
    body: Mapping[str, Any]


@frozen
class Loaded:
    """What a transcript's bytes came to.

    Attributes:
        notices: what was wrong, in words for people.
        whole_bytes: length up to which the file is kept; what lies behind is a torn tail.
        unterminated: the last record lacks only its newline.
        head_whole: the first line is a record.
    """

    records: tuple[Record, ...]
    notices: tuple[str, ...]
    whole_bytes: int
    unterminated: bool
    head_whole: bool


def encode(record: Record) -> bytes:
    """Return the line, newline included."""
    head = f'{{"n":{record.n},"epoch":{record.epoch},"at":{record.at:.3f},"kind":"{record.kind}","body":'
    try:
        body = _dumps(record.body).encode()
    except UnicodeEncodeError:
        # A lone surrogate, as a model or a file name can bring it, has no UTF-8 form but an escaped one.
        body = _dumps_ascii(record.body).encode()
    return b"%b%b}\n" % (head.encode(), body)


def read(data: bytes) -> Loaded:
    """Return the records in `data`, whatever else is in it.

    Invariant: records of an epoch older than one before them are left out: a fenced owner's words do not count.
    """
    end = data.rfind(b"\n") + 1
    tail = _record(data[end:])
    lines = data[: end - 1].split(b"\n") if end else []
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        record = _record(line)
        reader.take((record,) if record else _salvage(line), number, whole=record is not None)
    if tail is not None:
        reader.take((tail,), len(lines) + 1, whole=True)
    elif end < len(data):
        reader.notices.append(f"the last {len(data) - end} bytes are half a record and were dropped")
    return reader.loaded(len(data) if tail else end, unterminated=tail is not None)


class _Reader:
    """Collects records; neighbouring damaged lines make one notice."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.notices: list[str] = []
        self.damaged: list[int] = []
        self.epoch = 0
        self.fenced = 0

    def take(self, records: tuple[Record, ...], number: int, *, whole: bool) -> None:
        if not whole:
            self.damaged.append(number)
        for record in records:
            if record.epoch < self.epoch:
                self.fenced += 1
                continue
            self.epoch = record.epoch
            self.records.append(record)

    def loaded(self, whole_bytes: int, *, unterminated: bool) -> Loaded:
        notices = [*(_lines(first, last) for first, last in _runs(self.damaged)), *self.notices]
        if self.fenced:
            notices.append(f"{self.fenced} records of an owner that had lost the session were left out")
        return Loaded(
            records=tuple(self.records),
            notices=tuple(notices),
            whole_bytes=whole_bytes,
            unterminated=unterminated,
            head_whole=bool(self.records) and 1 not in self.damaged,
        )


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    first = last = 0
    for number in numbers:
        if first and number != last + 1:
            yield first, last
            first = number
        first, last = first or number, number
    if first:
        yield first, last


def _lines(first: int, last: int) -> str:
    where = f"line {first} is" if first == last else f"lines {first} to {last} are"
    return f"{where} damaged; the records before and after are kept"


def _record(line: bytes) -> Record | None:
    if not line.startswith(_START):
        return None
    try:
        return _value(json.loads(line))
    except (ValueError, RecursionError):
        return None


def _value(value: Any) -> Record | None:
    try:
        n, epoch, at, kind, body = (value[key] for key in ("n", "epoch", "at", "kind", "body"))
    except (KeyError, TypeError):
        return None
    right = type(n) is int and type(epoch) is int and type(kind) is str and isinstance(at, (int, float))
    if not right or not isinstance(body, dict):
        return None
    return Record(n, epoch, float(at), kind, cast("dict[str, Any]", body))


def _salvage(line: bytes) -> tuple[Record, ...]:
    """Return the whole records inside a damaged line: beside NUL bytes, behind a torn one, or fused to one another."""
    # Bytes that are no UTF-8 become lone surrogates here, and a record that has some is itself damaged.
    text = line.decode("utf-8", "surrogateescape")
    found: list[Record] = []
    at = text.find(_START_TEXT)
    while at >= 0:
        end = at + 1
        try:
            value, stop = _decoder.raw_decode(text, at)
            text[at:stop].encode()
        except (ValueError, RecursionError):
            pass
        else:
            if record := _value(value):
                found.append(record)
                end = stop
        at = text.find(_START_TEXT, end)
    return tuple(found)
