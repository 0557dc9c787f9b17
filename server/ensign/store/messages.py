"""Messages out of JSON, by hand: replaying a long transcript must not wait for a validator to be built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from ensign.protocol.messages import (
    AssistantMessage,
    AssistantPart,
    Image,
    Message,
    Origin,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)

Json = Mapping[str, Any]

_ORIGINS: Mapping[str, Origin] = {origin: origin for origin in get_args(Origin)}


def decode_message(value: Json) -> Message:
    """Return what `codec.to_wire` was given.

    Raises:
        ValueError: it is no message.
    """
    try:
        match value["kind"]:
            case "user":
                return UserMessage(
                    text=_text(value["text"]),
                    images=_images(value),
                    origin=_ORIGINS[value["origin"]],
                    delivers=_ids(value),
                )
            case "assistant":
                return AssistantMessage(parts=tuple(_part(part) for part in value["parts"]))
            case "tool":
                return ToolMessage(
                    results=tuple(_result(result) for result in value["results"]),
                    note=_text(value.get("note", "")),
                    delivers=_ids(value),
                )
            case kind:
                raise ValueError(f"no message is of kind {kind!r}")
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a message: {error!r}") from error


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(f"{value!r} is not a string")
    return value


def _ids(value: Json) -> tuple[str, ...]:
    return tuple(_text(item) for item in value.get("delivers", ()))


def _images(value: Json) -> tuple[Image, ...]:
    return tuple(
        Image(media_type=_text(image["mediaType"]), data=_text(image["data"])) for image in value.get("images", ())
    )


def _part(value: Json) -> AssistantPart:
    match value["kind"]:
        case "text":
            return Text(text=_text(value["text"]))
        case "thinking":
            signature, redacted = _text(value.get("signature", "")), bool(value.get("redacted", False))
            return Thinking(text=_text(value["text"]), signature=signature, redacted=redacted)
        case "tool_call":
            return ToolCall(
                call_id=_text(value["callId"]),
                name=_text(value["name"]),
                arguments=_arguments(value["arguments"]),
                raw=_text(value["raw"]),
            )
        case kind:
            raise ValueError(f"no part of a message is of kind {kind!r}")


def _arguments(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not an object")
    return cast("dict[str, Any]", value)


def _result(value: Json) -> ToolResult:
    return ToolResult(
        call_id=_text(value["callId"]),
        text=_text(value["text"]),
        is_error=bool(value.get("isError", False)),
        images=_images(value),
    )
