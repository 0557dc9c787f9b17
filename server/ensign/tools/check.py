"""Whether a call's arguments fit its tool's schema; said so that a model can mend them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ensign.protocol.errors import ToolError
from ensign.tools.base import Arguments, Tool

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

_SHOWN = 200


def check(tool: Tool, arguments: Arguments) -> None:
    """Raise `ToolError` that names each wrong field and what is valid, unless the arguments fit the parameters."""
    validator = _validator(json.dumps(tool.parameters))
    if validator.is_valid(arguments):
        return
    problems = sorted({_words(error, tool) for error in validator.iter_errors(arguments)})
    raise ToolError(f"{tool.name} was called with wrong arguments: {'; '.join(problems)}. {_usage(tool)}")


@lru_cache(maxsize=512)
def _validator(schema: str) -> Validator:
    # Imported at the first call: it costs start time and 8 MB.
    from jsonschema_rs import validator_for

    # Offline: a schema from an MCP server must not make us fetch what it refers to.
    return validator_for(schema, offline=True)


def _words(error: ValidationError, tool: Tool) -> str:
    field = ".".join(str(part) for part in error.instance_path)
    kind = error.kind.as_dict()
    if "property" in kind:
        return f"{_joined(field, str(kind['property']))} is required"
    if "unexpected" in kind:
        names = [_joined(field, str(name)) for name in kind["unexpected"]]
        return f"there is no {', '.join(names)}"
    message = error.message if len(error.message) <= _SHOWN else f"{error.message[:_SHOWN]}..."
    return f"{field!r}: {message}" if field else message


def _joined(field: str, name: str) -> str:
    return repr(f"{field}.{name}" if field else name)


def _usage(tool: Tool) -> str:
    properties: Mapping[str, Mapping[str, Any]] = tool.parameters.get("properties", {})
    required = set(tool.parameters.get("required", ()))
    fields = [f"{name}{'' if name in required else '?'}: {_type(schema)}" for name, schema in properties.items()]
    return f"Valid: {{{', '.join(fields)}}}"


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    kind: str | list[str] = schema.get("type", "any")
    items: Mapping[str, Any] = schema.get("items", {})
    if kind == "array" and items:
        fields: Mapping[str, Mapping[str, Any]] = items.get("properties", {})
        if not fields:
            return f"[{_type(items)}]"
        return f"[{{{', '.join(f'{name}: {_type(field)}' for name, field in fields.items())}}}]"
    return kind if isinstance(kind, str) else " | ".join(kind)
