"""Read all agent files of all sources into one catalogue; start reading here.

It blocks (files are read): an event loop calls it through `asyncio.to_thread`. 200 files take under 0.1 s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ensign.definitions.build import Built, build
from ensign.definitions.catalogue import Definitions, Listed
from ensign.definitions.front_matter import read_front_matter
from ensign.definitions.nodes import FaultError
from ensign.definitions.sources import Folder, agent_files, fault, outside, outside_fault, read_bytes
from ensign.definitions.vocabulary import Vocabulary
from ensign.protocol.definition import AgentDefinition, Diagnostic, Source
from ensign.protocol.errors import UserError
from ensign.protocol.trusted import content_hash


def load(folders: Sequence[Folder], words: Vocabulary, *, hidden: Iterable[str] = ()) -> Definitions:
    """Return the definitions in force, those they hide, and what is wrong with any file.

    Args:
        folders: nearest first (`sources.folders`).
        words: the names that definitions may use.
        hidden: built-in agents that are switched off, by name.

    Raises:
        UserError: a built-in agent is missing or broken: the installation is damaged (D6).
    """
    found: list[AgentDefinition] = []
    diagnostics: list[Diagnostic] = []
    switched_off = {name.casefold() for name in hidden}
    for folder in folders:
        definitions, faults = _read_folder(folder, words)
        if folder.source is Source.BUILT_IN:
            _check_built_ins(folder, definitions, faults)
            definitions = [item for item in definitions if item.name.casefold() not in switched_off]
        found.extend(definitions)
        diagnostics.extend(faults)
    return _resolve(found, diagnostics)


def read_agent(data: bytes, words: Vocabulary, *, path: Path, folder: Folder) -> Built | None:
    """Return what one file's content says, or None for a document; also for text that is still being typed."""
    try:
        matter = read_front_matter(data)
    except FaultError as error:
        return Built(definition=None, notes=(error.note,))
    if matter is None:
        return None
    return build(matter, words, path=path, source=folder.source, trusted=folder.trusts(path, data))


def _read_folder(folder: Folder, words: Vocabulary) -> tuple[list[AgentDefinition], list[Diagnostic]]:
    paths, diagnostics = agent_files(folder)
    definitions: dict[str, AgentDefinition] = {}
    for path in paths:
        try:
            data = read_bytes(path)
            if not folder.trusts(path, data) and outside(folder, path):
                diagnostics.append(outside_fault(path))
                continue
            built = read_agent(data, words, path=path, folder=folder)
        except FaultError as error:
            diagnostics.append(error.note.diagnostic(path))
            continue
        if built is None:
            continue
        diagnostics.extend(note.diagnostic(path) for note in built.notes)
        if built.definition is None:
            continue
        digest = content_hash(data) if folder.root is not None else ""
        definition = replace(built.definition, digest=digest)
        first = definitions.setdefault(definition.name.casefold(), definition)
        if first is not definition:
            diagnostics.append(_duplicate(definition, first))
    return list(definitions.values()), diagnostics


def _duplicate(second: AgentDefinition, first: AgentDefinition) -> Diagnostic:
    assert second.path is not None
    message = f"the name {second.name!r} is already taken by {str(first.path)!r}; this file is left out"
    return fault(second.path, "error", "duplicate-name", message)


def _check_built_ins(folder: Folder, definitions: list[AgentDefinition], faults: list[Diagnostic]) -> None:
    broken = [item for item in faults if item.severity != "information"]
    if broken:
        where = f"{str(broken[0].path)!r}, line {broken[0].line}"
        raise UserError(f"the installation is damaged: built-in agent {where}: {broken[0].message}")
    if not definitions:
        raise UserError(f"the installation is damaged: no built-in agents in {str(folder.path)!r}")


def _resolve(found: list[AgentDefinition], diagnostics: list[Diagnostic]) -> Definitions:
    """Let the nearest definition of each name hide the others (D5), but none that is not trusted hide one that is."""
    by_name: dict[str, list[AgentDefinition]] = {}
    for definition in found:
        by_name.setdefault(definition.name.casefold(), []).append(definition)
    listed: list[Listed] = []
    for _, same in sorted(by_name.items()):
        winner = next((item for item in same if item.trusted), same[0])
        others = tuple(item for item in same if item is not winner)
        listed.append(Listed(replace(winner, shadows=others), shadowed_by=None))
        listed.extend(Listed(item, shadowed_by=winner) for item in others)
        for item in same[: same.index(winner)]:
            assert item.path is not None
            message = f"{item.name!r} is left out: before its file is trusted it cannot replace the one of source "
            diagnostics.append(fault(item.path, "warning", "untrusted", message + repr(winner.source.value)))
    return Definitions(listed=tuple(listed), diagnostics=tuple(_sorted(diagnostics)))


def _sorted(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    return sorted(diagnostics, key=lambda item: (str(item.path), item.line, item.column, item.code))
