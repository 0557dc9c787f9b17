"""What happens reaches the client: in order, complete, whatever the pace (B10 and the figures of the second issue)."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from ensign.lsp.framing import Frame, Frames
from ensign.lsp.transport import Transport, of_socket
from tests.lsp.conftest import Near


async def test_an_event_has_its_session_and_its_number(near: Near) -> None:
    await near.client.initialize()
    await near.client.request("ensign/session/list", {})
    near.app.task("t1")
    near.app.change("agents")
    (sent,) = await near.client.sent("ensign/event")
    record = sent["event"].pop("record")
    assert sent == {
        "sessionId": "s1",
        "seq": 1,
        "event": {"agentId": "agent-t1", "taskId": "t1", "kind": "task_changed"},
    }
    assert (record["shortId"], record["state"], record["filesChanged"]) == ("t1", "running", [])
    assert await near.client.sent("ensign/changed") == [{"what": "agents"}]


async def test_no_delta_is_lost_or_out_of_order(near: Near) -> None:
    await near.client.initialize()
    await near.client.request("ensign/turn/start", {"sessionId": "s1", "text": "deltas 5000"})
    sent = await near.client.sent("ensign/event", 5000)
    assert [(event["seq"], event["event"]["text"]) for event in sent] == [(n + 1, f"{n} ") for n in range(5000)]


async def test_events_of_a_request_come_before_its_answer(near: Near) -> None:
    await near.client.initialize()
    await near.client.request("ensign/turn/start", {"sessionId": "s1", "text": "deltas 3"})
    assert [m.get("method", "answer") for m in near.client.received[1:]] == ["ensign/event"] * 3 + ["answer"]


class Pipe:
    """A transport with the other end of its socket."""

    def __init__(self, **limits: Any) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.frames: list[Frame] = []
        self.transport = Transport(
            of_socket(self.ours), on_frames=self.frames.extend, on_end=self.ended.set_result, **limits
        )
        self.transport.start()

    def close(self) -> None:
        self.transport.close()
        self.theirs.close()


async def test_a_client_that_does_not_read_never_holds_the_loop() -> None:
    pipe = Pipe()
    for _ in range(400):
        pipe.transport.send(b"x" * 10_000)  # far more than a socket holds
    received = Frames()
    count = 0
    while count < 400:
        count += len(received.feed(await asyncio.to_thread(pipe.theirs.recv, 1 << 20)))
    await pipe.transport.flush(20)
    assert not pipe.ended.done()
    pipe.close()


async def test_a_client_that_never_reads_counts_as_gone() -> None:
    pipe = Pipe(max_backlog=1_000_000)
    for _ in range(400):
        pipe.transport.send(b"x" * 10_000)
    assert await pipe.ended == "the client stopped reading"
    pipe.close()


@pytest.mark.parametrize("part", [b"Content-Length: 500\r\n\r\n{", b"Content-Le", b"Content-Length: 500\r\n\r\n"])
async def test_the_end_within_a_frame_is_told_from_a_clean_one(part: bytes) -> None:
    pipe = Pipe()
    pipe.theirs.sendall(part)
    pipe.theirs.shutdown(socket.SHUT_WR)
    assert await pipe.ended == "the client closed the connection inside a frame"
    pipe.close()


async def test_a_clean_end_is_a_clean_end() -> None:
    pipe = Pipe()
    pipe.theirs.sendall(b"Content-Length: 2\r\n\r\n{}")
    pipe.theirs.shutdown(socket.SHUT_WR)
    assert await pipe.ended == "the client closed the connection"
    assert len(pipe.frames) == 1
    pipe.close()
