"""Whatever became of a transcript's bytes, what is whole loads, and what is not is told of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ensign.protocol.codec import to_wire
from ensign.protocol.messages import Message
from ensign.store.disk import Disk
from ensign.store.errors import DamagedError, StoreError
from ensign.store.journal import FileJournal
from ensign.store.records import Record, encode, read
from ensign.store.replay import replay
from tests.store.test_repair import assert_sendable
from tests.store.values import MAIN, SESSION, conversation, head, opened, says, user


def line(n: int, message: Message, epoch: int = 1) -> bytes:
    return encode(Record(n, epoch, 1.0, "message", {"seq": None, "message": to_wire(message)}))


HEAD = encode(Record(0, 1, 1.0, "head", to_wire(head())))
ONE, TWO, THREE = line(1, user("one")), line(2, says("two")), line(3, user("three"))
HISTORY = [user("one"), says("two"), user("three")]


@dataclass
class Unfenced:
    epoch: int = 1

    def check(self) -> None:
        pass


def place_with(home: Path, data: bytes) -> Disk:
    place = Disk(home)
    place.claim(SESSION).release(clean=True)
    (home / "sessions" / SESSION / f"{MAIN}.jsonl").write_bytes(data)
    return place


def test_a_torn_tail_of_any_length_is_dropped_told_of_and_cut_before_the_next_append(tmp_path: Path) -> None:
    """`kill -9` can only leave a prefix of the one write that an append makes."""
    place = place_with(tmp_path, b"")
    path = tmp_path / "sessions" / SESSION / f"{MAIN}.jsonl"
    for cut in range(1, len(TWO)):
        path.write_bytes(HEAD + ONE + TWO[:cut])
        loaded = place.read(SESSION, MAIN)
        journal = place.reopen(SESSION, MAIN, loaded, Unfenced())
        journal.append(THREE)
        journal.close()
        whole = cut == len(TWO) - 1
        assert replay(head(), loaded).history == HISTORY[: 2 if whole else 1]
        assert len(loaded.notices) == (0 if whole else 1)
        assert path.read_bytes() == HEAD + ONE + (TWO if whole else b"") + THREE


@pytest.mark.parametrize(
    "middle",
    [
        b"\0" * 512,
        b"\0" * 512 + b"\n",
        TWO[:20] + b"\0" * 512 + b"\n",
        b"\0" * 3 + TWO[-20:],
        b"garbage\n",
        b"\xff\xfe\n\n[1]\nnull\n{}\n",
        b'{"n":2}\n',
        b'{"n":"2","epoch":1,"at":1,"kind":"message","body":{}}\n',
        TWO[: len(TWO) // 2],
        b"[" * 100_000 + b"\n",
    ],
    ids=range(10),
)
def test_a_damaged_middle_is_told_of_once_and_the_records_on_both_sides_load(tmp_path: Path, middle: bytes) -> None:
    loaded = place_with(tmp_path, HEAD + ONE + middle + THREE).read(SESSION, MAIN)
    assert replay(head(), loaded).history == [user("one"), user("three")]
    assert len(loaded.notices) == 1
    assert "damaged" in loaded.notices[0]


@pytest.mark.parametrize("between", [b"", b"\0" * 64, b"\0", TWO[:30], b"\xff\xfe"])
def test_records_that_lost_the_newline_between_them_both_load(tmp_path: Path, between: bytes) -> None:
    loaded = place_with(tmp_path, HEAD + ONE + TWO[:-1] + between + THREE).read(SESSION, MAIN)
    assert (replay(head(), loaded).history, len(loaded.notices)) == (HISTORY, 1)


def test_a_record_with_bytes_that_are_no_text_is_damaged_and_not_taken_for_whole() -> None:
    loaded = read(HEAD + ONE.replace(b"one", b"o\xffe") + THREE)
    assert (replay(head(), loaded).history, len(loaded.notices)) == ([user("three")], 1)


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"garbage", THREE[:-10] + b"\0" * 9])
def test_what_a_power_cut_leaves_at_the_end_is_dropped(tmp_path: Path, tail: bytes) -> None:
    loaded = place_with(tmp_path, HEAD + ONE + TWO + tail).read(SESSION, MAIN)
    assert (replay(head(), loaded).history, len(loaded.notices)) == (HISTORY[:2], 1)
    assert loaded.whole_bytes == len(HEAD + ONE + TWO)


@pytest.mark.parametrize(
    "data",
    [
        b"garbage\n" + ONE + TWO,
        b"\0" * len(HEAD) + ONE + TWO,
        b"\n" + HEAD + ONE,
        HEAD[:30] + ONE,
        HEAD[:30],
        ONE + TWO,
        b"",
        b"\n",
    ],
    ids=range(8),
)
async def test_a_damaged_first_line_is_an_error_and_every_byte_is_kept(tmp_path: Path, data: bytes) -> None:
    place_with(tmp_path, data)
    path = tmp_path / "sessions" / SESSION / f"{MAIN}.jsonl"
    async with opened(tmp_path) as (store, _):
        session, _ = await store.open_session(SESSION)
        with pytest.raises(DamagedError):
            await session.reopen(MAIN)
        with pytest.raises(DamagedError) as caught:
            await session.reopen(MAIN)
        with pytest.raises(StoreError, match="exists already"):
            session.create(head())
        session.close()
    assert (path.read_bytes(), caught.value.kept.read_bytes()) == (data, data)


def test_a_record_of_an_older_owner_after_a_newer_ones_does_not_count() -> None:
    loaded = read(
        HEAD + line(1, user("one")) + line(2, says("two"), 3) + line(2, says("stale"), 2) + line(3, user("three"), 3)
    )
    assert replay(head(), loaded).history == HISTORY
    assert loaded.notices == ("1 records of an owner that had lost the session were left out",)


def test_records_of_a_later_version_are_passed_over() -> None:
    unknown = encode(Record(2, 1, 1.0, "hologram", {"depth": 3}))
    odd = encode(Record(3, 1, 1.0, "event", {"seq": 9, "event": {"kind": "waved", "agentId": MAIN}}))
    found = replay(head(), read(HEAD + ONE + unknown + odd))
    assert (found.history, found.notices, found.last_seq) == ([user("one")], (), 9)


def test_a_record_that_lacks_what_its_kind_says_is_told_of() -> None:
    odd = encode(Record(2, 1, 1.0, "message", {"message": {"kind": "user"}}))
    found = replay(head(), read(HEAD + ONE + odd + THREE))
    assert found.history == [user("one"), user("three")]
    assert found.notices == ("record 2 (message) cannot be read: not a message: KeyError('text')",)


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    (tmp_path / "full").symlink_to("/dev/full")
    journal = FileJournal(tmp_path / "full", Unfenced())
    with pytest.raises(StoreError, match=r"cannot write .*full'.*: No space left on device"):
        journal.append(ONE)
    journal.close()


SOUND = HEAD + b"".join(line(n, message) for n, message in enumerate(conversation(12), 1))


@given(
    wounds=st.lists(
        st.tuples(
            st.integers(len(HEAD), len(SOUND)), st.integers(0, 400), st.binary(max_size=40) | st.just(b"\0" * 64)
        ),
        max_size=4,
    )
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_wound_behind_the_head_keeps_a_conversation_from_being_sent(wounds: list[tuple[int, int, bytes]]) -> None:
    data = SOUND
    for start, length, instead in wounds:
        data = data[: max(start, len(HEAD))] + instead + data[max(start, len(HEAD)) + length :]
    loaded = read(data)
    found = replay(head(), loaded)
    assert_sendable(found.history)
    assert replay(head(), read(data)).history == found.history
    untouched = [piece for piece in data.split(b"\n") if piece + b"\n" in SOUND and piece.startswith(b'{"n":')]
    assert {record.n for record in read(b"\n".join(untouched) + b"\n").records} <= {
        record.n for record in loaded.records
    }
