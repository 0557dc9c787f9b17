"""The language server of one client, over our own connection.

Each `register(server)` below adds a group of methods; `lifecycle.py` has the first and the last one. `standard.py` is
the half of the protocol that is not ours. It and the runtime are built at the first message after `initialize` that
needs them, so that an editor gets that answer at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ensign.lsp import agents, approvals, events, lifecycle, models, sessions, tasks, trust, turns
from ensign.lsp.diagnostics import Diagnostics
from ensign.lsp.documents import OpenDocuments
from ensign.lsp.editor import LspEditor
from ensign.lsp.guard import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    NOT_INITIALIZED,
    REQUEST_FAILED,
    RpcError,
    decode_params,
    encode,
)
from ensign.lsp.progress import Progress
from ensign.lsp.registration import register_later
from ensign.lsp.reports import Reports
from ensign.lsp.rpc import Handler, Peer
from ensign.protocol.errors import EnsignError
from ensign.protocol.events import Event
from ensign.protocol.value import frozen

if TYPE_CHECKING:
    from ensign.app import App
    from ensign.lsp.client import Client
    from ensign.lsp.standard import Standard

P = TypeVar("P")
Listener = Callable[[str, int, Event], None]
log = logging.getLogger(__name__)


class Build(Protocol):
    """Makes the runtime for a client; `ensign.app.build` is the real one."""

    def __call__(
        self,
        *,
        options: Mapping[str, Any],
        roots: Sequence[Path],
        environment: Mapping[str, str],
        command_line: Mapping[str, Any],
        client_name: str,
    ) -> App: ...


@frozen
class Start:
    """What the process was started with. `token` is what a client must show, or None where the pipe is proof enough."""

    build: Build
    environment: Mapping[str, str]
    command_line: Mapping[str, Any]
    token: str | None = None


class LanguageServer:
    """State of one connection: `new`, then `running` after `initialize`, then `shut down`."""

    def __init__(self, start: Start, *, send: Callable[[bytes], None]) -> None:
        self.start = start
        self.peer = Peer(send=send, find=self._find, admit=self._admit, refused=self._refused)
        self.documents = OpenDocuments()
        self.listeners: list[Listener] = []
        self.on_ready: list[Callable[[], None]] = []
        self.on_changed: list[Callable[[str], None]] = []
        self.stopped: asyncio.Future[tuple[str, int]] = asyncio.get_running_loop().create_future()
        self.methods: list[str] = []
        self.shut_down = False
        self._client: Client | None = None
        self._app: App | None = None
        self._problem: RpcError | None = None
        self._closing: asyncio.Task[None] | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._handlers: dict[str, Handler] = {}
        self._standard: Standard | None = None
        for group in (lifecycle, events, sessions, turns, agents, tasks, approvals, models, trust):
            group.register(self)
        self.progress = Progress(self)
        self.reports = Reports(self)
        self.diagnostics = Diagnostics(self)
        self.on_ready.append(lambda: register_later(self))

    # ---- registration ------------------------------------------------------------------------------------------------

    def method(
        self,
        name: str,
        params: type[P],
        pick: Callable[[App], Callable[[P], Awaitable[Any]]],
        *,
        read: Callable[[P], P] | None = None,
    ) -> None:
        """Answer `name`, one of our own requests, by the method of the runtime that `pick` returns.

        `read` turns the URIs in the parameters into paths.
        """

        async def handle(raw: Any) -> Any:
            decoded = decode_params(params, raw)
            return encode(await pick(self.app)(read(decoded) if read else decoded))

        self.raw(name, handle)
        self.methods.append(name)

    def raw(self, name: str, handle: Handler) -> None:
        """Handle `name` with parameters and result as JSON."""
        self._handlers[name] = handle

    # ---- what handlers use -------------------------------------------------------------------------------------------

    @property
    def client(self) -> Client:
        """The client; there is one once `initialize` was handled."""
        assert self._client is not None
        return self._client

    @property
    def app(self) -> App:
        """The runtime.

        Raises:
            RpcError: it could not be built.
        """
        if self._problem is not None:
            raise self._problem
        assert self._app is not None
        return self._app

    @property
    def has_client(self) -> bool:
        """Whether `initialize` was handled."""
        return self._client is not None

    def initialized(self, client: Client) -> None:
        """Take the client; from now on its requests are admitted."""
        self._client = client

    def stop(self, reason: str, code: int) -> None:
        """End this server for `reason` with exit code `code`; the first call counts."""
        if not self.stopped.done():
            self.stopped.set_result((reason, code))

    def close_app(self, reason: str) -> asyncio.Task[None]:
        """End all runs, once; the task is done when they have ended."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close_app(reason))
        return self._closing

    async def _close_app(self, reason: str) -> None:
        if self._app is None:
            return
        try:
            await self._app.close(reason)
        except Exception:  # the process still has to end; the log says what was left
            log.exception("ending the runs failed")
        if self._unsubscribe is not None:
            self._unsubscribe()

    # ---- what the peer asks ------------------------------------------------------------------------------------------

    def _find(self, method: str) -> Handler | None:
        if (handler := self._handlers.get(method)) is not None or method.startswith(("ensign/", "$/")):
            return handler
        if self._standard is None:
            from ensign.lsp.standard import Standard

            self._standard = Standard(self)
        return self._standard.features.get(method)

    def _admit(self, method: str) -> None:
        if method == "exit":
            return
        if self.shut_down:
            raise RpcError(INVALID_REQUEST, f"{method!r} came after `shutdown`")
        if (self._client is None) != (method == "initialize"):
            early = self._client is None
            raise RpcError(
                NOT_INITIALIZED if early else INVALID_REQUEST,
                f"{method!r} came before `initialize`" if early else "`initialize` came twice",
            )
        if self._client is not None and self._app is None and self._problem is None and method != "shutdown":
            self._build()

    def _refused(self, method: str, head: bytes) -> None:
        if method.startswith("textDocument/did"):
            self.documents.lost(head)

    def _build(self) -> None:
        start, client = self.start, self.client
        try:
            app = start.build(
                options=client.options,
                roots=client.roots,
                environment=start.environment,
                command_line=start.command_line,
                client_name=client.name,
            )
        except EnsignError as error:
            self._problem = RpcError(REQUEST_FAILED, str(error))
        except Exception:  # an editor with a server that answers "why not" is better than one without a server
            log.exception("the runtime could not be built")
            self._problem = RpcError(INTERNAL_ERROR, "the runtime could not be built; the server's log has the details")
        else:
            self._app = app
            if client.restricted:
                app.restrict()
            app.attach(editor=LspEditor(self) if client.applies_edits else None, answers=True)
            self._unsubscribe = app.subscribe(self._on_event, self._on_changed)
            for ready in self.on_ready:
                ready()
            self.diagnostics.settings_read(app.settings_faults())
            return
        self.peer.notify("window/showMessage", {"type": 1, "message": f"Ensign: {self._problem}"})

    def _on_event(self, session_id: str, seq: int, event: Event) -> None:
        for listener in self.listeners:
            listener(session_id, seq, event)

    def _on_changed(self, what: str) -> None:
        self.peer.notify("ensign/changed", {"what": what})
        if what in ("agents", "settings"):
            self.diagnostics.world_changed()
        if what == "settings":
            self.diagnostics.settings_read(self.app.settings_faults())
        for listener in self.on_changed:
            listener(what)
