"""What the language server of agent files answers, in places of a text; a face turns them into its own positions."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ensign.protocol.value import frozen


@frozen(kw_only=False)
class Span:
    """Offsets in a text: of the first character, and of what follows the last one."""

    start: int
    end: int


@frozen
class Suggestion:
    """Something that can be written at the cursor, in place of `span`."""

    label: str
    insert: str
    kind: Literal["field", "value", "tool", "model", "agent", "color"]
    detail: str
    help: str
    span: Span


@frozen
class Help:
    """Markdown about what stands at `span`."""

    text: str
    span: Span


@frozen
class FileSpan:
    """A place in a file whose text is `text`: places in an open document are counted in what its editor shows."""

    path: Path
    text: str
    span: Span


@frozen
class Replacement:
    """A change of one file."""

    place: FileSpan
    new: str


@frozen
class Fix:
    """A change that mends the fault with this code at this place."""

    title: str
    code: str
    span: Span
    changes: tuple[Replacement, ...]


@frozen
class Fault:
    """A fault in a text that is being edited."""

    span: Span
    severity: Literal["error", "warning", "information"]
    code: str
    message: str
