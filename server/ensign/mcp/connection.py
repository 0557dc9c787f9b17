"""One server: started or connected to, its tools listed, its calls made; when it dies it is started again at the next.

The SDK's client lives in one task of its own, from start to end, since its scopes must be left where they were entered.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ensign.mcp.entry import EntryError, expanded
from ensign.protocol.errors import ToolError
from ensign.protocol.settings import McpServer
from ensign.protocol.value import frozen
from ensign.workspace.environment import minimal_environment
from ensign.workspace.peer import Peer
from ensign.workspace.processes import Processes, Program

if TYPE_CHECKING:
    from mcp import Client
    from mcp.shared.dispatcher import ProgressFnT
    from mcp_types import CallToolResult

State = Literal["starting", "running", "failed", "ended"]

MAX_TOOLS = 1000
MAX_SCHEMA_CHARS = 100_000
_PAGES = 100
_PROGRESS_S = 0.5
_CLOSE_S = 2.0
_LAST_WORDS_S = 3.0
_SHOWN = 200

log = logging.getLogger(__name__)


@frozen
class Remote:
    """A tool as its server describes it; every word of it is the server's claim."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    read_only: bool


@frozen
class Place:
    """Where servers are started.

    Attributes:
        environment: ours; a program gets little of it (see `minimal_environment`).
        connect_s: how long a start may take.
        version: ours, told to servers.
    """

    processes: Processes
    environment: Mapping[str, str]
    cwd: Path
    connect_s: Callable[[], float]
    version: str


