"""Plain orders in a task: `` run `cmd` `` and `` replace `a` with `b` in PATH ``, carried out one after another."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ensign.models.offline.evidence import first_line
from ensign.models.offline.searching import Planned
from ensign.protocol.messages import ToolCall, ToolResult
from ensign.protocol.value import frozen

_ORDER = re.compile(
    r"\b(?:run|execute)\s+`(?P<command>[^`]+)`"
    r"|\breplace\s+`(?P<old>[^`]+)`\s+(?:with|by)\s+`(?P<new>[^`]*)`\s+in\s+`?(?P<path>[^\s`]+?)`?(?=[.,;:!?]?(?:\s|$))",
    re.IGNORECASE,
)
_OUTPUT_CHARS = 3_000


@frozen(kw_only=False)
class Order:
    """One order and the calls that carry it out."""

    words: str
    calls: tuple[Planned, ...]


def read_orders(task: str) -> list[Order]:
    """Return the orders of a task in the order in which it gives them."""
    orders: list[Order] = []
    for found in _ORDER.finditer(task):
        if command := found["command"]:
            orders.append(Order(f"run `{command}`", (("Bash", {"command": command}),)))
        else:
            path = found["path"]
            edit = {"file_path": path, "old_string": found["old"], "new_string": found["new"]}
            words = f"replace `{found['old']}` with `{found['new']}` in {path}"
            orders.append(Order(words, (("Read", {"file_path": path}), ("Edit", edit))))
    return orders


def next_call(
    orders: Sequence[Order], done: Sequence[tuple[ToolCall, ToolResult]], tools: Collection[str]
) -> Planned | None:
    """Return the next call to make; what follows a call that failed in the same order is left out."""
    position = 0
    for order in orders:
        for call in order.calls:
            if call[0] not in tools and call[0] != "Read":
                break
            if call[0] not in tools:
                continue
            if position == len(done):
                return call
            position += 1
            if done[position - 1][1].is_error:
                break
    return None


def orders_report(
    orders: Sequence[Order], done: Sequence[tuple[ToolCall, ToolResult]], tools: Collection[str]
) -> list[str]:
    """Say what became of each order."""
    sections: list[str] = []
    results = list(done)
    for order in orders:
        outcome = ""
        for name, _ in order.calls:
            if name not in tools:
                outcome = outcome if name == "Read" else f"Not done: there is no tool {name!r} here."
                continue
            if not results or results[0][0].name != name:
                outcome = outcome or "Not done."
                break
            result = results.pop(0)[1]
            outcome = _outcome(name, result)
            if result.is_error:
                break
        sections.append(f"### {order.words}\n{outcome}")
    return sections


def _outcome(name: str, result: ToolResult) -> str:
    if name == "Bash":
        text = result.text.rstrip()
        cut = text if len(text) <= _OUTPUT_CHARS else f"{text[:_OUTPUT_CHARS]}\n… (cut)"
        ticks = "````" if "```" in cut else "```"
        return f"{'Failed:' if result.is_error else 'It printed:'}\n{ticks}\n{cut or '(nothing)'}\n{ticks}"
    if result.is_error:
        return f"Failed: {first_line(result.text)}"
    return f"Done: {first_line(result.text)}" if name == "Edit" else ""
