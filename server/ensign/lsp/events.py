"""What happens in sessions, to the client: `ensign/event`, in order, one for each event, `seq` without gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ensign.lsp.guard import encode
from ensign.protocol.events import Event

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer


def register(server: LanguageServer) -> None:
    """Send events on. Every client gets them: one that does not know the notification ignores it."""

    def send(session_id: str, seq: int, event: Event) -> None:
        server.peer.notify("ensign/event", {"sessionId": session_id, "seq": seq, "event": encode(event)})

    server.listeners.append(send)
