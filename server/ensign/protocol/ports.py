"""What the runtime asks of a face: interfaces only, implemented above."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ensign.protocol.value import frozen


@frozen
class EditOutcome:
    """What became of an edit of an open document. `reason` says why it was not applied, for the model."""

    applied: bool
    reason: str = ""


class Editor(Protocol):
    """The editor a session is shown in. Paths are absolute; a face turns them into URIs."""

    async def apply(self, *, path: Path, version: int, before: str, after: str, label: str) -> EditOutcome:
        """Replace an open document's text as one undo step named `label`.

        Not applied when the document is no longer at `version`. `before` is the text at `version`, so that the face
        can send a minimal edit.
        """
        ...

    async def save(self, *, path: Path, version: int) -> bool:
        """Save an open document that was clean before our edit; False where the client cannot or did not."""
        ...

    async def show(self, *, path: Path, line: int | None = None) -> bool:
        """Show a file to the person; False where the client cannot."""
        ...

    async def unsaved_notebook(self, *, path: Path) -> bool:
        """Whether a notebook is open with changes that are not saved; False where the client cannot tell."""
        ...
