"""What the runtime saw a subagent do: a reader of its events, whatever its report says (A6)."""

from __future__ import annotations

from ensign.protocol import events
from ensign.protocol.tasks import CommandRun, DeniedCall, Facts, FileChange

SHOWN = 20
"""How many of each kind an envelope lists; totals count all."""
ERROR_CHARS = 300


class FactsCollector:
    """Collects facts of one task over all its runs."""

    __slots__ = ("_commands", "_denied", "_errors", "_files", "_kept", "_notes", "calls", "failures")

    def __init__(self) -> None:
        self._files: dict[str, FileChange] = {}
        self._commands: list[CommandRun] = []
        self._denied: list[DeniedCall] = []
        self._errors: list[str] = []
        self._notes: list[str] = []
        self._kept: list[str] = []
        self.calls = 0
        self.failures = 0

    def note(self, text: str) -> None:
        """Record something the runtime did differently from what was asked."""
        if text not in self._notes:
            self._notes.append(text)

    def error(self, text: str) -> None:
        """Record a fault that is no tool's."""
        self._errors.append(text[:ERROR_CHARS])

    def read(self, event: events.ToolFinished) -> None:
        """Take in the end of a call."""
        self.calls += 1
        for change in event.files:
            self._files[change.path] = merged(self._files.get(change.path), change)
        if event.command is not None:
            self._commands.append(event.command)
        if event.denied_by is not None:
            self._denied.append(DeniedCall(tool=event.tool, target=event.target, by=event.denied_by))
        elif event.is_error:
            self._errors.append(f"{event.tool}: {event.text[:ERROR_CHARS]}")
        if event.is_error:
            self.failures += 1

    @property
    def files_changed(self) -> tuple[FileChange, ...]:
        """Every file changed so far."""
        return tuple(self._files.values())

    def facts(self) -> Facts:
        """Return what is known now."""
        return Facts(
            files_changed=self.files_changed[:SHOWN],
            commands=tuple(self._commands[:SHOWN]),
            denied=tuple(self._denied[:SHOWN]),
            errors=tuple(self._errors[:SHOWN]),
            notes=tuple(self._notes),
            kept=tuple(self._kept),
            files_changed_total=len(self._files),
            commands_total=len(self._commands),
            denied_total=len(self._denied),
            errors_total=len(self._errors),
            tool_calls=self.calls,
            tool_failures=self.failures,
        )


def merged(old: FileChange | None, new: FileChange) -> FileChange:
    """Two changes of one file as one."""
    if old is None:
        return new
    change = "created" if old.change == "created" and new.change == "modified" else new.change
    return FileChange(path=new.path, change=change, added=old.added + new.added, removed=old.removed + new.removed)
