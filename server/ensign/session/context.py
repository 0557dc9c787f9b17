"""What a person attached to a prompt, put into words for the model."""

from __future__ import annotations

from collections.abc import Sequence

from ensign.protocol.wire import ContextItem, Range


def with_context(text: str, context: Sequence[ContextItem]) -> str:
    """Return the prompt with its attachments behind it: where they are, and their text where it was sent along."""
    if not context:
        return text
    return _attached(text, "\n".join(_item(item) for item in context))


def with_place(prompt: str, path: str | None, place: Range | None) -> str:
    """Return the prompt with the place in the editor that it was asked at."""
    return prompt if path is None else _attached(prompt, f"- {where(path, place)}")


def where(path: str, place: Range | None) -> str:
    """`path:line` or `path:first-last`, counted from 1."""
    if place is None:
        return path
    first, last = place.start.line + 1, place.end.line + 1
    return f"{path}:{first}" if first == last else f"{path}:{first}-{last}"


def _attached(text: str, items: str) -> str:
    return f"{text}\n\n<context>\n{items}\n</context>"


def _item(item: ContextItem) -> str:
    place = where(item.uri, item.range)
    if item.text is None:
        return f"- {place}"
    fence = "`" * max(3, _longest_run(item.text) + 1)
    return f"- {place}\n{fence}\n{item.text}\n{fence}"


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
