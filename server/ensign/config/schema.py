"""The JSON Schema of a settings file, made from the table of settings: for editors, docs and the extension's test."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

from ensign.config.keys import RULE_LISTS, all_keys, members_of
from ensign.protocol.codec import to_wire
from ensign.protocol.settings import ProviderSettings, Settings


def settings_schema() -> dict[str, Any]:
    """Return the schema, with one property for each dotted setting."""
    defaults = Settings()
    groups: Mapping[str, Any] = {"": defaults, "models": defaults.models, "subagents": defaults.subagents}
    properties: dict[str, Any] = {}
    for key in all_keys():
        default = to_wire(getattr(groups[key.group], key.attribute)) if key.attribute else ""
        properties[key.name] = {"description": key.meaning, "default": default, **_type(key.hint, key.minimum)}
    for name, (_, meaning) in RULE_LISTS.items():
        items = {"type": "array", "items": {"type": "string"}}
        properties[f"permissions.{name}"] = {"description": meaning, "default": [], **items}
    return {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": properties}


def _type(hint: Any, minimum: float) -> dict[str, Any]:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        inner = _type(next(arg for arg in args if arg is not type(None)), minimum)
        return {**inner, "type": [inner["type"], "null"]}
    if origin is Literal:
        return {"type": "string", "enum": list(args)}
    if origin is tuple:
        return {"type": "array", "items": {"type": "string"}}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _type(args[1], minimum)}
    if hint is ProviderSettings:
        members = {name: _type(kind, minimum) for name, (_, kind) in members_of(ProviderSettings).items()}
        return {"type": "object", "properties": members, "required": ["kind"], "additionalProperties": False}
    scalars: dict[Any, dict[str, Any]] = {
        bool: {"type": "boolean"},
        str: {"type": "string"},
        int: {"type": "integer", "minimum": minimum},
        float: {"type": "number", "minimum": minimum},
    }
    return scalars.get(hint, {})
