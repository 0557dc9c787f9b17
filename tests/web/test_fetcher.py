"""Pages come over real HTTP from checked addresses, within limits, and are kept for a while."""

import asyncio
import gzip
import ssl
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ensign.protocol.errors import ToolError
from ensign.testing.http_server import Connection, HttpServer, RecordedRequest
from ensign.web import fetcher as module
from ensign.web.fetcher import Fetcher, Moved, Page, resolve
from ensign.web.urls import parse
from tests.web.site import AGENT, Answer, Names, Site, fetcher

TEXT = {"content-type": "text/plain; charset=utf-8"}
HERE = ("127.0.0.1",)


async def text_of(found: Fetcher, url: str) -> str:
    page = await found.fetch(parse(url), lambda _: False)
    assert isinstance(page, Page)
    return page.text


@asynccontextmanager
async def site() -> AsyncIterator[tuple[Site, str, Names]]:
    """A site under the name `a.example`."""
    pages = Site()
    async with pages.server() as server:
        yield pages, f"http://a.example:{server.port}", Names(a_example=HERE, b_example=HERE)


async def test_a_page_is_asked_for_by_name_without_anything_that_tells_who_asks() -> None:
    async with site() as (pages, base, names):
        pages.pages["/x?y=1"] = Answer(body=b"hello", headers={**TEXT, "set-cookie": "a=b"})
        found = fetcher(names)
        assert await text_of(found, f"{base}/x?y=1#z") == "hello"
        pages.pages["/2"] = Answer(body=b"two", headers=TEXT)
        assert await text_of(found, f"{base}/2") == "two"
    assert [request.headers for request in pages.requests] == [
        {
            "host": base.removeprefix("http://"),
            "user-agent": AGENT,
            "accept": "text/markdown, text/html;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1",
            "accept-encoding": "gzip, deflate",
        }
    ] * 2


@pytest.mark.parametrize(
    "host",
    [
        *("169.254.169.254", "127.0.0.1", "[::1]", "2130706433", "0x7f.1", "0177.0.0.1", "127.0.0.1.nip.io"),
        *("metadata.google.internal", "100.64.0.1", "localhost", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]"),
        *("both.example", "mapped.example", "zone.example", "127.1", "0", "10.0.0.1.", "[fd00:ec2::254]"),
    ],
)
async def test_nothing_inside_is_reached_under_any_name(host: str) -> None:
    """ATK-199 to 207: a server listens, and no request comes."""
    answers = {
        "127.0.0.1.nip.io": HERE,
        "metadata.google.internal": ("169.254.169.254",),
        "both.example": ("93.184.216.34", "127.0.0.1"),
        "mapped.example": ("::ffff:127.0.0.1",),
        "zone.example": ("fe80::1%1",),
    }

    async def look_up(name: str, port: int) -> list[str]:
        return list(answers[name]) if name in answers else await resolve(name, port)

    pages = Site()
    async with pages.server() as server:
        found = Fetcher(agent=AGENT, tls=ssl.create_default_context, resolve=look_up)
        with pytest.raises(ToolError, match="not on the public internet"):
            await text_of(found, f"http://{host}:{server.port}/latest/meta-data/")
    assert pages.requests == []


async def test_a_name_that_changes_its_meaning_between_check_and_connection_has_no_second_look_up() -> None:
    """ATK-211: whatever it would say then, the address that was checked is dialled."""
    async with site() as (pages, base, names):
        pages.pages["/"] = Answer(body=b"checked", headers=TEXT)
        names.names["a.example"] = [HERE, ("169.254.169.254",)]
        assert await text_of(fetcher(names), f"{base}/") == "checked"
        assert names.asked == ["a.example"]


async def test_a_name_that_is_public_once_and_private_later_is_checked_each_time() -> None:
    async with site() as (pages, base, names):
        names.names["a.example"] = [HERE, ("10.0.0.1",)]
        pages.pages["/"] = Answer(body=b"one", headers=TEXT)
        found = fetcher(names)
        assert await text_of(found, f"{base}/") == "one"
        with pytest.raises(ToolError, match=r"'10\.0\.0\.1', which is not on the public internet"):
            await text_of(found, f"{base}/other")


