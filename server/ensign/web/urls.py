"""Addresses of pages, read once and in one spelling: what is judged, shown and fetched is the same text."""

from __future__ import annotations

import re
import socket
from ipaddress import IPv6Address
from urllib.parse import quote, urljoin, urlsplit

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen

MAX_CHARS = 4000
_PORTS = {"http": 80, "https": 443}
_NOT_PLAIN = re.compile(r"[\s\\\x00-\x20\x7f-\x9f]")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_KEPT = "%/:=&?~+!$,;'@()*[]|"


@frozen
class WebUrl:
    """An http or https address.

    Attributes:
        host: lower case and ASCII (IDNA), an IPv4 address with four decimal numbers, or an IPv6 address in brackets.
        target: path and query, percent-encoded.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host, and the port where it is not the scheme's own."""
        return self.host if self.port == _PORTS[self.scheme] else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    def joined(self, location: str) -> WebUrl:
        """The address that a redirect or a link names.

        Raises:
            ToolError: it is none that is fetched.
        """
        try:
            return parse(urljoin(str(self), quote(location.strip(), safe=_KEPT + "#")))
        except ValueError as error:
            raise ToolError(f"{location[:200]!r} is no address") from error

    def same_place(self, other: WebUrl) -> bool:
        """Whether the same server, as the person allowed it, serves both; http may have become https."""
        if self.host != other.host:
            return False
        upgraded = (self.scheme, self.port, other.scheme, other.port) == ("http", 80, "https", 443)
        return upgraded or (self.scheme, self.port) == (other.scheme, other.port)


def parse(text: str) -> WebUrl:
    """Read an address as a model or a server wrote it.

    Raises:
        ToolError: it is no plain http or https address, with what would be.
    """
    shown = repr(text[:200])
    if len(text) > MAX_CHARS:
        raise ToolError(f"the address {shown}... is longer than {MAX_CHARS:,} characters")
    if _NOT_PLAIN.search(text):
        raise ToolError(f"{shown} is no plain address: it has spaces, backslashes or control characters")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ToolError(f"{shown} is no address: {error}") from error
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise ToolError(f"{shown} is not fetched: addresses start with https:// or http://")
    if "@" in parts.netloc:
        raise ToolError(f"{shown} is not fetched: no user names and passwords in addresses")
    if port == 0:
        raise ToolError(f"{shown} is no address: there is no port 0")
    path = quote(parts.path or "/", safe=_KEPT)
    query = f"?{quote(parts.query, safe=_KEPT)}" if parts.query else ""
    return WebUrl(
        scheme=scheme,
        host=(_literal if parts.netloc.startswith("[") else _host)(parts.hostname or "", shown),
        port=_PORTS[scheme] if port is None else port,
        target=path + query,
    )


def _literal(host: str, shown: str) -> str:
    try:
        address = IPv6Address(host)
    except ValueError as error:
        raise ToolError(f"{shown} is no address: {error}") from error
    if address.scope_id is not None:
        raise ToolError(f"{shown} is no address of the web: it names a network interface")
    return f"[{address.compressed}]"


def _host(host: str, shown: str) -> str:
    name = (host if host.isascii() else _ascii(host, shown)).removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ToolError(f"{shown} is no address: {host!r} is no host name")
    if _NUMBER.fullmatch(labels[-1]):
        # An IPv4 address in any of its spellings (2130706433, 0x7f.1, 0177.1), as every browser reads it.
        try:
            return socket.inet_ntoa(socket.inet_aton(name))
        except OSError as error:
            raise ToolError(f"{shown} is no address: {host!r} is no host name") from error
    return name


def _ascii(host: str, shown: str) -> str:
    import idna

    try:
        return idna.encode(host, uts46=True).decode("ascii").lower()
    except idna.IDNAError as error:
        raise ToolError(f"{shown} is no address: {error}") from error
