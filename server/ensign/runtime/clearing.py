"""Clearing old tool results: the cheapest way to shorten a conversation, since what they said can be read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ensign.protocol.messages import AssistantMessage, Message, ToolMessage, ToolResult
from ensign.protocol.value import frozen

KEEP_RESULTS = 3
"""Newest results that stay whole (Anthropic's context editing keeps as many by default)."""
WORTH_CLEARING = 400
"""Characters below which a placeholder would save nothing worth losing the text for."""

_MARK = "[Cleared by the Ensign runtime"


@frozen(kw_only=False)
class _Place:
    """Where a result stands, and whose it is."""

    message: int
    result: int
    tool: str


def clear(
    messages: Sequence[Message],
    *,
    size: Callable[[Message], int],
    needed: int,
    keep: int,
    kept_tools: Callable[[str], bool],
) -> tuple[list[Message], int]:
    """Clear results, oldest first, until `needed` tokens are free or only the newest `keep` are left.

    Results of `kept_tools` are never cleared. Calls, their order and their number of results stay as they are.

    Returns:
        The messages, and the tokens that were freed.
    """
    places = _places(messages)
    cleared, freed = list(messages), 0
    for place in places[: max(0, len(places) - keep)]:
        if freed >= needed:
            break
        message = cleared[place.message]
        assert isinstance(message, ToolMessage)
        if kept_tools(place.tool) or not _is_worth(message.results[place.result]):
            continue
        shorter = _without(message, place)
        freed += size(message) - size(shorter)
        cleared[place.message] = shorter
    return cleared, freed


def _places(messages: Sequence[Message]) -> list[_Place]:
    """Every result, oldest first."""
    names = {call.call_id: call.name for m in messages if isinstance(m, AssistantMessage) for call in m.calls}
    return [
        _Place(at, number, names.get(result.call_id, ""))
        for at, message in enumerate(messages)
        if isinstance(message, ToolMessage)
        for number, result in enumerate(message.results)
    ]


def _is_worth(result: ToolResult) -> bool:
    long = len(result.text) >= WORTH_CLEARING or bool(result.images)
    return long and not result.text.startswith(_MARK)


def _without(message: ToolMessage, place: _Place) -> ToolMessage:
    results = list(message.results)
    results[place.result] = _placeholder(results[place.result], place.tool)
    return replace(message, results=tuple(results))


def _placeholder(result: ToolResult, tool: str) -> ToolResult:
    """Say what stood here. The line that names the file of a spilled output stays: it is how to get it back."""
    pictures = f" and {len(result.images)} picture(s)" if result.images else ""
    text = (
        f"{_MARK} to make room: the output of {tool}, {len(result.text):,} characters{pictures}. "
        "Where it is needed again, read it again (a part of it, if it was long); do not repeat a call that changes "
        "something only to see its output.]"
    )
    spilled = [line for line in result.text.splitlines() if line.startswith("[... ") and line.endswith(" ...]")]
    return replace(result, text="\n".join([text, *(line[:1000] for line in spilled[:2])]), images=())