async def test_a_redirect_within_the_host_is_followed_and_checked_again() -> None:
    async with site() as (pages, base, names):
        pages.redirect("/old", "/new?a=<b>", 301)
        pages.pages["/new?a=%3Cb%3E"] = Answer(body=b"new", headers=TEXT)
        assert await text_of(fetcher(names), f"{base}/old") == "new"
        names.names["a.example"] = [HERE, ("127.0.0.2",)]
        with pytest.raises(ToolError, match=r"127\.0\.0\.2"):
            await text_of(fetcher(names), f"{base}/old")


async def test_a_redirect_to_another_host_is_told_and_followed_only_by_leave() -> None:
    async with site() as (pages, base, names):
        other = base.replace("a.example", "b.example")
        pages.redirect("/away", f"{other}/there")
        pages.pages["/there"] = Answer(body=b"there", headers=TEXT)
        found = fetcher(names)
        start, there = parse(f"{base}/away"), parse(f"{other}/there")
        assert await found.fetch(start, lambda _: False) == Moved(url=start, to=there, at=0)
        assert [request.path for request in pages.requests] == ["/away"]
        assert names.asked == ["a.example"], "the other host is not even looked up"
        page = await found.fetch(start, lambda url: url == there)
        assert page == Page(url=there, title="", text="there", cut=False, at=0)
        assert await found.fetch(start, lambda _: False) == Moved(url=start, to=there, at=0), "leave is not kept"


async def test_a_redirect_to_the_inside_is_refused_even_where_a_rule_allows_its_host() -> None:
    async with site() as (pages, base, names):
        pages.redirect("/", "http://169.254.169.254/latest/")
        with pytest.raises(ToolError, match=r"'169\.254\.169\.254', which is not on the public internet"):
            await fetcher(names).fetch(parse(base), lambda _: True)


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("file:///etc/passwd", "start with https"),
        ("http://user@a.example/", "no user names"),
        ("//[::1", "is no address"),
        ("", "without saying where"),
    ],
)
async def test_a_redirect_leads_to_nothing_that_is_no_address_of_a_page(location: str, reason: str) -> None:
    async with site() as (pages, base, names):
        pages.redirect("/", location)
        with pytest.raises(ToolError, match=reason):
            await fetcher(names).fetch(parse(base), lambda _: True)


async def test_redirects_come_to_an_end() -> None:
    async with site() as (pages, base, names):
        pages.redirect("/a", "/b")
        pages.redirect("/b", "/a")
        for number in range(9):
            pages.redirect(f"/{number}", f"/{number + 1}")
        for path in ("/a", "/0"):
            with pytest.raises(ToolError, match="in circles or more than 5 times"):
                await text_of(fetcher(names), base + path)
    assert len(pages.requests) == 2 + module.MAX_HOPS + 1


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_a_compressed_page_is_unpacked_but_no_bomb(coding: str, pack: type[bytes]) -> None:
    async with site() as (pages, base, names):
        headers = {**TEXT, "content-encoding": coding}
        pages.pages["/"] = Answer(body=pack(b"packed"), headers=headers)
        pages.pages["/bomb"] = Answer(body=pack(b"0" * (module.MAX_BYTES + 1_000_000)), headers=headers)
        pages.pages["/broken"] = Answer(body=b"nothing of the kind", headers=headers)
        pages.pages["/other"] = Answer(body=b"x", headers={**TEXT, "content-encoding": "br"})
        found = fetcher(names)
        assert await text_of(found, f"{base}/") == "packed"
        bomb = await found.fetch(parse(f"{base}/bomb"), lambda _: False)
        assert bomb == Page(url=parse(f"{base}/bomb"), title="", text="0" * module.MAX_BYTES, cut=True, at=0)
        with pytest.raises(ToolError, match="compression is broken"):
            await text_of(found, f"{base}/broken")
        with pytest.raises(ToolError, match="compressed as 'br'"):
            await text_of(found, f"{base}/other")


