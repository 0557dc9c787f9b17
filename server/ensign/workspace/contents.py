"""What a view of the files hands out: a file's text as it is now, and what an edit did."""

from __future__ import annotations

from pathlib import Path

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen
from ensign.workspace.documents import Document
from ensign.workspace.textfile import Encoding


class MissingFileError(ToolError):
    """There is no such file, neither on disk nor in the editor."""


def unchanged(path: Path) -> ToolError:
    """The refusal of a change that would change nothing."""
    return ToolError(f"{str(path)!r} already has exactly this text; nothing was changed")


@frozen
class FileText:
    """A file's text as it is now, with the editor's unsaved changes.

    Attributes:
        text: line ends as they are; bytes that are no text in the file's encoding as lone surrogates.
        data: the bytes on disk, None where there is no file yet.
        document: the open document that `text` is from, None when it is from the disk.
    """

    path: Path
    text: str
    encoding: Encoding
    version: bytes
    data: bytes | None
    document: Document | None

    @property
    def unsaved(self) -> bool:
        """Whether the editor holds text that is not on disk."""
        return self.document is not None and self.document.dirty


@frozen
class Written:
    """What an edit did. `note` says what the model must know beyond success, for example that nothing was saved."""

    path: Path
    before: str | None
    after: str
    note: str = ""