class Connection:
    """A server and the way to it.

    Attributes:
        name: as it stands in tools and rules.
        state: `failed` and `ended` servers are started again by the next call.
        fault: why it is not running, for people and models.
        tools: what it has, in its own order; what it had, while it is not running.
        skipped: tools that cannot be used, with the reason.
    """

    def __init__(self, name: str, server: McpServer, place: Place, *, owner: str, changed: Callable[[], None]) -> None:
        self.name = name
        self.server = server
        self.state: State = "starting"
        self.fault = ""
        self.tools: tuple[Remote, ...] = ()
        self.skipped: tuple[str, ...] = ()
        self._place = place
        self._owner = owner
        self._changed = changed
        self._client: Client | None = None
        self._life: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._news = asyncio.Event()
        self._over = self._stale = self._closed = False
        self._garbage: list[str] = []
        self._peer: Peer | None = None

    def start(self) -> None:
        """Begin to start it; `settled` says when it is known whether that worked."""
        self.state, self.fault = "starting", ""
        self._settled.clear()
        self._over = self._stale = False
        self._garbage.clear()
        self._life = asyncio.create_task(self._live(), name=f"mcp {self.name}")

    def retry(self) -> None:
        """Start it again if its last start failed, without waiting for what comes of it."""
        if self.state == "failed" and not self._closed:
            self.start()

    async def settled(self) -> None:
        """Wait until it runs or has failed; a start has a time limit of its own."""
        await self._settled.wait()

    async def call(self, tool: str, arguments: Mapping[str, Any], progress: Callable[[str], None]) -> CallToolResult:
        """Call one of its tools; a cancellation of this is told to the server.

        Raises:
            ToolError: it does not run and cannot be started, it died, it did not answer in time, or it refused.
        """
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, REQUEST_TIMEOUT

        client = await self._running()
        limit = self.server.timeout_seconds
        try:
            return await client.call_tool(
                tool, dict(arguments), read_timeout_seconds=limit, progress_callback=_teller(progress)
            )
        except MCPError as error:
            if error.code == REQUEST_TIMEOUT:
                raise ToolError(
                    f"{self._named} did not answer within {limit:g} s; whether the call had an effect is not known"
                ) from error
            if error.code == INVALID_REQUEST and self.server.url:
                # How the SDK says that the server has forgotten us; the next call begins anew.
                self._end()
            if error.code == CONNECTION_CLOSED and await self._has_ended():
                why = self.fault or "it closed the connection"
                raise ToolError(
                    f"{self._named} ended in the middle of this call: {why}. Whether the call had an effect is not "
                    "known; the next call starts the server again"
                ) from error
            raise ToolError(f"{self._named} refused the call: {_short(error.message)}") from error
        except Exception as error:
            # Whatever else the SDK makes of an answer that is none, it is this server's fault and not a turn's end.
            log.info("an answer of %s could not be used", self._named, exc_info=error)
            raise ToolError(f"{self._named} gave an answer that cannot be used: {_short(str(error))}") from error

    async def close(self) -> None:
        """End it for good; nothing of it is left."""
        self._closed = True
        self._end()
        if self._life is None:
            return
        if self.state == "starting":
            self._life.cancel()
        # Over HTTP it says good-bye, which a server that is gone never answers.
        _, still = await asyncio.wait({self._life}, timeout=_CLOSE_S)
        if still:
            self._life.cancel()
            await asyncio.wait({self._life})

    @property
    def _named(self) -> str:
        return f"the MCP server {self.name!r}"

    async def _running(self) -> Client:
        if self.state in {"failed", "ended"} and not self._closed:
            self.start()
        if self.state == "starting":
            await self.settled()
        if self._client is None:
            raise ToolError(f"{self._named} is not running: {self.fault or 'it was ended'}")
        return self._client

    async def _has_ended(self) -> bool:
        """Whether the connection is over; servers use the SDK's number for that for faults of their own, too."""
        if self._life is not None:
            await asyncio.wait({self._life}, timeout=_LAST_WORDS_S)
        return self._life is None or self._life.done()

    def _end(self) -> None:
        self._over = True
        self._news.set()

    async def _live(self) -> None:
        try:
            await self._run()
            self.state = "ended"
        except asyncio.CancelledError:
            self.state, self.fault = "ended", "its start was broken off"
            raise
        except TimeoutError:
            self.state = "failed"
            self.fault = self._why(f"it was not ready within {self._place.connect_s():g} s")
        except Exception as error:
            # A server that cannot be started or spoken with fails alone; `doctor` and its callers say why.
            log.info("%s failed", self._named, exc_info=error)
            code = await self._peer.end() if self._peer is not None else None
            ended = f"it ended with exit code {code}" if code is not None else _short(first_cause(error))
            self.state, self.fault = "failed", self._why(ended)
        finally:
            self._client = self._peer = None
            self._settled.set()
            self._changed()

    async def _run(self) -> None:
        # Most of a second of importing, beside the loop.
        await asyncio.to_thread(_load_sdk)
        timer = asyncio.timeout(self._place.connect_s())
        async with timer, self._client_over_transport() as client:
            self.tools = await self._list(client)
            timer.reschedule(None)
            self._client, self.state = client, "running"
            self._settled.set()
            self._changed()
            listening = asyncio.create_task(self._listen(client), name=f"mcp {self.name} listen")
            try:
                await self._attend(client)
            finally:
                listening.cancel()
                await asyncio.wait({listening})
            if not self._closed and self._peer is not None:
                code = await self._peer.end()
                self.fault = self._why("it ended" + (f" with exit code {code}" if code is not None else ""))

    async def _listen(self, client: Client) -> None:
        """Ask for news of the tools; servers of older versions of the protocol send them unasked (see `_heard`)."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError

        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError):
            async with client.listen(tools_list_changed=True) as news:
                async for _ in news:
                    self._stale = True
                    self._news.set()

    async def _attend(self, client: Client) -> None:
        """Keep the list of tools, until it is over."""
        while not self._over:
            await self._news.wait()
            self._news.clear()
            if self._stale and not self._over:
                self._stale = False
                self.tools = await self._list(client)
                self._changed()

    def _why(self, what: str) -> str:
        parts = [what]
        if self._garbage:
            parts.append(f"it wrote lines to standard output that are no messages, such as {self._garbage[0]!r}")
        if self._peer is not None and self._peer.errors:
            parts.append(f"its last words: {_short(self._peer.errors[-_SHOWN:])}")
        return "; ".join(parts)

    @asynccontextmanager
    async def _client_over_transport(self) -> AsyncIterator[Client]:
        from mcp import Client
        from mcp_types import Implementation

        try:
            server = expanded(self.server, self._place.environment)
        except EntryError as error:
            raise ToolError(str(error)) from error
        transport = self._http(server) if server.url else self._stdio(server)
        info = Implementation(name="ensign", version=self._place.version)
        async with Client(transport, client_info=info, message_handler=self._heard, cache=None) as client:
            yield client

    @asynccontextmanager
    async def _stdio(self, server: McpServer) -> AsyncIterator[Any]:
        from ensign.mcp.stdio import stdio

        place = self._place
        program = Program(
            argv=[server.command, *server.args],
            cwd=place.cwd / Path(server.cwd).expanduser() if server.cwd else place.cwd,
            agent_id=self._owner,
            env={**minimal_environment(place.environment), **server.env},
        )
        async with stdio(lambda take: place.processes.open(program, take), self._bad_line) as (read, write, peer):
            self._peer = peer
            gone = asyncio.create_task(self._when_gone(peer), name=f"mcp {self.name} watch")
            try:
                yield read, write
            finally:
                gone.cancel()

    async def _when_gone(self, peer: Peer) -> None:
        await peer.wait()
        self._end()

    @asynccontextmanager
    async def _http(self, server: McpServer) -> AsyncIterator[Any]:
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        async with (
            create_mcp_http_client(headers=dict(server.headers)) as client,
            streamable_http_client(server.url, http_client=client) as streams,
        ):
            yield streams

    async def _list(self, client: Client) -> tuple[Remote, ...]:
        capabilities = client.server_capabilities
        if capabilities.tools is None:
            return ()
        found: dict[str, Remote] = {}
        skipped: list[str] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                schema = tool.input_schema
                if tool.name in found or not tool.name or len(found) >= MAX_TOOLS:
                    skipped.append(f"{_short(tool.name)!r}: it is there twice, without a name or one too many")
                elif problem := schema_problem(schema):
                    skipped.append(f"{_short(tool.name)!r}: {problem}")
                else:
                    found[tool.name] = Remote(
                        name=tool.name,
                        description=tool.description or "",
                        parameters=schema,
                        read_only=bool(tool.annotations and tool.annotations.read_only_hint),
                    )
            cursor = page.next_cursor
            if not cursor:
                break
        self.skipped = tuple(skipped)
        return tuple(found.values())

    async def _heard(self, message: object) -> None:
        """A notification of the server: only a changed list of tools means something here."""
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._stale = True
            self._news.set()

    def _bad_line(self, line: bytes) -> None:
        if not self._garbage:
            self._garbage.append(line[:60].decode("utf-8", "replace"))


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """Say why a tool with this schema cannot be offered, or None."""
    from jsonschema_rs import ValidationError, validator_for

    if schema.get("type") != "object":
        return "its input is no object"
    try:
        text = json.dumps(schema)
        if len(text) > MAX_SCHEMA_CHARS:
            return f"its input's description is longer than {MAX_SCHEMA_CHARS:,} characters"
        validator_for(text, offline=True)
    except (ValueError, ValidationError) as error:
        return f"its input's description is no valid JSON Schema: {_short(str(error))}"
    return None


def first_cause(error: BaseException) -> str:
    """Words of the first cause of an error, looking into groups."""
    causes: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return first_cause(causes[0]) if causes else str(error) or type(error).__name__


def _teller(tell: Callable[[str], None]) -> ProgressFnT:
    """Tell people of progress, now and then."""
    loop = asyncio.get_running_loop()
    next_at = 0.0

    async def told(progress: float, total: float | None, message: str | None) -> None:
        nonlocal next_at
        if loop.time() < next_at:
            return
        next_at = loop.time() + _PROGRESS_S
        count = f"{progress:g} of {total:g}" if total is not None else f"{progress:g}"
        tell(_short(f"{message} ({count})" if message else count))

    return told


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."


def _load_sdk() -> None:
    for name in ("mcp", "mcp.client.streamable_http", "ensign.mcp.stdio"):
        importlib.import_module(name)
