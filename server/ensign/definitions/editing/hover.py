"""What the word at the cursor of an agent file means."""

from __future__ import annotations

from pathlib import Path

from ensign.definitions.catalogue import Definitions
from ensign.definitions.editing.around import Around
from ensign.definitions.editing.complete import RULE_LISTS
from ensign.definitions.editing.cursor import Spot, spot_at
from ensign.definitions.editing.words import BY_NAME, field_help, field_of
from ensign.definitions.fields import TOOL_HINTS, Field, Kind
from ensign.protocol.definition import AgentDefinition
from ensign.protocol.editing import Help


def hover(text: str, offset: int, path: Path, around: Around) -> Help | None:
    """Return Markdown about what stands at an offset, or None."""
    spot = spot_at(text, offset)
    if spot is None or not spot.word:
        return None
    words = _of_key(spot) if spot.at_key else _of_value(spot, path, around)
    return Help(text=words, span=spot.span) if words else None


def _of_key(spot: Spot) -> str:
    if not spot.keys:
        field = BY_NAME.get(spot.word)
        return f"**{field.name}**\n\n{field_help(field)}" if field else ""
    return dict(RULE_LISTS).get(spot.word, "") if spot.keys[-1] == "permissions" else ""


def _of_value(spot: Spot, path: Path, around: Around) -> str:
    field = field_of(spot.keys)
    if field is None:
        return ""
    match field.kind:
        case Kind.TOOLS | Kind.RULES:
            return _of_tool(spot, around)
        case Kind.MODEL:
            return _of_model(spot.word, around)
        case Kind.NAME:
            return _of_name(spot.word, path, around.definitions)
        case Kind.CHOICE | Kind.MODE:
            return _of_choice(spot.word, field)
        case _:
            return ""


def _of_choice(word: str, field: Field) -> str:
    meaning = dict(field.meanings).get(word)
    return f"**{word}**: {meaning}" if meaning else field_help(field) if word in field.values else ""


def _of_tool(spot: Spot, around: Around) -> str:
    word = spot.word
    if spot.call in ("Agent", "Task"):
        agent = around.definitions.get(word)
        return _of_agent(agent) if agent else f"There is no agent `{word}`"
    if spot.call:
        return ""
    if (about := around.tools.get("Agent" if word == "Task" else word)) is not None:
        return f"**{word}**\n\n{about}"
    if ours := TOOL_HINTS.get(word):
        return f"`{ours}` does its work here"
    if word.startswith("mcp__"):
        server = word.split("__")[1]
        known = "" if server in around.servers else ", which the settings do not name"
        return f"Tools of the MCP server `{server}`{known}"
    return "Every tool that a subagent may have" if word == "*" else ""


def _of_model(word: str, around: Around) -> str:
    if word == "inherit":
        return "The parent's model"
    info = next((model for model in around.models if model.id == word), None)
    if info is not None:
        return f"**{info.id}**: {info.problem or 'ready'}"
    if word in around.references:
        target = around.references[word]
        return (
            f"`{word}` stands for **{target}**" if target else f"`{word}`: nothing is set; the parent's model is used"
        )
    return around.words.check_model(word) or f"**{word}**"


def _of_name(word: str, path: Path, definitions: Definitions) -> str:
    """Who hides whom."""
    lines = [f"**{word}**"]
    for item in definitions.listed:
        if item.definition.path != path or item.definition.name.casefold() != word.casefold():
            continue
        if item.shadowed_by is not None:
            lines.append(f"Hidden by {_place(item.shadowed_by)}")
        lines += [f"Hides {_place(hidden)}" for hidden in item.definition.shadows]
    return "\n\n".join(lines)


def _of_agent(agent: AgentDefinition) -> str:
    return f"**{agent.name}** ({agent.source.value})\n\n{agent.description}"


def _place(agent: AgentDefinition) -> str:
    return f"the one of source {agent.source.value}" + (f": `{agent.path}`" if agent.path else "")
