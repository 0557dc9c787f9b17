"""A task's changes as clients see them: what a file held before, and what became of undoing them."""

from __future__ import annotations

from ensign.protocol.value import Value, frozen


@frozen
class TaskBefore(Value):
    """`ensign/task/before`: a file that a task changed; `path` as in the record's `files_changed`."""

    id: str
    path: str


@frozen
class FileBefore(Value):
    """Answer to `ensign/task/before`; `text` is None where there was no such file."""

    text: str | None


@frozen
class NotUndone(Value):
    """A file that was left as it is, and why, naming who changed it since."""

    path: str
    reason: str


@frozen
class TaskUndone(Value):
    """Answer to `ensign/task/undo`; `commands` counts what the task ran, which nothing can undo."""

    undone: tuple[str, ...]
    refused: tuple[NotUndone, ...]
    commands: int
