"""What a person points at with a command: a selection, a symbol, a file or a folder, and how a task names it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ensign.lsp.uris import absolute
from ensign.protocol import wire
from ensign.protocol.value import frozen

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer


@frozen
class Target:
    """A place. `selection` is the selected text, `symbol` the word under the cursor; at most one is not empty."""

    path: Path
    shown: str
    range: wire.Range | None
    selection: str
    symbol: str

    @property
    def name(self) -> str:
        """The place in words, for a task: what and where."""
        if self.range is None:
            return f"`{self.shown}`"
        first, last = self.range.start.line + 1, self.range.end.line + 1
        at = f"{self.shown}:{first}"
        word = self.symbol or (self.selection if self.selection.isidentifier() else "")
        if word:
            return f"`{word}` ({at})"
        return f"lines {first}-{last} of {self.shown}" if last > first else f"line {first} of {self.shown}"


def target_at(server: LanguageServer, uri: str, where: wire.Range | None, *, what: str) -> Target:
    """Return what a URI and a range point at.

    Raises:
        RpcError: `uri` is no file; `what` names the field.
    """
    path = Path(absolute(uri, what=what))
    text = server.documents.text(path)
    selection = symbol = ""
    if where is not None and text is not None:
        selection = text.slice(where.start, where.end)
        symbol = "" if selection else text.word(where.start)
    root = next((root for root in server.client.roots if path.is_relative_to(root)), None)
    return Target(
        path=path,
        shown=str(path.relative_to(root) if root is not None and path != root else path),
        range=where,
        selection=selection.strip(),
        symbol=symbol,
    )
