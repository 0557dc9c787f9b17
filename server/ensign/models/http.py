"""HTTP to providers: one connection pool for each request in flight, kept warm for the next.

httpcore is httpx's own engine. One pool shared by many streams collapses under fan-out (it goes over all of them at
every change), so each request takes an idle pool of one connection, newest first, or makes one. Its asyncio backend is
ours: the stock one costs as much again for each new connection. Redirects are never followed, so keys stay put.
"""

from __future__ import annotations

import asyncio
import ipaddress
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from ensign.models.proxies import proxy_for
from ensign.protocol.value import frozen

if TYPE_CHECKING:
    import ssl

    import httpcore

# As many as agents may end a step in one moment; what nobody takes again is closed soon.
_MAX_IDLE = 256
_KEEP_ALIVE_S = 55.0
_CONNECT_S = 30.0

Headers = list[tuple[bytes, bytes]]


class UnreachableError(Exception):
    """No connection came about; `str` says why. `refused_tls` when the certificate was not accepted."""

    def __init__(self, cause: str, *, refused_tls: bool = False) -> None:
        super().__init__(cause)
        self.refused_tls = refused_tls


class BrokenError(Exception):
    """The connection broke, or the peer does not speak HTTP."""


@frozen(kw_only=False)
class HttpResponse:
    """An answer whose body has yet to be read; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    _stream: AsyncIterator[bytes]

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives, decompressed where a proxy compressed it unasked."""
        encoded = self.headers.get("content-encoding", "") in ("gzip", "deflate")
        decoder = zlib.decompressobj(47) if encoded else None
        async for data in self._stream:
            yield decoder.decompress(data) if decoder else data

    async def read(self, limit: int) -> bytes:
        """Return the first `limit` bytes of the body or a little more."""
        data = b""
        async for piece in self.chunks():
            data += piece
            if len(data) >= limit:
                break
        return data


class HttpPool:
    """Sends requests. `environment` is the user's; proxies are read from it and from nowhere else."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._idle: dict[str, list[tuple[float, httpcore.AsyncConnectionPool]]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._trimming: asyncio.Task[None] | None = None
        self._tls: asyncio.Future[ssl.SSLContext] | None = None
        self._closed = False

    @asynccontextmanager
    async def send(
        self, method: str, url: str, headers: Headers, body: bytes = b""
    ) -> AsyncGenerator[HttpResponse, None]:
        """Send a request and yield the response when its headers are there.

        Raises:
            UnreachableError: before anything was sent.
            BrokenError: while sending or waiting for the headers, and from the body.
        """
        import httpcore

        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        pool = await self._take(origin, parts)
        request = httpcore.Request(
            method,
            url,
            headers=[(b"host", _host(parts)), (b"content-length", b"%d" % len(body)), *headers],
            content=body,
            extensions={"timeout": {"connect": _CONNECT_S}},
        )
        whole = False
        try:
            response = await _answer(pool, request)
            try:
                names = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
                stream = response.aiter_stream()
                yield HttpResponse(response.status, names, _guarded(stream))
            finally:
                await response.aclose()
            # Not before: a close that was cancelled leaves a request in the pool that the next would wait behind.
            whole = True
        finally:
            await self._give_back(origin, pool, keep=whole)

    async def aclose(self) -> None:
        """Close the idle connections; those in use close when their request ends."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._trimming is not None:
            await self._trimming
        await _close(self._older(asyncio.get_running_loop().time()))

    async def _take(self, origin: str, parts: SplitResult) -> httpcore.AsyncConnectionPool:
        idle = self._idle.get(origin)
        if idle:
            return idle.pop()[1]
        import httpcore

        from ensign.models.network import AsyncioBackend

        tls = await self._tls_context() if parts.scheme == "https" else None
        proxy = proxy_for(parts.scheme, parts.hostname or "", parts.port, self._environment)
        if proxy is None:
            return httpcore.AsyncConnectionPool(
                ssl_context=tls,
                max_connections=1,
                keepalive_expiry=_KEEP_ALIVE_S,
                network_backend=AsyncioBackend(),
            )
        return httpcore.AsyncHTTPProxy(
            proxy_url=proxy.url,
            proxy_auth=proxy.auth,
            ssl_context=tls,
            max_connections=1,
            keepalive_expiry=_KEEP_ALIVE_S,
            network_backend=AsyncioBackend(),
        )

    async def _give_back(self, origin: str, pool: httpcore.AsyncConnectionPool, *, keep: bool) -> None:
        idle = self._idle.setdefault(origin, [])
        if not keep or self._closed or len(idle) >= _MAX_IDLE:
            await pool.aclose()
            return
        loop = asyncio.get_running_loop()
        idle.append((loop.time(), pool))
        if self._timer is None:
            self._timer = loop.call_later(_KEEP_ALIVE_S, self._trim)

    def _trim(self) -> None:
        """Close what has been idle for long, and look again later while anything is left."""
        loop = asyncio.get_running_loop()
        self._trimming = loop.create_task(_close(self._older(loop.time() - _KEEP_ALIVE_S)))
        left = any(self._idle.values())
        self._timer = loop.call_later(_KEEP_ALIVE_S, self._trim) if left else None

    def _older(self, than: float) -> list[httpcore.AsyncConnectionPool]:
        """Take out what has been idle since then or longer."""
        old = [pool for idle in self._idle.values() for since, pool in idle if since <= than]
        self._idle = {origin: [entry for entry in idle if entry[0] > than] for origin, idle in self._idle.items()}
        return old

    async def _tls_context(self) -> ssl.SSLContext:
        """Return the one context, made in a thread at the first `https` request (it reads every root certificate)."""
        if self._tls is None:
            self._tls = asyncio.ensure_future(asyncio.to_thread(make_tls))
        return await asyncio.shield(self._tls)


async def _close(pools: Sequence[httpcore.AsyncConnectionPool]) -> None:
    for pool in pools:
        await pool.aclose()


def make_tls() -> ssl.SSLContext:
    """Make a context that trusts what the system and certifi trust. Blocks: it reads every root certificate."""
    import ssl

    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


async def _answer(pool: httpcore.AsyncConnectionPool, request: httpcore.Request) -> httpcore.Response:
    import httpcore

    try:
        return await pool.handle_async_request(request)
    except httpcore.ProxyError as error:
        raise UnreachableError(f"the proxy refused ({_words(error)})") from error
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
        raise BrokenError(_words(error)) from error


async def _guarded(stream: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    import httpcore

    try:
        async for data in stream:
            yield data
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
        raise BrokenError(_words(error)) from error


def _words(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__


def _host(parts: SplitResult) -> bytes:
    return parts.netloc.rpartition("@")[2].encode("ascii", "replace")


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
