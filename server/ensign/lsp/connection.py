"""One connection from its first byte to its last: bytes, server, and whatever may end them."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable

from ensign.lsp.framing import Frame
from ensign.lsp.lifecycle import CLOSED
from ensign.lsp.server import LanguageServer, Start
from ensign.lsp.transport import CLEAN_END, Stream, Transport

log = logging.getLogger(__name__)

Stop = Callable[[str, int], None]

_PARENT_EVERY_S = 0.5
_CLOSE_S = 10.0
_FLUSH_S = 2.0
"""For a client that reads slowly; one that is gone is not waited for."""
_HANDSHAKE_S = 10.0


async def serve(stream: Stream, start: Start, *, started: Callable[[Stop], None]) -> int | None:
    """Serve one connection to its end and return the exit code; None for one that never showed the token.

    `started` is given what ends it from outside: a reason in words and the exit code.
    """

    def take(frames: list[Frame]) -> None:
        for frame in frames:
            server.peer.receive(frame)

    def ended(reason: str) -> None:
        log.log(logging.INFO if reason == CLEAN_END else logging.WARNING, "%s", reason)
        server.stop(CLOSED, 0 if server.shut_down else 1)

    transport = Transport(stream, on_frames=take, on_end=ended)
    server = LanguageServer(start, send=transport.send)
    started(server.stop)
    watch = asyncio.create_task(_watch(server))
    transport.start()
    reason, code = await server.stopped
    log.info("ending: %s", reason)
    watch.cancel()
    await asyncio.wait({server.close_app(reason)}, timeout=_CLOSE_S)
    await server.peer.close()
    await transport.flush(_FLUSH_S)
    transport.close()
    return code if start.token is None or server.has_client else None


async def _watch(server: LanguageServer) -> None:
    """Stop the server when the client's process is gone, and a connection that does not begin in time.

    Windows has no harmless way to ask for a process; the end of the pipe has to do there. A process that was not
    there when we first looked is in another container than we are.
    """
    if server.start.token is not None:
        await asyncio.sleep(_HANDSHAKE_S)
        if not server.has_client:
            server.stop("no client showed the token", 1)
    seen = False
    while sys.platform != "win32":
        await asyncio.sleep(_PARENT_EVERY_S)
        process_id = server.client.process_id if server.has_client else None
        if process_id is not None and _alive(process_id):
            seen = True
        elif seen:
            log.warning("the editor's process is gone")
            server.stop(CLOSED, 1)
            return


def _alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
