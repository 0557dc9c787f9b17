"""Positions and edits: the server's copy of a document is the editor's, character for character (`lsp-notes` 1.8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensign.lsp.text import Text, minimal_edits
from ensign.protocol.wire import Position, Range

ODD_LINES = st.text(alphabet="ab\n\r\f\v\x1c\x85\u2028\u2029é😋 ", max_size=60)


def at(line: int, start: int, end: int | None = None) -> Range:
    return Range(
        start=Position(line=line, character=start),
        end=Position(line=line, character=start if end is None else end),
    )


@pytest.mark.parametrize(
    ("before", "where", "new", "after"),
    [
        ("a = 1\fb\nprint('x')\n", at(1, 0, 5), "PRINT", "a = 1\fb\nPRINT('x')\n"),
        ("a = '\u2028'\nprint('x')\n", at(1, 0, 5), "PRINT", "a = '\u2028'\nPRINT('x')\n"),
        ("a\x0b\x1c\x1d\x1e\x85b\nc", at(1, 0, 1), "C", "a\x0b\x1c\x1d\x1e\x85b\nC"),
        ("abc", at(0, 999), "END", "abcEND"),
        ("abc\n", at(0, 999), "END", "abcEND\n"),
        ("abc\r\ndef", at(0, 999), "END", "abcEND\r\ndef"),
        ("a\rb\rc", at(1, 0, 1), "B", "a\rB\rc"),
        ('x="😋"', at(0, 5), "!", 'x="😋!"'),
        ("😋😋", at(0, 2, 4), "x", "😋x"),
        ("😋", at(0, 1), "x", "x😋"),
        ("", at(0, 0), "x", "x"),
        ("a", at(7, 3), "x", "ax"),
        ("a\n", at(1, 0), "x", "a\nx"),
    ],
)
def test_an_incremental_change_lands_where_the_editor_made_it(before: str, where: Range, new: str, after: str) -> None:
    assert Text(before).replaced(where.start, where.end, new).text == after


@given(ODD_LINES, st.data())
def test_position_and_offset_are_each_others_inverse(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] == "\r\n":
        return
    document = Text(text)
    assert document.offset(document.position(offset)) == offset


@given(ODD_LINES, ODD_LINES)
def test_minimal_edits_applied_together_give_the_new_text(before: str, after: str) -> None:
    """As an editor applies them: all positions are those of the old text."""
    document = Text(before)
    result, end = "", 0
    for where, new in minimal_edits(before, after):
        assert document.offset(where.start) >= end
        result += before[end : document.offset(where.start)] + new
        end = document.offset(where.end)
    assert result + before[end:] == after


def test_two_changes_far_apart_are_two_edits() -> None:
    lines = [f"line {n}\n" for n in range(100)]
    changed = [*lines[:10], "other\n", *lines[11:90], *lines[91:]]
    edits = minimal_edits("".join(lines), "".join(changed))
    assert edits == [
        (at(10, 0, 7), "other"),
        (Range(start=Position(line=90, character=0), end=Position(line=91, character=0)), ""),
    ]


def test_a_word_is_replaced_by_itself() -> None:
    assert minimal_edits("a = old(1)\n", "a = new(1)\n") == [(at(0, 4, 7), "new")]
    assert minimal_edits("same", "same") == []


@pytest.mark.parametrize(
    ("character", "word"), [(0, "def"), (3, "def"), (4, "parse_"), (10, "parse_"), (11, ""), (99, "")]
)
def test_the_word_under_the_cursor(character: int, word: str) -> None:
    assert Text("def parse_(=)").word(Position(line=0, character=character)) == word
