"""The bare loop that ours is measured against: messages encoded once, httpx, a stream read line by line, one file read.

It has no events, no permissions, no transcript, no retries and no watchdog, and nobody can stop it.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

HEADERS = {"content-type": "application/json", "authorization": "Bearer sk-bench"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bare:
    """What every bare agent shares; `opening` is the body of our own first request, so that both send the same."""

    url: str
    opening: bytes
    root: Path
    tls: ssl.SSLContext


async def agent(bare: Bare) -> None:
    """Take steps until the model makes no call; a client of its own, since one that is shared is far slower."""
    messages = [bare.opening.removesuffix(b"]}")]
    async with httpx.AsyncClient(verify=bare.tls, timeout=None) as client:  # noqa: S113 - nothing here is in the way
        while calls := await _step(client, bare, messages):
            for call in calls:
                path = bare.root / json.loads(call["function"]["arguments"])["file_path"]
                lines = path.read_text(encoding="utf-8").splitlines()
                text = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))
                messages.append(_dumps({"role": "tool", "tool_call_id": call["id"], "content": text}))


async def _step(client: httpx.AsyncClient, bare: Bare, messages: list[bytes]) -> list[dict[str, Any]]:
    text: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    async with client.stream("POST", bare.url, content=b",".join(messages) + b"]}", headers=HEADERS) as response:
        async for line in response.aiter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            for choice in json.loads(line[6:])["choices"]:
                delta = choice["delta"]
                text.append(delta.get("content") or "")
                for piece in delta.get("tool_calls", ()):
                    call = calls.setdefault(piece["index"], {"id": "", "type": "function", "function": {}})
                    call["id"] = piece.get("id") or call["id"]
                    for name, value in piece["function"].items():
                        call["function"][name] = call["function"].get(name, "") + value
    said: dict[str, Any] = {"role": "assistant", "content": "".join(text) or None}
    if calls:
        said["tool_calls"] = list(calls.values())
    messages.append(_dumps(said))
    return list(calls.values())


async def many(bare: Bare, count: int) -> None:
    """Run agents side by side."""
    await asyncio.gather(*(agent(bare) for _ in range(count)))


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _dumps(value: Any) -> bytes:
    return _encode(value).encode()
