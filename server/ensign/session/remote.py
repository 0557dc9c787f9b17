"""How the command line acts on a session that another process owns (B10): a private socket for each open session.

A client sends one line of JSON, `{"method", "params"}`, with the names and types of JSON-RPC, and gets one line back,
`{"result"}` or `{"error"}`. Whoever may open the socket is the user: folder 0700, socket 0600.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ensign.protocol import wire
from ensign.protocol.codec import decode, to_wire
from ensign.protocol.errors import EnsignError, UserError
from ensign.session.api import Api

LINE_BYTES = 1 << 20
_ACCEPTING = 3
"""Rounds of the loop from the acceptance of a connection to `_called`: who was let in last must not be left open."""
LAST_ANSWERS_S = 0.3

Handler = Callable[[Any], Awaitable[Any]]

log = logging.getLogger(__name__)


def methods(api: Api) -> Mapping[str, tuple[type[Any], Handler]]:
    """What may be asked of an owner. `wait` is ours alone; the others are named as in JSON-RPC."""
    return {
        "ensign/task/get": (wire.TaskRef, api.task_get),
        "ensign/task/wait": (wire.TaskRef, api.task_wait),
        "ensign/task/stop": (wire.TaskStop, api.task_stop),
        "ensign/task/wrapUp": (wire.TaskRef, api.task_wrap_up),
        "ensign/task/resume": (wire.TaskSend, api.task_resume),
        "ensign/task/send": (wire.TaskSend, api.task_send),
        "ensign/task/undo": (wire.TaskRef, api.task_undo),
        "ensign/task/background": (wire.TaskRef, api.task_background),
        "ensign/worktree/merge": (wire.TaskRef, api.worktree_merge),
        "ensign/worktree/discard": (wire.TaskRef, api.worktree_discard),
    }


def socket_path(folder: Path, session_id: str) -> Path:
    """Where the owner of a session listens; the name is short, since a socket's path may not be long."""
    return folder / f"{hashlib.sha256(session_id.encode()).hexdigest()[:16]}.sock"


class Doors:
    """A socket for each open session. A session whose door cannot be opened works all the same, for this process."""

    def __init__(self, folder: Path, api: Api) -> None:
        self._folder = folder
        self._methods = methods(api)
        self._servers: dict[str, asyncio.Server] = {}
        self._callers: dict[str, set[asyncio.Task[None]]] = {}
        self._swept = False

    async def opened(self, session_id: str) -> None:
        """Listen for the session's callers."""
        if not hasattr(socket, "AF_UNIX"):
            return
        path = socket_path(self._folder, session_id)
        hidden = path.with_suffix(f".{os.getpid()}")
        try:
            make_private(self._folder)
            if not self._swept:
                self._swept = True
                await sweep(self._folder)
            # What callers can find already listens, and what nobody listens at is left by the dead.
            called = partial(self._called, self._callers.setdefault(session_id, set()))
            server = await asyncio.start_unix_server(called, hidden, limit=LINE_BYTES)
            hidden.chmod(0o600)
            hidden.replace(path)
        except OSError as error:
            log.warning("other processes cannot reach session %s: %s", session_id, error)
            return
        self._servers[session_id] = server

    async def closing(self, session_id: str) -> None:
        """Listen no more."""
        server = self._servers.pop(session_id, None)
        if server is not None:
            with contextlib.suppress(OSError):
                socket_path(self._folder, session_id).unlink()
            server.close()

    async def closed(self, session_id: str) -> None:
        """Let who waited for an end have it."""
        for _ in range(_ACCEPTING):
            await asyncio.sleep(0)
        callers = self._callers.pop(session_id, set())
        if callers:
            _, late = await asyncio.wait(callers, timeout=LAST_ANSWERS_S)
            for caller in late:
                caller.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _called(
        self, callers: set[asyncio.Task[None]], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        caller = asyncio.create_task(self._serve(reader, writer), name="a caller at a session's socket")
        callers.add(caller)
        caller.add_done_callback(callers.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await reader.readline()
            if not line:
                # Somebody looked whether anybody is at home.
                return
            answer = asyncio.create_task(self._answer(line))
            left = asyncio.create_task(reader.read(1))
            await asyncio.wait({answer, left}, return_when=asyncio.FIRST_COMPLETED)
            left.cancel()
            if not answer.done():
                # Nobody waits for it any more: a wait ends, what was begun goes on in the session.
                answer.cancel()
                return
            writer.write(answer.result() + b"\n")
            await writer.drain()
        except (OSError, ValueError) as error:
            log.info("a caller at a session's socket went wrong: %s", error)
        finally:
            writer.close()

    async def _answer(self, line: bytes) -> bytes:
        try:
            request: Any = json.loads(line)
            params_class, handler = self._methods[request["method"]]
            result = await handler(decode(params_class, request.get("params", {}), what="params"))
        except EnsignError as error:
            return json.dumps({"error": str(error)}).encode()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("a caller at a session's socket sent what is no request: %r", error)
            return json.dumps({"error": "that is no request"}).encode()
        return json.dumps({"result": to_wire(result)}).encode()


async def ask(folder: Path, session_id: str, method: str, params: object) -> Any:
    """Ask the owner of a session and return its result as JSON.

    Raises:
        UserError: the owner refused, or cannot be reached, and why.
    """
    if not hasattr(socket, "AF_UNIX"):
        raise UserError("the session is open in another window, which cannot be reached from here on this system")
    path = socket_path(folder, session_id)
    try:
        reader, writer = await asyncio.open_unix_connection(path, limit=LINE_BYTES * 64)
    except OSError as error:
        raise UserError(f"the process that owns session {session_id} does not answer: {error.strerror}") from error
    try:
        writer.write(json.dumps({"method": method, "params": to_wire(params)}).encode() + b"\n")
        line = await reader.readline()
    except (OSError, ValueError) as error:
        raise UserError(f"the process that owns session {session_id} broke off: {error}") from error
    finally:
        writer.close()
    if not line:
        raise UserError(f"the process that owns session {session_id} ended before it answered")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise UserError(str(answer["error"]))
    return answer["result"]


async def sweep(folder: Path) -> None:
    """Remove sockets that the dead have left."""
    for path in folder.glob("*.sock"):
        try:
            _, writer = await asyncio.open_unix_connection(path)
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
        else:
            writer.close()


def make_private(folder: Path) -> None:
    """Make the folder, for its owner alone.

    Raises:
        OSError: it cannot be made, or is somebody else's.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.getuid() or folder.is_symlink():
        raise PermissionError(1, f"{str(folder)!r} belongs to somebody else")
    if found.st_mode & 0o077:
        folder.chmod(0o700)
