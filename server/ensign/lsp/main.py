"""`ensign serve`: the process around a language server. It ends for one reason, in one way, and leaves nothing running.

Imports stand where they are used: an editor waits for each of them, and standard input is taken first of all.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from ensign.app import App
    from ensign.lsp.connection import Stop
    from ensign.lsp.server import Build, Start

log = logging.getLogger(__name__)


def _build_app(**arguments: Any) -> App:
    """Import the runtime only when there is a client for it."""
    from ensign.app import build

    return build(**arguments)


def serve_stdio(command_line: Mapping[str, Any], *, build: Build = _build_app) -> NoReturn:
    """Serve the client on standard input and output, and end the process."""
    from ensign.lsp.transport import take_stdio

    stream = take_stdio()
    start = _start(build, command_line)

    async def run() -> int:
        from ensign.lsp.connection import serve

        signals = _Signals()
        return await serve(stream, start, started=signals.end_by) or 0

    _run(run())


def serve_tcp(port: int, command_line: Mapping[str, Any], *, build: Build = _build_app) -> NoReturn:
    """Serve one client on a loopback port, 0 for any, and end the process.

    The line on standard error has the port and the token that the client must pass as `initializationOptions.token`:
    any program of any user of this machine can reach the port.
    """
    from ensign.lsp.transport import of_socket, take_stdio

    take_stdio()
    token = secrets.token_urlsafe(24)
    start = _start(build, command_line, token)
    listener = socket.create_server(("127.0.0.1", port))
    listener.setblocking(False)
    sys.stderr.write(f"ensign: listening on 127.0.0.1:{listener.getsockname()[1]} token {token}\n")
    sys.stderr.flush()

    async def run() -> int:
        from ensign.lsp.connection import serve

        signals = _Signals()
        code = None
        while code is None:
            signals.end_by(_at_once)
            connection, _ = await asyncio.get_running_loop().sock_accept(listener)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = await serve(of_socket(connection), start, started=signals.end_by)
        return code

    _run(run())


def _start(build: Build, command_line: Mapping[str, Any], token: str | None = None) -> Start:
    from ensign.lsp.server import Start

    return Start(build=build, environment=dict(os.environ), command_line=command_line, token=token)


def _run(main: Coroutine[Any, Any, int]) -> NoReturn:
    """Run `main` and end the process with its exit code.

    By `os._exit`: the ordinary way out waits for threads, which may sit in a read of the client's pipe or in a slow
    file operation.
    """
    code = 1
    try:
        code = asyncio.Runner().run(main)
    except Exception:  # the process ends here; the log has the traceback
        log.exception("the server broke")
    finally:
        logging.shutdown()
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


class _Signals:
    """The first signal ends the server in order, a second one ends the process. Made inside the event loop."""

    def __init__(self) -> None:
        self._stop: Stop = _at_once
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is None:
                continue
            try:
                loop.add_signal_handler(number, self._got, name, number)
            except NotImplementedError:  # Windows
                signal.signal(number, partial(self._got_elsewhere, loop, name))

    def end_by(self, stop: Stop) -> None:
        """Call `stop` at the next signal."""
        self._stop = stop

    def _got_elsewhere(self, loop: asyncio.AbstractEventLoop, name: str, number: int, frame: object) -> None:
        loop.call_soon_threadsafe(self._got, name, number)

    def _got(self, name: str, number: int) -> None:
        stop, self._stop = self._stop, _at_once
        stop(name, 128 + number)


def _at_once(reason: str, code: int) -> None:
    os._exit(code)
