"""What the tools have shown: read back from the history, so that every finding is a line that a tool returned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ensign.protocol.messages import AssistantMessage, Message, ToolCall, ToolMessage, ToolResult

_GREP_LINE = re.compile(r"^(?P<path>(?:[A-Za-z]:[\\/])?[^:\n]+?):(?P<line>\d+):(?P<text>.*)$")
_READ_LINE = re.compile(r"^\s*(\d+)(?:\t|→|: |\| )(.*)$")


@dataclass(slots=True)
class Evidence:
    """Lines and files by path as the tools spelled them.

    Attributes:
        hits: lines that searches found.
        lines: all lines known of a file, also those only read.
        files: paths that name searches found.
        troubles: errors, in the tools' words.
        searches: how many searches and reads were made.
    """

    hits: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    lines: dict[str, dict[int, str]] = field(default_factory=dict[str, dict[int, str]])
    files: dict[str, None] = field(default_factory=dict[str, None])
    troubles: list[str] = field(default_factory=list[str])
    searches: int = 0

    def add(self, call: ToolCall, result: ToolResult) -> None:
        """Take in one result."""
        self.searches += 1
        if result.is_error:
            self.troubles.append(f"{call.name}: {first_line(result.text)}")
        elif call.name == "Grep":
            self._grep(result.text)
        elif call.name == "Glob":
            self.files.update((line.strip(), None) for line in result.text.splitlines() if _is_path(line))
        elif call.name == "Read" and call.arguments is not None:
            self._read(str(call.arguments.get("file_path", "")), result.text)

    def _grep(self, text: str) -> None:
        for line in text.splitlines():
            if found := _GREP_LINE.match(line):
                place = (found["path"], int(found["line"]))
                self.hits[place] = found["text"]
                self.lines.setdefault(place[0], {})[place[1]] = found["text"]

    def _read(self, path: str, text: str) -> None:
        known = self.lines.setdefault(path, {})
        for line in text.splitlines():
            if found := _READ_LINE.match(line):
                known[int(found[1])] = found[2]


def _is_path(line: str) -> bool:
    # Notes of the tool ("no files found", "… and 20 more") have blanks before any slash or dot.
    return bool(re.fullmatch(r"\s*(?:[A-Za-z]:)?[^\s(…][^\n]*", line)) and bool(re.search(r"[/\\.]\S+$", line))


def pairs(messages: Sequence[Message]) -> list[tuple[ToolCall, ToolResult]]:
    """Return each call with its result, in order."""
    calls: dict[str, ToolCall] = {}
    found: list[tuple[ToolCall, ToolResult]] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls = {call.call_id: call for call in message.calls}
        elif isinstance(message, ToolMessage):
            found += [(calls[result.call_id], result) for result in message.results if result.call_id in calls]
    return found


def gather(messages: Sequence[Message]) -> Evidence:
    """Read back what the searches of this piece of work have shown."""
    evidence = Evidence()
    for call, result in pairs(messages):
        if call.name in ("Grep", "Glob", "Read"):
            evidence.add(call, result)
    return evidence


def first_line(text: str) -> str:
    """Return the first line that is not blank."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
