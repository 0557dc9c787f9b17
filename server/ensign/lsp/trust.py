"""`ensign/trust/*`: what the workspace folders ask for, and the person's say on it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ensign.protocol import trust, wire

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer


def register(server: LanguageServer) -> None:
    """Trust: get and set; and the notice, for clients that do not draw it."""
    notice = Notice(server)
    server.on_ready.append(notice.look)
    server.on_changed.append(lambda what: notice.look() if what == "trust" else None)
    server.method("ensign/trust/get", wire.Empty, lambda app: app.trust.get)
    server.method("ensign/trust/set", trust.TrustSet, lambda app: app.trust.set)


class Notice:
    """Tells other editors' people what waits for their trust, once for each change (docs/decisions/0072)."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._said: set[str] = set()
        self._looking: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Look whether there is something to tell, without keeping anyone waiting."""
        if not self._server.client.ours:
            self._looking = asyncio.create_task(self._look(), name="look what asks for trust")

    async def _look(self) -> None:
        for folder in (await self._server.app.trust.get(wire.Empty())).folders:
            if folder.notice and folder.notice not in self._said:
                self._said.add(folder.notice)
                text = f"Ensign: {folder.notice}. `ensign trust` in {folder.path} shows them, and trusts them."
                self._server.peer.notify("window/showMessage", {"type": 3, "message": text})
