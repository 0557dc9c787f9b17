"""Model servers on this machine, asked which models they have: only when a person wants to choose, only on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ensign.models.http import BrokenError, HttpPool, UnreachableError, is_loopback
from ensign.models.jsons import a_list, a_string, an_object

TIMEOUT_S = 0.3
_MAX_BYTES = 1024 * 1024
_MAX_MODELS = 200
_MAX_NAME = 200


async def find_models(places: Mapping[str, str]) -> dict[str, tuple[str, ...] | None]:
    """Return the models of each server, and None for one that does not answer in time.

    No key is sent, and no proxy is used: whoever has the port, nothing but the question reaches them.

    Args:
        places: base URLs by provider; those that are not on this machine are left out.
    """
    near = {name: url for name, url in places.items() if is_loopback(urlsplit(url).hostname or "")}
    pool = HttpPool({})
    try:
        answers = await asyncio.gather(*(_ask(pool, url) for url in near.values()))
    finally:
        await pool.aclose()
    return dict(zip(near, answers, strict=True))


async def _ask(pool: HttpPool, base_url: str) -> tuple[str, ...] | None:
    try:
        async with asyncio.timeout(TIMEOUT_S), pool.send("GET", f"{base_url.rstrip('/')}/models", []) as response:
            if response.status != 200:
                return None
            return _names(json.loads(await response.read(_MAX_BYTES)))
    except (TimeoutError, UnreachableError, BrokenError, ValueError, RecursionError):
        # Nobody there, or somebody who speaks something else.
        return None


def _names(answer: Any) -> tuple[str, ...] | None:
    if not isinstance(an_object(answer).get("data"), list):
        return None
    names = [a_string(an_object(one).get("id")) for one in a_list(an_object(answer)["data"])]
    # What a stranger at the port calls a model is shown to people and sent back: only what can be a name.
    return tuple(name for name in names if name.isprintable() and 0 < len(name) <= _MAX_NAME)[:_MAX_MODELS]
