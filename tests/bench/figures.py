"""What a benchmark comes to: rows of a table, each a median over interleaved pairs with its spread."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. `value` is what `target` bounds from above (the ratio, or a figure with its unit).

    Attributes:
        target: None where the goal names no number.
        note: what the bare side is, or what else is worth knowing.
    """

    name: str
    ours: str
    bare: str = ""
    value: float | None = None
    spread: str = ""
    target: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.target is None or self.value is None else self.value <= self.target


def paired(
    name: str, pairs: Sequence[tuple[float, float]], *, target: float | None, note: str, unit: str = "ms"
) -> Row:
    """A row of the ratios of pairs (ours, bare), in seconds."""
    ratios = [ours / bare for ours, bare in pairs]
    return Row(
        name=name,
        ours=shown(statistics.median(ours for ours, _ in pairs), unit),
        bare=shown(statistics.median(bare for _, bare in pairs), unit),
        value=statistics.median(ratios),
        spread=quartiles(ratios, len(pairs)),
        target=target,
        note=note,
    )


def quartiles(values: Sequence[float], count: int) -> str:
    """The middle half of the values, and how many there are."""
    if len(values) < 2:
        return f"n={count}"
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{low:.2f}-{high:.2f} n={count}"


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def latencies(name: str, values: Sequence[float], *, target: float | None = None, note: str = "") -> Row:
    """A row of a latency's p50 and p99, in seconds; the target, in milliseconds, is for p50."""
    middle = percentile(values, 0.5)
    return Row(
        name=name,
        ours=f"p50 {shown(middle, 'ms')}, p99 {shown(percentile(values, 0.99), 'ms')}",
        value=None if target is None else middle * 1000,
        spread=f"n={len(values)}",
        target=target,
        note=note,
    )


def shown(seconds: float, unit: str) -> str:
    """A time in a unit that reads well."""
    scale = {"s": 1.0, "ms": 1e3, "us": 1e6}[unit]
    value = seconds * scale
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.2f} {unit}" if value < 10 else f"{value:.1f} {unit}"


def send(rows: Sequence[Row]) -> None:
    """Hand rows from a measuring process to the one that prints."""
    for row in rows:
        sys.stdout.write(json.dumps(asdict(row)) + "\n")
    sys.stdout.flush()


def table(rows: Sequence[Row]) -> str:
    """The rows as text, each with its note below."""
    heads = ("what", "ours", "bare", "value", "middle half", "target", "met")
    cells = [heads, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    lines: list[str] = []
    for number, line in enumerate(cells):
        lines.append("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
        if number == 0:
            lines.append("  ".join("-" * width for width in widths))
        elif rows[number - 1].note:
            lines.append(f"    {rows[number - 1].note}")
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    met = {True: "yes", False: "NO", None: ""}[row.met]
    value = "" if row.value is None else f"{row.value:.2f}"
    return (row.name, row.ours, row.bare, value, row.spread, "" if row.target is None else f"<= {row.target:g}", met)
