"""Which proxy a request goes through, by the variables that every tool reads."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from ensign.protocol.value import frozen


@frozen
class Proxy:
    """Where to connect instead; `auth` is user and password, which the repr must not show."""

    url: str
    auth: tuple[bytes, bytes] | None = None

    def __repr__(self) -> str:
        return f"Proxy({self.url!r})"


def proxy_for(scheme: str, host: str, port: int | None, environment: Mapping[str, str]) -> Proxy | None:
    """Return the HTTP proxy that `environment` names for this target, or None. Lower-case names win."""
    if _excluded(host, port, _read("no_proxy", environment)):
        return None
    value = _read(f"{scheme}_proxy", environment) or _read("all_proxy", environment)
    if not value:
        return None
    parts = urlsplit(value if "://" in value else f"http://{value}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    auth = None
    if parts.username is not None:
        auth = (unquote(parts.username).encode(), unquote(parts.password or "").encode())
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return Proxy(url=address if parts.port else f"{address}:{443 if parts.scheme == 'https' else 80}", auth=auth)


def _read(name: str, environment: Mapping[str, str]) -> str:
    return (environment.get(name) or environment.get(name.upper()) or "").strip()


def _excluded(host: str, port: int | None, listed: str) -> bool:
    for entry in (part.strip().lower() for part in listed.split(",")):
        name = entry.lstrip("*").lstrip(".")
        if entry == "*" or (name and (host == name or host.endswith(f".{name}") or f"{host}:{port}" == name)):
            return True
    return False
