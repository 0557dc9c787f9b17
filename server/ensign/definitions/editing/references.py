"""Where an agent is named: its definition, other definitions' tools and rules, and the rules of settings files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ensign.definitions.editing.around import Around
from ensign.definitions.editing.cursor import front_of, spot_at
from ensign.definitions.editing.words import field_of
from ensign.definitions.fields import Kind
from ensign.definitions.values import is_name
from ensign.protocol.definition import AgentDefinition
from ensign.protocol.editing import FileSpan, Replacement, Span
from ensign.protocol.errors import UserError

_CALL = re.compile(r"\b(?:Agent|Task)\(([^()\n]*)\)")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def named_at(text: str, offset: int) -> tuple[str, Span] | None:
    """The agent's name at an offset of an agent file: in its `name`, or in `Agent(name)`."""
    spot = spot_at(text, offset)
    if spot is None or spot.at_key or not spot.word:
        return None
    field = field_of(spot.keys)
    if field is None or not (field.kind is Kind.NAME or spot.call in ("Agent", "Task")):
        return None
    return spot.word, spot.span


def definitions_of(text: str, offset: int, path: Path, around: Around) -> Iterator[FileSpan]:
    """Yield where the agent at an offset is defined; at a definition, those that it hides or that hide it."""
    found = named_at(text, offset)
    if found is None:
        return
    key = found[0].casefold()
    for item in around.definitions.listed:
        place = item.definition.path
        if item.definition.name.casefold() != key or place is None:
            continue
        at_name = (spot := spot_at(text, offset)) is not None and not spot.call
        if (at_name and place == path) or (not at_name and item.shadowed_by is not None):
            continue
        if (defined := _defined(place, around)) is not None:
            yield defined


def rename(text: str, offset: int, new: str, path: Path, around: Around) -> tuple[Replacement, ...]:
    """Return the changes that give the agent at an offset a new name, everywhere it is named.

    Raises:
        UserError: there is no agent here, it is not the person's own, or the new name cannot be taken.
    """
    found = named_at(text, offset)
    if found is None:
        raise UserError("there is no agent's name here; put the cursor on the value of 'name' or in Agent(...)")
    old, span = found
    spot = spot_at(text, offset)
    owner = _owner(old, path if spot is not None and not spot.call else None, around)
    if owner is not None and owner.built_in:
        raise UserError(f"{old!r} is built in and cannot be renamed; copy it under another name")
    if not is_name(new):
        raise UserError(f"the name must be a letter, then up to 31 letters, digits, '-' or '_', not {new!r}")
    other = around.definitions.get(new)
    if other is not None and new.casefold() != old.casefold():
        raise UserError(f"the name {new!r} is already taken by {str(other.path or other.source.value)!r}")
    places: list[FileSpan] = []
    if owner is not None and owner.path is not None and owner.path != path and (home := _defined(owner.path, around)):
        places.append(home)
    if spot is not None and not spot.call:
        places.append(FileSpan(path=path, text=text, span=span))
    # One that is hidden is nobody's `Agent(name)`: those mean the one in force.
    in_force = around.definitions.get(old)
    if owner is None or in_force is None or in_force.path == owner.path:
        places.extend(_references(old, text, path, around))
    return tuple(Replacement(place=place, new=new) for place in places)


def _owner(name: str, path: Path | None, around: Around) -> AgentDefinition | None:
    """The definition in the file at `path`, or the one in force."""
    if path is None:
        return around.definitions.get(name)
    here = (item.definition for item in around.definitions.listed if item.definition.path == path)
    return next((one for one in here if one.name.casefold() == name.casefold()), None)


def _defined(path: Path, around: Around) -> FileSpan | None:
    text = around.read(path)
    return FileSpan(path=path, text=text, span=name_span(text) or Span(0, 0)) if text is not None else None


def _references(name: str, text: str, path: Path, around: Around) -> Iterator[FileSpan]:
    files = {item.definition.path for item in around.definitions.listed if not item.definition.built_in}
    for file in sorted({path, *(one for one in files if one is not None)}):
        content = text if file == path else around.read(file)
        if content is not None and (front := front_of(content)) is not None:
            yield from _calls(name, content, file, Span(front.opening.end, front.end))
    for file in around.settings_files:
        if (content := around.read(file)) is not None:
            yield from _calls(name, content, file, Span(0, len(content)))


def _calls(name: str, text: str, path: Path, within: Span) -> Iterator[FileSpan]:
    for call in _CALL.finditer(text, within.start, within.end):
        for word in _NAME.finditer(text, call.start(1), call.end(1)):
            if word[0].casefold() == name.casefold():
                yield FileSpan(path=path, text=text, span=Span(*word.span()))


def name_span(text: str) -> Span | None:
    """Where the value of `name` stands."""
    front = front_of(text)
    found = front.key_line("name") if front is not None else None
    if found is None:
        return None
    match = _NAME.search(text, found[1].end, found[0].end)
    return Span(*match.span()) if match else found[1]
