"""Server-sent events, however they are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensign.models.sse import MAX_EVENT_BYTES, EventTooLargeError, ServerEvent, SseParser


def events(*chunks: bytes) -> list[ServerEvent]:
    parser = SseParser()
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()


def data(*texts: str) -> list[ServerEvent]:
    return [ServerEvent("", text) for text in texts]


@pytest.mark.parametrize(
    ("stream", "texts"),
    [
        (b"data: a\n\n", ["a"]),
        (b"data:a\n\n", ["a"]),
        (b"data:  a\n\n", [" a"]),
        (b"data: a\r\rdata: b\r\r", ["a", "b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data: a\r\ndata: b\r\n\r\n", ["a\nb"]),
        (b"data\ndata: b\n\n", ["\nb"]),
        (b"data:\n\n", [""]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b": comment\n\n:\n\ndata: a\n\n", ["a"]),
        (b"id: 7\nretry: 10\ndatum: x\ndata: a\n\n", ["a"]),
        (b"event: ping\n\ndata: a\n\n", ["a"]),
        (b"data: a\n\ndata: b", ["a", "b"]),
        (b"data: a\n", ["a"]),
        (b"\n\n\n", []),
        (b"", []),
        (b'data: {"t": "\xff"}\n\n', ['{"t": "\ufffd"}']),
    ],
)
def test_lines_fields_and_comments_are_read_as_the_standard_says(stream: bytes, texts: list[str]) -> None:
    assert events(stream) == data(*texts)
    assert events(*(stream[at : at + 1] for at in range(len(stream)))) == data(*texts)


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c"])
def test_only_cr_and_lf_end_a_line(char: str) -> None:
    assert events(f"data: a{char}b\n\n".encode()) == data(f"a{char}b")


def test_an_event_has_the_name_given_for_it_alone() -> None:
    assert events(b"event: error\ndata: a\n\ndata: b\n\n") == [ServerEvent("error", "a"), ServerEvent("", "b")]


@given(
    st.lists(st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"]), min_size=1), max_size=5),
    st.sampled_from(["\n", "\r", "\r\n"]),
    st.lists(st.integers(0, 400), max_size=20),
)
def test_where_the_network_cuts_makes_no_difference(texts: list[str], newline: str, cuts: list[int]) -> None:
    stream = "".join(f"data: {text}{newline}{newline}" for text in texts).encode()
    edges = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    assert events(*(stream[start:end] for start, end in pairwise(edges))) == data(*texts)


def test_an_event_without_an_end_does_not_fill_the_memory() -> None:
    parser = SseParser()
    half = b"x" * (MAX_EVENT_BYTES // 2)
    assert parser.feed(half) == parser.feed(half) == []
    with pytest.raises(EventTooLargeError):
        parser.feed(b"x")


def test_comments_for_a_long_time_hold_no_memory() -> None:
    parser = SseParser()
    for _ in range(20):
        for cut in (b":" + b"x" * (MAX_EVENT_BYTES // 8), b"y\n"):
            assert parser.feed(cut) == []
