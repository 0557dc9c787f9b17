"""What can be written at the cursor of an agent file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from ensign.definitions.editing.around import Around
from ensign.definitions.editing.cursor import Spot, spot_at
from ensign.definitions.editing.words import field_help, field_of, first_sentence
from ensign.definitions.fields import FIELDS, Field, Kind
from ensign.definitions.values import is_name
from ensign.protocol.editing import Suggestion

RULE_LISTS = (
    ("allow", "Calls that need no approval."),
    ("ask", "Calls that need approval even where a rule allows them."),
    ("deny", "Calls that are refused."),
)
_Word = tuple[str, str, str]  # what is written, a short detail, help


def complete(text: str, offset: int, path: Path, around: Around) -> tuple[Suggestion, ...]:
    """Return suggestions, best first; none outside of front matter."""
    spot = spot_at(text, offset)
    if spot is None:
        return ()
    if spot.at_key:
        return tuple(_keys(spot))
    field = field_of(spot.keys)
    if field is None:
        return ()
    if spot.call in ("Agent", "Task") and field.kind in (Kind.TOOLS, Kind.RULES):
        return _suggest(spot, "agent", _agents(around))
    kind: Literal["value", "tool", "model", "agent", "color"] = "value"
    match field.kind:
        case Kind.TOOLS:
            return _suggest(spot, "tool", _tools(text, spot, field, around))
        case Kind.RULES if len(spot.keys) > 1:
            return _suggest(spot, "tool", _rules(around))
        case Kind.MODEL:
            return _suggest(spot, "model", _models(around))
        case Kind.SERVERS:
            return _suggest(spot, kind, ((name, "MCP server", "") for name in around.servers))
        case Kind.NAME:
            taken = around.definitions.get(path.stem)
            free = is_name(path.stem) and (taken is None or taken.path == path)
            return _suggest(spot, kind, [(path.stem, "like the file", field_help(field))] if free else [])
        case _:
            return _suggest(spot, "color" if field.name == "color" else kind, _values(field))


def _suggest(
    spot: Spot, kind: Literal["value", "tool", "model", "agent", "color"], words: Iterator[_Word] | list[_Word]
) -> tuple[Suggestion, ...]:
    return tuple(
        Suggestion(label=word, insert=word, kind=kind, detail=detail, help=text, span=spot.span)
        for word, detail, text in words
    )


def _keys(spot: Spot) -> Iterator[Suggestion]:
    if spot.keys:
        if spot.keys[-1] == "permissions":
            for name, meaning in RULE_LISTS:
                yield _key(spot, name, meaning, meaning)
        return
    for field in sorted(FIELDS, key=lambda field: not field.required):
        if spot.word == field.name or spot.front.key_line(field.name) is None:
            yield _key(spot, field.name, field.kind.value, field_help(field))


def _key(spot: Spot, name: str, detail: str, text: str) -> Suggestion:
    line = next((line for line in spot.front.lines if line.start <= spot.span.start <= line.end), None)
    has_colon = line is not None and line.text[spot.span.end - line.start :].lstrip().startswith(":")
    insert = name if has_colon else f"{name}: "
    return Suggestion(label=name, insert=insert, kind="field", detail=detail, help=text, span=spot.span)


def _values(field: Field) -> Iterator[_Word]:
    meanings = dict(field.meanings)
    match field.kind:
        case Kind.CHOICE | Kind.MODE:
            yield from ((value, meanings.get(value, ""), field_help(field)) for value in field.values)
        case Kind.FLAG:
            yield from ((value, "", field_help(field)) for value in ("true", "false"))
        case Kind.COUNT | Kind.SECONDS:
            yield field.example, "an example", field_help(field)
        case _:
            return


def _agents(around: Around) -> Iterator[_Word]:
    for agent in around.definitions:
        yield agent.name, agent.source.value, agent.description


def _tools(text: str, spot: Spot, field: Field, around: Around) -> Iterator[_Word]:
    """Each tool once: those that the field names already are left out."""
    found = spot.front.key_line(field.name)
    line = found[0] if found else None
    rest = "" if line is None else text[line.start : spot.span.start] + " " + text[spot.span.end : line.end]
    written = set(rest.replace(",", " ").replace("[", " ").replace("]", " ").split())
    yield from ((name, first_sentence(about), about) for name, about in _named(around) if name not in written)
    if "*" not in written:
        yield "*", "every tool that a subagent may have", ""
    for server in around.servers:
        yield f"mcp__{server}", "every tool of the MCP server", ""
        yield f"mcp__{server}__*", "every tool of the MCP server", ""


def _rules(around: Around) -> Iterator[_Word]:
    yield from ((name, first_sentence(about), about) for name, about in _named(around))
    yield from ((f"Agent({agent.name})", "start this agent", agent.description) for agent in around.definitions)
    yield from ((f"mcp__{server}__*", "every tool of the MCP server", "") for server in around.servers)


def _named(around: Around) -> Iterator[tuple[str, str]]:
    return iter(sorted(around.tools.items()))


def _models(around: Around) -> Iterator[_Word]:
    yield "inherit", "the parent's model", ""
    for name, target in around.references.items():
        yield name, target or "not set: the parent's model", ""
    for model in around.models:
        yield model.id, model.problem or "ready", ""
