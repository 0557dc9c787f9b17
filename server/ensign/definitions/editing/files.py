"""The language server of agent files without its wire: a text and an offset in, places and words out.

It blocks (rename and definition read files): an event loop calls it through `asyncio.to_thread`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ensign.definitions.editing import complete, fixes, hover, references
from ensign.definitions.editing.around import Around
from ensign.definitions.editing.cursor import front_of, offset_of, word_from
from ensign.definitions.load import read_agent
from ensign.definitions.nodes import START, Note
from ensign.definitions.sources import Folder
from ensign.protocol.definition import AgentDefinition, Source
from ensign.protocol.editing import Fault, FileSpan, Fix, Help, Replacement, Span, Suggestion

PLACES = (".ensign", ".claude")


class AgentFiles:
    """Answers about agent files. `around` is called at each request: nothing here goes stale."""

    def __init__(self, around: Callable[[], Around], own: tuple[Path, ...]) -> None:
        """`own`: the person's folders of agents."""
        self._around = around
        self.own = own

    def covers(self, path: Path) -> bool:
        """Whether a file is one of ours: also in a project below the workspace, which nothing else reads."""
        if path.suffix.lower() != ".md":
            return False
        pairs = zip(path.parts, path.parts[1:-1], strict=False)
        return any(one in PLACES and two == "agents" for one, two in pairs) or any(map(path.is_relative_to, self.own))

    def diagnose(self, path: Path, text: str) -> tuple[Fault, ...]:
        """Return what is wrong with a text, by the reader that loads the file."""
        around = self._around()
        built = read_agent(text.encode(errors="replace"), around.words, path=path, folder=_folder_of(path, around))
        if built is None:
            return ()
        faults = [_fault(text, note) for note in built.notes]
        if built.definition is not None and (taken := _duplicate(built.definition, around)) is not None:
            found = references.name_span(text)
            message = f"the name {built.definition.name!r} is already taken by {str(taken)!r}; one of them is left out"
            faults.append(Fault(span=found or Span(0, 0), severity="error", code="duplicate-name", message=message))
        return tuple(faults)

    def complete(self, path: Path, text: str, offset: int) -> tuple[Suggestion, ...]:
        """Return what can be written at an offset."""
        return complete.complete(text, offset, path, self._around())

    def hover(self, path: Path, text: str, offset: int) -> Help | None:
        """Return what stands at an offset, in words."""
        return hover.hover(text, offset, path, self._around())

    def fixes(self, path: Path, text: str, span: Span) -> tuple[Fix, ...]:
        """Return the fixes of faults that touch a span."""
        faults = tuple(f for f in self.diagnose(path, text) if f.span.start <= span.end and span.start <= f.span.end)
        return tuple(fixes.fixes(text, faults, path, self._around()))

    def definitions(self, path: Path, text: str, offset: int) -> tuple[FileSpan, ...]:
        """Return where the agent at an offset is defined, or what it hides."""
        return tuple(references.definitions_of(text, offset, path, self._around()))

    def renamable(self, text: str, offset: int) -> Span | None:
        """Return the name at an offset that could be changed."""
        found = references.named_at(text, offset)
        return found[1] if found else None

    def rename(self, path: Path, text: str, offset: int, new: str) -> tuple[Replacement, ...]:
        """Return the changes of a rename; raises `UserError` with the reason when it cannot be."""
        return references.rename(text, offset, new, path, self._around())

    def folds(self, text: str) -> Span | None:
        """Return the front matter from its first to its last line."""
        front = front_of(text)
        return Span(0, front.closing.end) if front is not None and front.closing is not None else None


def _fault(text: str, note: Note) -> Fault:
    front = front_of(text)
    if note.mark == START and front is not None:
        span = Span(front.opening.start, front.opening.end)
        if note.code == "no-role" and front.closing is not None:
            span = Span(front.closing.start, front.closing.end)
        return Fault(span=span, severity=note.severity, code=note.code, message=note.message)
    start = offset_of(text, note.mark)
    span = word_from(text, start)
    # A list in one line is one value to the reader; the message has the word that is meant.
    if note.code in ("unknown-tool", "unserved") and (word := note.message.rpartition("tool '")[2].partition("'")[0]):
        line_end = text.find("\n", start)
        at = text.find(word, start, line_end if line_end >= 0 else len(text))
        span = Span(at, at + len(word)) if at >= 0 else span
    return Fault(span=span, severity=note.severity, code=note.code, message=note.message)


def _folder_of(path: Path, around: Around) -> Folder:
    near = next((folder for folder in around.folders if path.is_relative_to(folder.path)), None)
    return near or Folder(source=Source.PROJECT, path=path.parent)


def _duplicate(definition: AgentDefinition, around: Around) -> Path | None:
    """Another file of the same folder with this name."""
    folder = _folder_of(definition.path or Path(), around)
    for item in around.definitions.listed:
        place = item.definition.path
        same = item.definition.name.casefold() == definition.name.casefold()
        if same and place is not None and place != definition.path and place.is_relative_to(folder.path):
            return place
    return None