async def test_a_page_without_end_is_read_to_the_limit() -> None:
    hung_up = asyncio.Event()

    async def endless(request: RecordedRequest, connection: Connection) -> None:
        connection.start(200, {**TEXT, "transfer-encoding": "chunked"})
        try:
            while not request.left.is_set():
                await connection.send(b"x" * 65536)
        finally:
            hung_up.set()

    async with HttpServer(endless) as server:
        url = parse(f"http://a.example:{server.port}/")
        page = await fetcher(Names(a_example=HERE)).fetch(url, lambda _: False)
        await hung_up.wait()
    assert page == Page(url=url, title="", text="x" * module.MAX_BYTES, cut=True, at=0)


async def test_a_page_that_does_not_come_ends_at_the_limit_of_time() -> None:
    async def hang(request: RecordedRequest, connection: Connection) -> None:
        connection.start(200, {**TEXT, "content-length": "9"})
        await request.left.wait()

    async with HttpServer(hang) as server:
        with pytest.raises(ToolError, match=r"took longer than 0\.05 s"):
            await text_of(fetcher(Names(a_example=HERE), seconds=0.05), f"http://a.example:{server.port}/")


async def test_a_page_is_kept_for_a_quarter_of_an_hour_and_an_error_is_not() -> None:
    now = 0.0
    async with site() as (pages, base, names):
        found = fetcher(names, clock=lambda: now)
        with pytest.raises(ToolError, match="answered 404 Not Found"):
            await text_of(found, f"{base}/")
        pages.pages["/"] = Answer(body=b"first", headers=TEXT)
        assert await text_of(found, f"{base}/") == "first"
        pages.pages["/"] = Answer(body=b"second", headers=TEXT)
        now = module.KEEP_SECONDS - 1
        assert await text_of(found, f"{base}/#part") == "first"
        now = module.KEEP_SECONDS
        assert await text_of(found, f"{base}/") == "second"


@pytest.mark.slow
async def test_what_is_kept_does_not_grow_without_end() -> None:
    async with site() as (pages, base, names):
        for number in range(6):
            pages.pages[f"/{number}"] = Answer(body=b"x" * (module.MAX_BYTES - 1), headers=TEXT)
        found = fetcher(names)
        for number in (*range(6), 5, 0):
            await text_of(found, f"{base}/{number}")
    assert [request.path for request in pages.requests] == [*(f"/{number}" for number in range(6)), "/0"]


async def test_what_cannot_be_reached_says_why() -> None:
    async with HttpServer(Site().answer) as server:
        port = server.port
    found = fetcher(Names(a_example=HERE))
    with pytest.raises(ToolError, match=r"'a\.example' cannot be reached"):
        await text_of(found, f"http://a.example:{port}/")
    with pytest.raises(ToolError, match=r"there is no host 'nowhere\.example'"):
        await text_of(found, "http://nowhere.example/")
    with pytest.raises(ToolError, match=r"there is no host 'a\.example'"):
        await text_of(fetcher(Names(a_example=())), "http://a.example/")


async def test_a_server_that_speaks_something_else_is_an_error_and_no_crash() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ToolError, match="cannot be fetched"):
            await text_of(fetcher(Names(a_example=HERE)), f"http://a.example:{port}/")


async def test_https_goes_by_the_name_and_not_by_the_address(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=a.example"
    arguments = [*command.split(), "-addext", "subjectAltName=DNS:a.example", "-keyout", str(key), "-out", str(cert)]
    process = await asyncio.create_subprocess_exec(*arguments, stderr=asyncio.subprocess.DEVNULL)
    assert await process.wait() == 0
    told: list[str] = []
    server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_side.load_cert_chain(cert, key)
    server_side.sni_callback = lambda _socket, name, _context: told.append(name)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 6\r\n\r\nsecret")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=server_side)
    async with server:
        port = server.sockets[0].getsockname()[1]
        names = Names(a_example=HERE, b_example=HERE)
        trusting = fetcher(names, tls=lambda: ssl.create_default_context(cafile=str(cert)))
        assert await text_of(trusting, f"https://a.example:{port}/") == "secret"
        for url, found in ((f"https://b.example:{port}/", trusting), (f"https://a.example:{port}/", fetcher(names))):
            with pytest.raises(ToolError, match=r"cannot be (fetched|reached).*certificate"):
                await text_of(found, url)
    assert set(told) == {"a.example", "b.example"}
