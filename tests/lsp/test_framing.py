"""Bytes to frames: any cut, any header, any garbage."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensign.lsp.framing import Body, Frame, Frames, Garbage, GarbageError, Refused, envelope, frame


def fed(data: bytes, *, size: int = 0, max_frame: int = 1_000_000) -> list[Frame]:
    frames = Frames(max_frame=max_frame)
    pieces = [data[at : at + size] for at in range(0, len(data), size)] if size else [data]
    return [one for piece in pieces for one in frames.feed(piece)]


@given(st.lists(st.binary(max_size=300), max_size=5), st.integers(1, 50))
def test_frames_come_out_as_they_went_in_however_they_are_cut(bodies: list[bytes], size: int) -> None:
    assert fed(b"".join(map(frame, bodies)), size=size) == [Body(data=body) for body in bodies]


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length: 2\r\n\r\n",
        b"CONTENT-LENGTH:2\r\n\r\n",
        b"Content-Length: 2 \r\n\r\n",
        b"Content-Length: 2\n\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n",
    ],
)
def test_headers_of_all_clients_are_read(header: bytes) -> None:
    assert fed(header + b"{}" + frame(b"[]")) == [Body(data=b"{}"), Body(data=b"[]")]


@pytest.mark.parametrize(
    ("garbage", "reported"),
    [
        (b"hello\r\n\r\n", b"hello"),
        (b"hello\r\nworld", b"hello\r\nworld"),
        (b"Content-Length: -5\r\n\r\n", b"Content-Length: -5"),
        (b"Content-Length: ten\r\n\r\n", b"Content-Length: ten"),
        (b'rest of a body"}', b'rest of a body"}'),
        (b"\x00\xff\xfe", b"\x00\xff\xfe"),
    ],
)
def test_garbage_between_frames_is_reported_once_and_skipped(garbage: bytes, reported: bytes) -> None:
    stream = frame(b"1") + garbage + frame(b"2") + frame(b"3")
    for size in (0, 1):
        assert fed(stream, size=size) == [
            Body(data=b"1"), Garbage(data=reported), Body(data=b"2"), Body(data=b"3"),
        ]  # fmt: skip


@pytest.mark.parametrize("garbage", [b"x" * 70_000, b"y\r\n\r\n" * 40_000])
def test_a_stream_of_nothing_but_garbage_is_given_up(garbage: bytes) -> None:
    with pytest.raises(GarbageError, match="no frame header in"):
        fed(garbage, size=1000)


def test_garbage_that_was_followed_by_good_frames_does_not_add_up() -> None:
    stream = (b"y" * 40_000 + frame(b"1")) * 5
    assert [one for one in fed(stream) if isinstance(one, Body)] == [Body(data=b"1")] * 5


def test_a_frame_over_the_limit_passes_by_without_being_kept() -> None:
    large = b'{"id":1,"x":"' + b"a" * 200_000 + b'"}'
    for size in (0, 999):
        refused, after = fed(frame(large) + frame(b"{}"), size=size, max_frame=100_000)
        assert after == Body(data=b"{}")
        assert refused == Refused(size=len(large), head=large[: 16 * 1024], tail=large[-16 * 1024 :])


FILLER = "x" * 40_000


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ({"jsonrpc": "2.0", "id": 5, "method": "m", "params": {"text": FILLER}}, (5, "m")),
        ({"jsonrpc": "2.0", "method": "m", "params": {"text": FILLER}, "id": "a"}, ("a", "m")),
        ({"params": {"text": FILLER}, "method": "m", "id": 5, "jsonrpc": "2.0"}, (5, "m")),
        ({"params": {"text": FILLER}, "id": 5, "jsonrpc": "2.0", "method": "m"}, (5, "m")),
        ({"jsonrpc": "2.0", "method": "m", "params": {"id": 9, "text": FILLER}}, (None, "m")),
        ({"jsonrpc": "2.0", "method": "m", "params": {"text": FILLER, "id": 9}}, (None, "m")),
        ({"jsonrpc": "2.0", "method": "m", "params": f'{FILLER},"id":9}}'}, (None, "m")),
        ({"jsonrpc": "2.0", "method": "m", "params": f'{{"id":9,{FILLER}'}, (None, "m")),
        ({"jsonrpc": "2.0", "id": 5, "result": [{"method": "m", "text": FILLER}]}, (5, None)),
        ({"jsonrpc": "2.0", "id": 5, "result": {"text": FILLER, "method": "m"}}, (5, None)),
    ],
)
def test_the_id_of_a_refused_message_is_its_own(message: object, found: object) -> None:
    for separators in ((",", ":"), (", ", ": ")):
        data = json.dumps(message, separators=separators).encode()
        assert envelope(Refused(size=len(data), head=data[:16_384], tail=data[-16_384:])) == found
