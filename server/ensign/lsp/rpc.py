"""JSON-RPC over one connection: every request gets exactly one answer, in both directions, whatever happens.

Handlers are looked up by method name. A plain function is called at once, before the next message is looked at, so
what it changes is seen by all that follows; a coroutine becomes a task that `$/cancelRequest` can cancel.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from ensign.lsp.framing import Body, Frame, Garbage, Refused, envelope
from ensign.lsp.guard import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    RpcError,
    as_rpc_error,
    json_object,
    member,
    params_object,
)

log = logging.getLogger(__name__)

Handler = Callable[[Any], Any]
Id = int | str


class ClientGoneError(Exception):
    """The connection ended before the client answered."""


class Peer:
    """One connection. `send` takes a message's bytes and never blocks.

    `find` returns the handler of a method or None. `admit` raises `RpcError` for a method that may not be called now.
    `refused` is told the start of a notification that was too large to read.
    """

    def __init__(
        self,
        *,
        send: Callable[[bytes], None],
        find: Callable[[str], Handler | None],
        admit: Callable[[str], None],
        refused: Callable[[str, bytes], None],
    ) -> None:
        self._send = send
        self._find = find
        self._admit = admit
        self._refused = refused
        self._ids = itertools.count(1)
        self._running: dict[Id, asyncio.Task[Any]] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._asked: dict[Id, asyncio.Future[Any]] = {}
        self._closed = False

    # ---- out ---------------------------------------------------------------------------------------------------------

    def notify(self, method: str, params: Any) -> None:
        """Send a notification. They keep their order, and precede the answer of the handler that sends them."""
        self._put({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Any, *, timeout_s: float | None = None) -> Any:
        """Ask the client and return its result.

        When the caller is cancelled or `timeout_s` passes, the client is told by `$/cancelRequest` and the question is
        forgotten: an answer that comes later does nothing.

        Raises:
            RpcError: the client answered with an error.
            TimeoutError: no answer within `timeout_s` seconds.
            ClientGoneError: the connection ended.
        """
        if self._closed:
            raise ClientGoneError(f"the client is gone; {method!r} was not asked")
        identifier = f"ensign:{next(self._ids)}"
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[identifier] = future
        self._put({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params})
        try:
            async with asyncio.timeout(timeout_s):
                return await future
        finally:
            if self._asked.pop(identifier, None) is not None and not self._closed:
                self.notify("$/cancelRequest", {"id": identifier})

    def cancel_running(self) -> None:
        """Cancel every request of the client but the one that asks for it; each is answered so."""
        for task in self._running.values():
            if task is not asyncio.current_task():
                task.cancel()

    async def close(self) -> None:
        """Cancel what runs, answer it so, and fail what the client was asked."""
        self._closed = True
        for future in self._asked.values():
            if not future.done():
                future.set_exception(ClientGoneError("the connection ended before the client answered"))
        self._asked.clear()
        tasks = [*self._running.values(), *self._background]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1)
            await asyncio.sleep(0)  # the answers are sent by the tasks' callbacks

    # ---- in ----------------------------------------------------------------------------------------------------------

    def receive(self, frame: Frame) -> None:
        """Take the next frame of the stream; returns when it was handled, or when its task has been started."""
        match frame:
            case Body(data=data):
                self._receive_body(data)
            case Refused():
                self._receive_refused(frame)
            case Garbage(data=data):
                log.warning("%d bytes where a header was expected", len(data))
                self._fail(None, RpcError(PARSE_ERROR, "expected a header with Content-Length"))

    def _receive_body(self, data: bytes) -> None:
        try:
            value: Any = json.loads(data)
        except (ValueError, RecursionError) as error:
            log.warning("a message of %d bytes is no JSON: %s", len(data), error)
            self._fail(None, RpcError(PARSE_ERROR, f"the message is no JSON: {error}"))
            return
        if (message := json_object(value)) is None:
            self._fail(None, RpcError(INVALID_REQUEST, "a message must be an object"))
            return
        identifier, method = _usable(message.get("id")), message.get("method")
        if "method" not in message and ("result" in message or "error" in message):
            self._receive_response(identifier, message)
        elif message.get("jsonrpc") != "2.0" or not isinstance(method, str):
            self._fail(identifier, RpcError(INVALID_REQUEST, 'a request needs `jsonrpc` "2.0" and a `method`'))
        elif "id" not in message:
            self._receive_notification(method, message.get("params"))
        elif identifier is None:
            self._fail(None, RpcError(INVALID_REQUEST, "id: must be a string or an integer"))
        else:
            self._receive_request(identifier, method, message.get("params"))

    def _receive_request(self, identifier: Id, method: str, params: Any) -> None:
        if identifier in self._running:
            self._fail(identifier, RpcError(INVALID_REQUEST, f"id: {identifier!r} is already running"))
            return
        try:
            self._admit(method)
            handler = self._find(method)
            if handler is None:
                raise RpcError(METHOD_NOT_FOUND, f"no method {method!r}")
            result = handler(params)
        except Exception as error:  # noqa: BLE001 - every request is answered; `as_rpc_error` records what is a bug
            self._fail(identifier, as_rpc_error(error, method))
            return
        if not inspect.iscoroutine(result):
            self._answer(identifier, method, result)
            return
        task = asyncio.create_task(result)
        self._running[identifier] = task
        task.add_done_callback(partial(self._finished, identifier, method))

    def _finished(self, identifier: Id, method: str, task: asyncio.Task[Any]) -> None:
        """Answer from outside the task: one that is cancelled before its first step has no code of its own."""
        del self._running[identifier]
        if task.cancelled():
            self._fail(identifier, RpcError(REQUEST_CANCELLED, f"{method!r} was cancelled"))
        elif (error := task.exception()) is not None:
            self._fail(identifier, as_rpc_error(error, method))
        else:
            self._answer(identifier, method, task.result())

    def _receive_notification(self, method: str, params: Any) -> None:
        try:
            if method == "$/cancelRequest":
                self._cancel(_usable(params_object(params).get("id")))
                return
            self._admit(method)
            handler = self._find(method)
            if handler is None:
                log.debug("ignored the notification %r", method)
                return
            result = handler(params)
        except Exception as error:  # noqa: BLE001 - there is nobody to answer; the log has it
            log.warning("the notification %r failed: %s", method, as_rpc_error(error, method))
            return
        if inspect.iscoroutine(result):
            self.spawn(result, method)

    def spawn(self, work: Coroutine[Any, Any, Any], what: str) -> Callable[[], object]:
        """Run `work` beside the requests, until it or the connection ends, or the returned function is called.

        A failure is logged as one of `what`.
        """
        task = asyncio.create_task(work, name=what)
        self._background.add(task)
        task.add_done_callback(self._spawned_ended)
        return task.cancel

    def _spawned_ended(self, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, ClientGoneError):
            log.warning("%s failed: %s", task.get_name(), as_rpc_error(error, task.get_name()))

    def _cancel(self, identifier: Id | None) -> None:
        if identifier is not None and (task := self._running.get(identifier)) is not None:
            task.cancel()

    def _receive_response(self, identifier: Id | None, message: dict[str, Any]) -> None:
        future = self._asked.pop(identifier, None) if identifier is not None else None
        if future is None or future.done():
            log.debug("a late or unknown answer to %r", identifier)
        elif "error" in message:
            code, text = member(message, "error", "code"), member(message, "error", "message")
            future.set_exception(RpcError(code if isinstance(code, int) else 0, str(text or "no reason")))
        else:
            future.set_result(message["result"])

    def _receive_refused(self, frame: Refused) -> None:
        identifier, method = envelope(frame)
        error = RpcError(INVALID_REQUEST, f"a message of {frame.size} bytes is over the limit of 64 MiB")
        log.warning("%s: id %r, method %r", error, identifier, method)
        if identifier is None and method is not None:
            self._refused(method, frame.head)
        elif identifier is not None and identifier in self._asked:
            self._asked.pop(identifier).set_exception(error)
        else:
            self._fail(identifier, error)

    # ---- answers -----------------------------------------------------------------------------------------------------

    def _answer(self, identifier: Id, method: str, result: Any) -> None:
        try:
            self._put({"jsonrpc": "2.0", "id": identifier, "result": result})
        except (TypeError, ValueError) as error:
            self._fail(identifier, as_rpc_error(error, method))

    def _fail(self, identifier: Id | None, error: RpcError) -> None:
        self._put({"jsonrpc": "2.0", "id": identifier, "error": error.as_json()})

    def _put(self, message: dict[str, Any]) -> None:
        try:
            body = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:  # half a surrogate pair, which a file name or a model can hold
            body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
        self._send(body)


def _usable(identifier: Any) -> Id | None:
    """Return a request id, or None for what cannot be one (a boolean is an `int` to Python)."""
    return identifier if isinstance(identifier, str | int) and not isinstance(identifier, bool) else None
