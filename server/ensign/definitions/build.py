"""From front matter to an `AgentDefinition`: every field read, everything odd noted, nothing guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ensign.definitions.fields import FIELDS, Field
from ensign.definitions.front_matter import FrontMatter
from ensign.definitions.nodes import START, Entry, FaultError, Note, to_data
from ensign.definitions.values import UNSET, ValueReader
from ensign.definitions.vocabulary import Vocabulary, did_you_mean
from ensign.protocol.access import Mode
from ensign.protocol.definition import AgentDefinition, Rules, Source
from ensign.protocol.value import frozen

_BY_NAME = {field.name: field for field in FIELDS}


@frozen
class Built:
    """What a file gave: a definition unless a note is an error of the whole file, and the notes."""

    definition: AgentDefinition | None
    notes: tuple[Note, ...]


def build(matter: FrontMatter, words: Vocabulary, *, path: Path, source: Source, trusted: bool) -> Built:
    """Read all fields, also after one that spoils the file, so that its author sees every fault at once."""
    reader = ValueReader(words)
    reader.notes.extend(matter.notes)
    values: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    unserved: list[str] = []
    broken = False
    for entry in matter.fields.entries:
        field = _BY_NAME.get(entry.key)
        if field is None:
            hint = did_you_mean(entry.key, tuple(_BY_NAME))
            reader.warn("unknown-field", f"there is no field {entry.key!r}{hint}", entry.mark)
            extra[entry.key] = to_data(entry.node)
            continue
        try:
            value = reader.read(field, entry)
        except FaultError as fault:
            reader.notes.append(fault.note)
            broken = True
            continue
        if not trusted:
            value = _before_trust(reader, field, entry, value)
        if value is UNSET:
            continue
        values[field.attribute] = value
        if field.name in words.unserved:
            unserved.append(field.name)
            reader.notes.append(Note(entry.mark, "information", "unserved", f"{field.name!r} is not yet served"))
    for field in FIELDS:
        if field.required and matter.fields.get(field.name) is None:
            reader.notes.append(Note(START, "error", f"no-{field.name}", f"there is no {field.name!r}"))
            broken = True
    if not matter.body:
        reader.notes.append(Note(START, "information", "no-role", "there is no text below the front matter: no role"))
    if broken:
        return Built(definition=None, notes=tuple(reader.notes))
    values |= {"unserved": tuple(unserved), "extra": extra, "trusted": trusted}
    definition = AgentDefinition(role=matter.body, source=source, path=path, **values)
    return Built(definition=definition, notes=tuple(reader.notes))


def _before_trust(reader: ValueReader, field: Field, entry: Entry, value: Any) -> Any:
    """Take away what a folder may not do before it is trusted, and say so (D8)."""
    if value is UNSET:
        return value
    match field.attribute:
        case "hooks" | "mcp_servers" if value:
            kept = UNSET
        case "permissions" if value.allow:
            kept = Rules(ask=value.ask, deny=value.deny)
        case "permission_mode" if value not in (Mode.DEFAULT, Mode.PLAN):  # `plan` only narrows
            kept = Mode.DEFAULT
        case _:
            return value
    what = "the allow rules are" if field.attribute == "permissions" else f"{field.name!r} is"
    reader.warn("untrusted", f"{what} ignored: the file is not trusted", entry.mark)
    return kept
