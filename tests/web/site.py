"""A web server with pages of its own, and a fetcher for which names resolve as a test says."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ensign.testing.http_server import Connection, HttpServer, RecordedRequest
from ensign.web.addresses import Address, is_public
from ensign.web.fetcher import Fetcher

AGENT = "Ensign/test"
HTML = {"content-type": "text/html; charset=utf-8"}


@dataclass(kw_only=True)
class Answer:
    """What a path answers with."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: HTML)


@dataclass(kw_only=True)
class Site:
    """Pages by path, and every request that came for one."""

    pages: dict[str, Answer] = field(default_factory=dict[str, Answer])
    requests: list[RecordedRequest] = field(default_factory=list[RecordedRequest])

    async def answer(self, request: RecordedRequest, connection: Connection) -> None:
        self.requests.append(request)
        page = self.pages.get(request.path, Answer(status=404))
        connection.start(page.status, {**page.headers, "content-length": str(len(page.body))})
        connection.write(page.body)

    def server(self) -> HttpServer:
        return HttpServer(self.answer)

    def redirect(self, path: str, to: str, status: int = 302) -> None:
        self.pages[path] = Answer(status=status, headers={"location": to})


class Names:
    """A name server: each name has the addresses it is given, in turn when there are several answers.

    An address in numbers is its own answer, as of any resolver.
    """

    def __init__(self, **names: Sequence[str]) -> None:
        self.names: dict[str, list[Sequence[str]]] = {name.replace("_", "."): [found] for name, found in names.items()}
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host.replace(".", "").isdecimal():
            return (host,)
        answers = self.names.get(host)
        if answers is None:
            raise OSError(-2, "Name or service not known")
        return answers.pop(0) if len(answers) > 1 else answers[0]


def or_loopback(address: Address) -> bool:
    """What tests may reach: their own servers listen on 127.0.0.1, and on no other loopback address."""
    return is_public(address) or str(address) == "127.0.0.1"


def fetcher(
    names: Names,
    *,
    reachable: Callable[[Address], bool] = or_loopback,
    clock: Callable[[], float] = lambda: 0.0,
    seconds: float = 10,
    tls: Callable[[], ssl.SSLContext] = ssl.create_default_context,
) -> Fetcher:
    return Fetcher(agent=AGENT, tls=tls, resolve=names.resolve, reachable=reachable, clock=clock, seconds=seconds)
