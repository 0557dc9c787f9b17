"""Fetches pages: over checked connections, within limits of size and time, kept for a quarter of an hour."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen
from ensign.web.addresses import Address, is_public
from ensign.web.urls import WebUrl

if TYPE_CHECKING:
    import httpcore

    from ensign.web.dialling import Resolve

MAX_BYTES = 5_000_000
MAX_SECONDS = 30.0
MAX_HOPS = 5
KEEP_SECONDS = 900.0
_KEEP_CHARS = 20_000_000
_CONNECT_S = 10.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS: Mapping[bytes | str, bytes | str] = {
    # Sites that have their pages as Markdown send it to those who would rather have that.
    "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1",
    "Accept-Encoding": "gzip, deflate",
}


@frozen
class Page:
    """What an address answered with, as text.

    Attributes:
        cut: the page was longer than `MAX_BYTES`, and `text` is its beginning.
        at: when it was fetched, on the fetcher's clock.
    """

    url: WebUrl
    title: str
    text: str
    cut: bool
    at: float


@frozen
class Moved:
    """The page is at another place, which was not followed."""

    url: WebUrl
    to: WebUrl
    at: float


async def resolve(host: str, port: int) -> list[str]:
    """Ask the system for the addresses of a name."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class Fetcher:
    """Fetches and remembers pages for all agents. It sends no cookies, no credentials and no referrer."""

    def __init__(
        self,
        *,
        agent: str,
        tls: Callable[[], ssl.SSLContext],
        resolve: Resolve = resolve,
        reachable: Callable[[Address], bool] = is_public,
        clock: Callable[[], float] = time.monotonic,
        seconds: float = MAX_SECONDS,
    ) -> None:
        """Take what it depends on.

        Args:
            agent: the User-Agent header.
            tls: makes the context for https; called once, in a thread, at the first https page.
            resolve: the addresses of a host name, as text.
            reachable: which addresses may be dialled.
            clock: monotonic seconds.
            seconds: how long one page may take, redirects included.
        """
        self._headers: dict[bytes | str, bytes | str] = {"User-Agent": agent, **_HEADERS}
        self._make_tls = tls
        self._tls: ssl.SSLContext | None = None
        self._resolve = resolve
        self._reachable = reachable
        self._clock = clock
        self._seconds = seconds
        self._kept: dict[str, Page | Moved] = {}

    async def fetch(self, url: WebUrl, follow: Callable[[WebUrl], bool]) -> Page | Moved:
        """Return a page, or where it has moved when that is another place and `follow` does not agree to it.

        Raises:
            ToolError: it is not to be had, with the reason.
        """
        seen: list[str] = []
        try:
            async with asyncio.timeout(self._seconds):
                while True:
                    found = await self._one(url)
                    if isinstance(found, Page) or not (url.same_place(found.to) or follow(found.to)):
                        return found
                    seen.append(str(url))
                    if str(found.to) in seen or len(seen) > MAX_HOPS:
                        raise ToolError(f"{seen[0]!r} redirects in circles or more than {MAX_HOPS} times")
                    url = found.to
        except TimeoutError as error:
            raise ToolError(f"{str(url)!r} took longer than {self._seconds:g} s") from error

    async def _one(self, url: WebUrl) -> Page | Moved:
        key = str(url)
        self._forget_old()
        if (kept := self._kept.get(key)) is not None:
            return kept
        found = await self._get(url)
        self._kept.pop(key, None)
        self._kept[key] = found
        return found

    def _forget_old(self) -> None:
        """Drop what is out of date, and the oldest of what is too much."""
        now, room = self._clock(), _KEEP_CHARS
        for key, found in reversed(list(self._kept.items())):
            room -= len(found.text) if isinstance(found, Page) else 0
            if now - found.at >= KEEP_SECONDS or room < 0:
                del self._kept[key]

    async def _get(self, url: WebUrl) -> Page | Moved:
        import httpcore

        from ensign.web.dialling import CheckedDialler

        if url.scheme == "https" and self._tls is None:
            self._tls = await asyncio.to_thread(self._make_tls)
        dialler = CheckedDialler(self._resolve, self._reachable)
        try:
            async with (
                httpcore.AsyncConnectionPool(ssl_context=self._tls, network_backend=dialler) as pool,
                pool.stream(
                    "GET",
                    httpcore.URL(scheme=url.scheme, host=url.host.strip("[]"), port=url.port, target=url.target),
                    headers=self._headers | {"Host": url.authority},
                    extensions={"timeout": {"connect": _CONNECT_S}},
                ) as response,
            ):
                return await self._read(url, response)
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, ssl.SSLError) as error:
            raise ToolError(f"{str(url)!r} cannot be fetched: {str(error).rstrip('.') or 'it hung up'}") from error

    async def _read(self, url: WebUrl, response: httpcore.Response) -> Page | Moved:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        if response.status in _REDIRECTS:
            location = headers.get("location", "")
            if not location:
                raise ToolError(f"{str(url)!r} redirects without saying where")
            # Servers write UTF-8 here, whatever the standard says.
            to = url.joined(location.encode("latin-1").decode("utf-8", "replace"))
            return Moved(url=url, to=to, at=self._clock())
        if not 200 <= response.status < 300:
            raise ToolError(f"{str(url)!r} answered {_named(response.status)}")
        body = bytearray()
        async for piece in decoded(response.aiter_stream(), headers):
            body += piece
            if len(body) > MAX_BYTES:
                break
        from ensign.web.extract import markdown_of
        from ensign.web.page import read_body

        cut = len(body) > MAX_BYTES
        read = await asyncio.to_thread(read_body, bytes(body[:MAX_BYTES]), headers.get("content-type", ""), str(url))
        title, text = await markdown_of(read.text, str(url)) if read.html else ("", read.text)
        return Page(url=url, title=title, text=text, cut=cut, at=self._clock())


async def decoded(pieces: AsyncIterator[bytes], headers: Mapping[str, str]) -> AsyncIterator[bytes]:
    """Undo the compression of a body, never by more than a little over `MAX_BYTES` at once."""
    coding = headers.get("content-encoding", "").strip().lower()
    if coding in {"", "identity"}:
        async for piece in pieces:
            yield piece
        return
    if coding not in {"gzip", "x-gzip", "deflate"}:
        raise ToolError(f"the page is compressed as {coding[:40]!r}, which was not asked for")
    decoder = zlib.decompressobj(47)
    try:
        async for piece in pieces:
            yield decoder.decompress(piece, MAX_BYTES + 1)
    except zlib.error as error:
        raise ToolError(f"the page's compression is broken: {error}") from error


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
