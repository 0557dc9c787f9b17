"""Connections: one for each request in flight, used again, and through the user's proxy."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import subprocess
from pathlib import Path

import pytest

from ensign.models.http import HttpPool, UnreachableError, is_loopback
from ensign.models.proxies import Proxy, proxy_for
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply
from tests.models.bench import remote, reply_of


async def test_a_connection_is_used_again() -> None:
    async with ModelServer(*[Reply(text="a")] * 3) as server, remote(server.base_url) as model:
        for _ in range(3):
            await reply_of(model)
        assert [request.connection for request in server.requests] == [0, 0, 0]


async def test_requests_at_once_have_a_connection_each_and_share_them_later() -> None:
    replies = [Reply(text="a", gate=gate) for gate in ("first", "second") for _ in range(8)]
    async with ModelServer(*replies) as server, remote(server.base_url) as model:
        for batch, gate in enumerate(("first", "second")):
            tasks = [asyncio.create_task(reply_of(model)) for _ in range(8)]
            await server.request(8 * batch + 7)
            server.release(gate)
            await asyncio.gather(*tasks)
        assert [{request.connection for request in server.requests[at : at + 8]} for at in (0, 8)] == [
            set(range(8))
        ] * 2


async def test_a_request_that_is_cancelled_at_any_moment_leaves_nothing_that_holds_up_the_next() -> None:
    served: list[asyncio.Task[object]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        served.append(task)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")
                await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def ask() -> bytes:
        async with pool.send("GET", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", []) as response:
            return b"".join([piece async for piece in response.chunks()])

    pool = HttpPool({})
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        moments, cancelled = 0, True
        while cancelled:
            task = asyncio.create_task(ask())
            for _ in range(moments):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})
            cancelled = task.cancelled()
            moments += 1
            async with asyncio.timeout(5):
                assert await ask() == b"hi"
        await pool.aclose()
        # Every connection was let go of, or this would wait for ever.
        await asyncio.wait_for(asyncio.gather(*served), 5)
    assert moments > 5


async def test_a_connection_that_the_server_closed_meanwhile_is_replaced() -> None:
    hung_up = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")
        writer.close()
        await writer.wait_closed()
        hung_up.set()

    pool = HttpPool({})
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        for _ in range(2):
            async with pool.send("GET", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", []) as response:
                assert await response.read(10) == b"hi"
            await hung_up.wait()
            # The end of the stream reaches us with the next look at the sockets.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
    await pool.aclose()


async def test_requests_go_through_the_proxy_of_the_environment() -> None:
    async with ModelServer(Reply(text="a")) as proxy:
        environment = {"HTTP_PROXY": f"http://user:pa%40ss@127.0.0.1:{proxy.url.rpartition(':')[2]}"}
        async with remote("http://models.invalid/v1", environment=environment) as model:
            assert (await reply_of(model)).message.text == "a"
        request = proxy.requests[0]
    assert request.path == "http://models.invalid/v1/chat/completions"
    assert request.headers["proxy-authorization"] == "Basic dXNlcjpwYUBzcw=="


async def test_a_proxy_that_refuses_is_told() -> None:
    async with ModelServer() as proxy:
        environment = {"HTTPS_PROXY": proxy.url}
        async with remote("https://models.invalid/v1", environment=environment) as model:
            with pytest.raises(ModelError, match="the proxy refused") as caught:
                await reply_of(model)
    assert caught.value.kind is ModelErrorKind.CONNECTION


@pytest.mark.parametrize(
    ("environment", "target", "proxy"),
    [
        ({}, "https://a.test", None),
        ({"HTTPS_PROXY": "http://p:3"}, "https://a.test", "http://p:3"),
        ({"https_proxy": "p"}, "https://a.test", "http://p:80"),
        ({"HTTPS_PROXY": "http://p:3", "https_proxy": "http://q:4"}, "https://a.test", "http://q:4"),
        ({"HTTP_PROXY": "http://p:3"}, "https://a.test", None),
        ({"ALL_PROXY": "http://p:3"}, "https://a.test", "http://p:3"),
        ({"ALL_PROXY": "socks5://p:3"}, "https://a.test", None),
        ({"ALL_PROXY": "http://p:3", "NO_PROXY": "a.test"}, "https://a.test", None),
        ({"ALL_PROXY": "http://p:3", "NO_PROXY": ".test"}, "https://a.test", None),
        ({"ALL_PROXY": "http://p:3", "NO_PROXY": "x, *"}, "https://a.test", None),
        ({"ALL_PROXY": "http://p:3", "NO_PROXY": "est,b.test"}, "https://a.test", "http://p:3"),
    ],
)
def test_the_proxy_is_chosen_as_other_tools_choose_it(
    environment: dict[str, str], target: str, proxy: str | None
) -> None:
    scheme, _, host = target.partition("://")
    found = proxy_for(scheme, host, None, environment)
    assert (found.url if found else None) == proxy


def test_a_proxy_does_not_show_its_password() -> None:
    assert "secret" not in repr(Proxy(url="http://p:3", auth=(b"user", b"secret")))


@pytest.mark.parametrize(
    ("host", "loopback"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("10.0.0.1", False), ("a.b", False)]
)
def test_this_machine_is_known(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(cert)]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    return cert, key


async def ask_over_tls(certificate: tuple[Path, Path]) -> bytes:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n" + b"x" * 100_000)
        await writer.drain()
        writer.close()

    pool = HttpPool({})
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    try:
        async with server:
            url = f"https://localhost:{server.sockets[0].getsockname()[1]}/"
            async with pool.send("GET", url, []) as response:
                return await response.read(1_000_000)
    finally:
        await pool.aclose()


@pytest.mark.slow
async def test_a_trusted_certificate_is_accepted(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    assert await ask_over_tls(certificate) == b"x" * 100_000


@pytest.mark.slow
async def test_an_unknown_certificate_is_refused(certificate: tuple[Path, Path]) -> None:
    with pytest.raises(UnreachableError, match="certificate") as caught:
        await ask_over_tls(certificate)
    assert caught.value.refused_tls
