"""A model behind HTTP: a wire format, an endpoint and the policies around one request."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import field

from ensign.models import errors
from ensign.models.base import Chunk, Effort, Head, Reply, Request
from ensign.models.clock import Clock
from ensign.models.credentials import Secret
from ensign.models.http import BrokenError, Headers, HttpPool, HttpResponse, UnreachableError
from ensign.models.retry import RetryPolicy, retried
from ensign.models.sse import EventTooLargeError, ServerEvent, SseParser
from ensign.models.vendors import Vendor
from ensign.models.watchdog import StreamLimits, watched
from ensign.models.wire import HeadOptions, Reader, Wire, WireError
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.messages import Message, ToolSchema
from ensign.protocol.value import frozen

_log = logging.getLogger(__name__)

_MAX_ERROR_BODY = 256 * 1024
_MAX_WHOLE_BODY = 64 * 1024 * 1024
# After the last event, how long the end of the body may take; then the connection is closed instead of kept.
_DRAIN_S = 0.25
_LIST_S = 5.0


@frozen
class Endpoint:
    """Where a model is and what is sent along.

    Attributes:
        base_url: without a slash at the end; `query` follows the path.
        key: looked up at each request, so that a key that is set later counts at once.
        headers: extra ones from the user's settings; they may be secret.
    """

    provider: str
    model: str
    vendor: Vendor
    base_url: str
    query: str
    key: Callable[[], Secret]
    key_env: str
    needs_key: bool
    headers: tuple[tuple[str, Secret], ...] = ()

    def url(self, path: str) -> str:
        """Return the address of `path`, which may begin with the version that a base URL already ends with."""
        if self.base_url.endswith("/v1"):
            path = path.removeprefix("/v1")
        return f"{self.base_url}{path}{'?' if self.query else ''}{self.query}"

    def where(self) -> errors.Where:
        """Return what an error may say."""
        return errors.Where(
            provider=self.provider,
            model=self.model,
            url=self.base_url,
            key_env=self.key_env,
            secrets=(self.key(), *(value for _, value in self.headers)),
        )


@frozen
class Policies:
    """What surrounds every request, the same for all models."""

    clock: Clock
    limits: StreamLimits = field(default_factory=StreamLimits)
    retry: RetryPolicy = field(default_factory=RetryPolicy)


class RemoteModel:
    """The `Model` of a provider."""

    def __init__(
        self, endpoint: Endpoint, wire: Wire, http: HttpPool, policies: Policies, *, context_window: int
    ) -> None:
        self.id = f"{endpoint.provider}/{endpoint.model}"
        self.context_window = context_window
        self._endpoint = endpoint
        self._wire = wire
        self._http = http
        self._policies = policies
        self._url = endpoint.url(wire.path)

    def head(
        self,
        *,
        system: str,
        tools: Sequence[ToolSchema],
        cache_key: str,
        effort: Effort | None = None,
        tools_off: bool = False,
        max_output: int | None = None,
    ) -> Head:
        options = HeadOptions(cache_key=cache_key, effort=effort, tools_off=tools_off, max_output=max_output)
        return self._wire.head(system=system, tools=tools, options=options)

    def encode(self, message: Message) -> bytes:
        return self._wire.encode(message)

    def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        clock = self._policies.clock

        def attempt() -> AsyncGenerator[Chunk, None]:
            return watched(lambda heard: self._adapted(request, heard), self._policies.limits, clock)

        return retried(attempt, self._policies.retry, clock)

    def estimate_tokens(self, size_bytes: int) -> int:
        """Code and JSON come to 3 to 4 bytes a token; rather too many than an overflow."""
        return -(-size_bytes * 2 // 7)

    async def _adapted(self, request: Request, heard: Callable[[], None]) -> AsyncGenerator[Chunk, None]:
        """Send again at once, without the field, when the server refuses a field that it can do without."""
        while True:
            try:
                async with aclosing(self._attempt(request, heard)) as chunks:
                    async for chunk in chunks:
                        yield chunk
                return
            except ModelError as error:
                if error.kind is not ModelErrorKind.BAD_REQUEST or not self._wire.give_up(str(error)):
                    raise
                _log.info("%s refuses a field of the request; it is left out from now on", self.id)

    async def _attempt(self, request: Request, heard: Callable[[], None]) -> AsyncGenerator[Chunk, None]:
        started = self._policies.clock.now()
        first: float | None = None
        reader = self._wire.reader()
        try:
            async with self._http.send("POST", self._url, self._headers(), self._wire.body(request)) as response:
                heard()
                if response.status != 200:
                    raise await self._refusal(response)
                async with aclosing(self._events(response, reader, heard)) as events:
                    async for event in events:
                        for chunk in reader.feed(event):
                            if first is None:
                                first = self._policies.clock.now()
                            yield chunk
        except UnreachableError as error:
            raise errors.unreachable(self._endpoint.where(), str(error), retryable=not error.refused_tls) from error
        except BrokenError as error:
            if not reader.ended:
                raise self._broken(str(error), reader) from error
        except EventTooLargeError as error:
            raise self._broken("an event without an end", reader) from error
        except WireError as error:
            raise self._with_text(errors.from_event(error.data, self._endpoint.where()), reader) from None
        try:
            ending = reader.finish()
        except ModelError as error:
            raise self._with_text(error, reader) from None
        yield Reply(
            message=ending.message,
            stop=ending.stop,
            usage=ending.usage,
            first_token_s=None if first is None else first - started,
            wall_s=self._policies.clock.now() - started,
        )

    async def _events(
        self, response: HttpResponse, reader: Reader, heard: Callable[[], None]
    ) -> AsyncGenerator[ServerEvent, None]:
        """Yield the events of a stream, or one event with the whole body where the server does not stream."""
        parser: SseParser | None = None
        opening = b""
        async with aclosing(response.chunks()) as chunks:
            async for data in chunks:
                heard()
                if parser is None:
                    opening += data
                    start = opening.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
                    if start in (b"{", b"[", b"<", b"") and len(opening) < _MAX_WHOLE_BODY:
                        continue
                    parser = SseParser()
                    complete = parser.feed(opening)
                else:
                    complete = parser.feed(data)
                for event in complete:
                    yield event
                if reader.ended:
                    await _drain(chunks)
                    return
        if parser is not None:
            for event in parser.close():
                yield event
        elif opening.lstrip()[:1] == b"<":
            raise errors.from_page(opening, self._endpoint.where())
        elif opening.strip():
            yield ServerEvent("", opening.decode("utf-8", "replace"))

    def _headers(self) -> Headers:
        endpoint = self._endpoint
        key = endpoint.key()
        if not key and endpoint.needs_key:
            raise errors.no_key(endpoint.where())
        headers: Headers = [
            (b"content-type", b"application/json"),
            (b"accept", b"text/event-stream"),
            (b"accept-encoding", b"identity"),
            (b"user-agent", b"ensign"),
        ]
        headers += [(name.encode(), value.encode()) for name, value in endpoint.vendor.headers]
        if key:
            name = endpoint.vendor.key_header
            value = f"Bearer {key.reveal()}" if name == "authorization" else key.reveal()
            headers.append((name.encode(), value.encode()))
        own = {name.lower() for name, _ in endpoint.headers}
        headers = [(name, value) for name, value in headers if name.decode() not in own]
        return headers + [(name.lower().encode(), value.reveal().encode()) for name, value in endpoint.headers]

    async def _refusal(self, response: HttpResponse) -> ModelError:
        body = await response.read(_MAX_ERROR_BODY)
        wall = self._policies.clock.wall()
        error = errors.from_response(response.status, response.headers, body, self._endpoint.where(), wall=wall)
        if error.kind is not ModelErrorKind.UNKNOWN_MODEL:
            return error
        if names := await self._known_models():
            error.args = (f"{error}; it knows {', '.join(names)}",)
        return error

    async def _known_models(self) -> list[str]:
        """Ask the server what it has; an empty list when it does not tell."""
        path = self._wire.path.replace("/chat/completions", "/models").replace("/messages", "/models")
        try:
            async with (
                asyncio.timeout(_LIST_S),
                self._http.send("GET", self._endpoint.url(path), self._headers()) as response,
            ):
                listed = json.loads(await response.read(_MAX_ERROR_BODY))["data"]
                return sorted(repr(str(model["id"])) for model in listed)[:20]
        except (UnreachableError, BrokenError, TimeoutError, ValueError, KeyError, TypeError):
            return []

    def _broken(self, cause: str, reader: Reader) -> ModelError:
        text = f"the connection to {self._endpoint.provider!r} broke: {cause}"
        return ModelError(text, kind=ModelErrorKind.DROPPED, retryable=True, partial_text=reader.text)

    def _with_text(self, error: ModelError, reader: Reader) -> ModelError:
        error.partial_text = reader.text
        return error


async def _drain(chunks: AsyncGenerator[bytes, None]) -> None:
    """Read what follows the last event, so that the connection can be used again."""
    try:
        async with asyncio.timeout(_DRAIN_S):
            async for _ in chunks:
                pass
    except (TimeoutError, BrokenError):
        return
