"""What the runtime saw a subagent do: a reader of its events, whatever its report says (A6)."""

from __future__ import annotations

from dataclasses import replace

from ensign.protocol import events
from ensign.protocol.tasks import CommandRun, DeniedCall, Facts, FileChange
from ensign.protocol.worktree import Worktree

SHOWN = 20
"""How many of each kind an envelope lists; totals count all."""
SHOWN_CHARS = 300
"""How much of each; a command can be as long as a file (A6: the whole envelope is capped)."""


class FactsCollector:
    """Collects facts of one task over all its runs."""

    __slots__ = ("_commands", "_denied", "_errors", "_files", "_notes", "calls", "failures", "worktree")

    def __init__(self) -> None:
        self._files: dict[str, FileChange] = {}
        self._commands: list[CommandRun] = []
        self._denied: list[DeniedCall] = []
        self._errors: list[str] = []
        self._notes: list[str] = []
        self.worktree: Worktree | None = None
        self.calls = 0
        self.failures = 0

    def note(self, text: str) -> None:
        """Record something the runtime did differently from what was asked."""
        if text not in self._notes:
            self._notes.append(text)

    def error(self, text: str) -> None:
        """Record a fault that is no tool's."""
        self._errors.append(text)

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
            self._errors.append(f"{event.tool}: {shortened(event.text)}")
        if event.is_error:
            self.failures += 1

    @property
    def files_changed(self) -> tuple[FileChange, ...]:
        """Every file changed so far."""
        return tuple(self._files.values())

    def facts(self) -> Facts:
        """Return what is known now."""
        return Facts(
            files_changed=tuple(replace(one, path=shortened(one.path)) for one in self.files_changed[:SHOWN]),
            commands=tuple(replace(one, command=shortened(one.command)) for one in self._commands[:SHOWN]),
            denied=tuple(replace(one, target=shortened(one.target)) for one in self._denied[:SHOWN]),
            errors=tuple(map(shortened, self._errors[:SHOWN])),
            notes=tuple(map(shortened, self._shown_notes())),
            kept=(self.worktree.in_words,) if self.worktree is not None and self.worktree.there else (),
            worktree=self.worktree,
            files_changed_total=len(self._files),
            commands_total=len(self._commands),
            denied_total=len(self._denied),
            errors_total=len(self._errors),
            tool_calls=self.calls,
            tool_failures=self.failures,
        )

    def in_full(self) -> str:
        """Everything that `facts` leaves out or cuts, for the report file; empty when nothing is."""
        lists: dict[str, list[str]] = {
            "Files changed": [f"{one.change} {one.path} (+{one.added} -{one.removed})" for one in self.files_changed],
            "Commands": [f"exit {one.exit_code}: {one.command}" for one in self._commands],
            "Denied calls": [f"{one.tool} {one.target} (by {one.by})" for one in self._denied],
            "Errors": self._errors,
            "Notes": self._notes,
        }
        if not any(len(items) > SHOWN or any(len(item) > SHOWN_CHARS for item in items) for items in lists.values()):
            return ""
        return "\n\n".join("\n".join([f"{name}:", *items]) for name, items in lists.items() if items)

    def _shown_notes(self) -> list[str]:
        more = len(self._notes) - SHOWN
        return self._notes if more <= 0 else [*self._notes[: SHOWN - 1], f"and {more + 1} more notes"]


def shortened(text: str) -> str:
    """The beginning of a text, saying how long it is where it was cut."""
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… ({len(text):,} characters)"


def merged(old: FileChange | None, new: FileChange) -> FileChange:
    """Two changes of one file as one."""
    if old is None:
        return new
    change = "created" if old.change == "created" and new.change == "modified" else new.change
    return FileChange(path=new.path, change=change, added=old.added + new.added, removed=old.removed + new.removed)
