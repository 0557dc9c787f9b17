"""Connections to checked addresses: what a name resolves to is checked, and the checked address is dialled.

Between the check and the connection there is no second look-up, so a name cannot change its meaning meanwhile (DNS
rebinding). Host header and certificate still go by the name. Imported only when a page is fetched.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import ip_address
from typing import Any, cast

import httpcore

from ensign.protocol.errors import ToolError
from ensign.web.addresses import Address

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


class CheckedDialler(httpcore.AsyncNetworkBackend):
    """Resolves, checks, dials."""

    def __init__(self, resolve: Resolve, reachable: Callable[[Address], bool]) -> None:
        self._resolve = resolve
        self._reachable = reachable
        self._sockets = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        failed: Exception | None = None
        for address in await self._addresses(host, port):
            try:
                return await self._sockets.connect_tcp(str(address), port, timeout=timeout)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise ToolError(f"{host!r} cannot be reached: {_words(failed)}") from failed

    async def _addresses(self, host: str, port: int) -> list[Address]:
        try:
            found = [ip_address(text) for text in dict.fromkeys(await self._resolve(host, port))]
        except (OSError, UnicodeError) as error:
            raise ToolError(f"there is no host {host!r}: {getattr(error, 'strerror', None) or error}") from error
        # All of them, not only the one we would take: a name with one address inside is aimed at the inside.
        inside = [address for address in found if not self._reachable(address)]
        if inside:
            raise ToolError(
                f"{host!r} is {str(inside[0])!r}, which is not on the public internet; WebFetch does not reach this "
                "machine, its network or its cloud's services"
            )
        if not found:
            raise ToolError(f"there is no host {host!r}")
        return found


def _words(error: Exception | None) -> str:
    if isinstance(error, httpcore.ConnectTimeout):
        return "no answer in time"
    return str(error).rstrip(".") or "no connection"
