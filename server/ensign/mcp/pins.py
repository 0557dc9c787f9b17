"""What a server said of its tools when one of them first ran: whatever is said otherwise later asks again."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ensign.protocol.errors import ToolError
from ensign.workspace import atomic


class Pins:
    """Digests by server and tool, in a file of Ensign's own, which no agent's tool may write unasked.

    A server is pinned whole by the first call of any of its tools: one it adds later is as new as one it changes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, dict[str, str]] = {}
        self._saving = asyncio.Lock()

    async def load(self) -> None:
        """Read what other processes and earlier ones have pinned."""
        self._known = {**self._known, **await asyncio.to_thread(self._read)}

    def question(self, server: str, tool: str, digest: str) -> str | None:
        """Why a person must be asked about this tool although rules may allow it; None when nothing has changed."""
        known = self._known.get(server)
        if known is None or known.get(tool) == digest:
            return None
        what = "has changed its description, its input or how it is started" if tool in known else "is new"
        return f"the tool {tool!r} of the MCP server {server!r} {what} since that server was approved"

    async def approve(self, server: str, tool: str, digests: Mapping[str, str]) -> None:
        """Keep that a call of this tool was allowed; `digests` are those of all tools of the server."""
        known = self._known.get(server)
        if known is not None and known.get(tool) == digests[tool]:
            return
        self._known[server] = dict(digests) if known is None else {**known, tool: digests[tool]}
        async with self._saving:
            await asyncio.to_thread(self._write, server)

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            data = json.loads(self.path.read_bytes())
            return {
                str(server): {str(tool): str(digest) for tool, digest in tools.items()}
                for server, tools in data.items()
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError):
            # Unreadable is unknown: the next calls are asked about as if they were the first.
            return {}

    def _write(self, server: str) -> None:
        """Put one server's digests into the file; those of others may be newer there."""
        merged = {**self._read(), server: self._known[server]}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            data = json.dumps(merged, indent=1, sort_keys=True).encode()
            atomic.write_file(self.path, data, replacing=self.path.read_bytes() if self.path.exists() else None)
        except (OSError, ToolError, atomic.ChangedMeanwhileError):
            # It holds in this process; the next one asks again.
            return


def digest_of(identity: str, tool: Mapping[str, Any]) -> str:
    """A digest of what a server says of a tool, and of how that server is started."""
    text = json.dumps([identity, tool], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
