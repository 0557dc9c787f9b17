"""Front matter is found line by line and read strictly; whatever is wrong has a place and a cause."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensign.definitions.front_matter import MAX_BLOCK_CHARACTERS, MAX_FILE_BYTES, read_front_matter
from ensign.definitions.nodes import FaultError, to_data


def read(text: str | bytes) -> tuple[Any, str]:
    matter = read_front_matter(text if isinstance(text, bytes) else text.encode())
    assert matter is not None
    return to_data(matter.fields), matter.body


def fault(text: str | bytes) -> tuple[str, int, int]:
    with pytest.raises(FaultError) as caught:
        read(text)
    note = caught.value.note
    assert note.severity == "error"
    assert note.message
    assert not note.message.endswith(".")
    return note.code, note.mark.line, note.mark.column


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: a\ndescription: d\n---\nBody\nmore\n",
        "---\r\nname: a\r\ndescription: d\r\n---\r\nBody\r\nmore\r\n",
        "---\nname: a\r\ndescription: d\n---\r\nBody\r\nmore\n",
        "---\rname: a\rdescription: d\r---\rBody\rmore\r",
        "\ufeff---\nname: a\ndescription: d\n---\nBody\nmore",
        "--- \t\nname: a\ndescription: d\n---   \n\n  \nBody\nmore\n\n",
    ],
    ids=["lf", "crlf", "mixed", "cr", "bom", "blanks"],
)
def test_line_ends_marks_and_blanks_make_no_difference(text: str) -> None:
    assert read(text) == ({"name": "a", "description": "d"}, "Body\nmore")


def test_the_closing_line_may_be_the_end_of_the_file() -> None:
    assert read("---\nname: a\n---") == ({"name": "a"}, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nname: a\ndescription: x --- y\n---\nB", ({"name": "a", "description": "x --- y"}, "B")),
        ("---\nname: a\ndescription: ---y\n---\nB", ({"name": "a", "description": "---y"}, "B")),
        ("---\nd: |\n  x\n  ---\n  y\n---\nB", ({"d": "x\n---\ny\n"}, "B")),
        ("---\nname: a\n----\n---\n", None),
        ("---\nname: a\n---\nT\n---\nmodel: evil\n---\n", ({"name": "a"}, "T\n---\nmodel: evil\n---")),
        ("---\nname: a\n---\n```\n---\nmodel: evil\n---\n```", ({"name": "a"}, "```\n---\nmodel: evil\n---\n```")),
    ],
)
def test_only_a_line_of_three_dashes_closes_and_only_the_first_one(text: str, expected: tuple[Any, str] | None) -> None:
    if expected is None:
        assert fault(text)[0] == "yaml-syntax"
    else:
        assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [b"", b"# Readme\n---\nname: a\n---\n", b"\n---\nname: a\n---\n", b" ---\nname: a\n---\n", b"---- \nx", b"--- a\nb",
     b"\xff\xfe# R\x00", b"\xe9t\xe9", b"\x00" * 100],
)  # fmt: skip
def test_a_file_that_does_not_open_with_front_matter_is_a_document(text: bytes) -> None:
    assert read_front_matter(text) is None


def test_plain_values_are_text_as_written() -> None:
    block = "no: off\na: 010\nb: 2024-01-01\nc: ~\nd: 1_000\ne: 0x1f\nf: .inf\ng: yes\nh: 1:30\ni: null\nj:\n<<: x\n"
    assert read(f"---\n{block}---\n")[0] == {
        "no": "off", "a": "010", "b": "2024-01-01", "c": "~", "d": "1_000", "e": "0x1f", "f": ".inf", "g": "yes",
        "h": "1:30", "i": "null", "j": "", "<<": "x",
    }  # fmt: skip


def test_lists_mappings_and_anchors_are_read() -> None:
    text = "---\ntools:\n  - Read\n  - 'Grep'\nx: {a: [1, b], c: &k v}\ny: *k\n---\n"
    assert read(text)[0] == {"tools": ["Read", "Grep"], "x": {"a": ["1", "b"], "c": "v"}, "y": "v"}


def test_a_lone_star_is_text() -> None:
    text = "---\na: *\nb: [Read, *, x]\nc:\n  - *\nd: {k: *}\n---\n"
    assert read(text)[0] == {"a": "*", "b": ["Read", "*", "x"], "c": ["*"], "d": {"k": "*"}}


BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nname: a\n", ("not-closed", 1, 1)),
        ("---", ("not-closed", 1, 1)),
        ("---\nname: a\n --- \nB", ("not-closed", 1, 1)),
        ("---\nname: a\ndescription: use when: x\n---\n", ("yaml-syntax", 3, 22)),
        ("---\nname: a\nname: b\n---\n", ("duplicate-key", 3, 1)),
        ("---\nx:\n  a: 1\n  a: 2\n---\n", ("duplicate-key", 4, 3)),
        ('---\nname: "a\n---\n', ("yaml-syntax", 2, 7)),
        ("---\ntools: [Read\n---\n", ("yaml-syntax", 2, 8)),
        ("---\n\tname: a\n---\n", ("yaml-syntax", 2, 1)),
        ("---\nname: @a\n---\n", ("yaml-syntax", 2, 7)),
        ("---\n😀😀: @a\n---\n", ("yaml-syntax", 2, 7)),
        ("---\nname\nb: 1\n---\n", ("yaml-syntax", 3, 2)),
        ("---\n- name\n---\n", ("not-a-mapping", 2, 1)),
        ("---\njust text\n---\n", ("not-a-mapping", 2, 1)),
        ("---\n? [a]\n: b\n---\n", ("yaml-key", 2, 3)),
        ("---\n--- x\n---\n", ("yaml-syntax", 2, 1)),
        ("---\na: 1\n...\nb: 2\n---\n", ("yaml-syntax", 3, 1)),
        ("---\n%YAML 1.1\n---\n", ("yaml-syntax", 2, 1)),
        ("---\na: !!python/object/apply:os.system [touch CANARY]\n---\n", ("yaml-tag", 2, 4)),
        ("---\na: !env HOME\n---\n", ("yaml-tag", 2, 4)),
        ("---\na: &a [*a]\n---\n", ("yaml-alias", 2, 8)),
        ("---\na: *bold* text\n---\n", ("yaml-syntax", 2, 4)),
        (f"---\n{BOMB}\n---\n", ("yaml-too-large", 5, 45)),
        ("---\na: " + "[" * 40 + "]" * 40 + "\n---\n", ("yaml-too-deep", 2, 35)),
        ("---\na: " + "[" * 60_000 + "\n---\n", ("yaml-too-deep", 2, 1003)),
        ("---\na: " + "x" * MAX_BLOCK_CHARACTERS + "\n---\n", ("too-large", 1, 1)),
        ("---\na: 1\n---\n" + "x" * MAX_FILE_BYTES, ("too-large", 1, 1)),
        (b"---\nname: a\n---\nab\x00c", ("nul-byte", 4, 3)),
        (b"---\nname: a\x00\n---\n", ("nul-byte", 2, 8)),
        (b"---\nname: a\x1b[31m\n---\n", ("control-character", 2, 8)),
        ("---\nname: a\u2028b\n---\n", ("control-character", 2, 8)),
        ('---\nname: "a\\0b"\n---\n', ("control-character", 2, 7)),
        ('---\nname: "a\\u202eb"\n---\n', ("control-character", 2, 7)),
        (b"---\nname: caf\xe9\n---\n", ("encoding", 2, 10)),
        (b"---\nname: a\n---\n\xff", ("encoding", 4, 1)),
        ("---\nname: a\n---\n".encode("utf-16"), ("encoding", 1, 1)),
        ("---\nname: a\n---\n".encode("utf-32"), ("encoding", 1, 1)),
    ],
)  # fmt: skip
def test_a_fault_has_a_code_and_a_place(text: str | bytes, expected: tuple[str, int, int]) -> None:
    assert fault(text) == expected


def test_hidden_characters_are_taken_out_and_reported() -> None:
    text = "---\nname: a\n---\nDo\u200b this\u202e\U000e0041 👩\u200d💻\n"
    matter = read_front_matter(text.encode())
    assert matter is not None
    assert matter.body == "Do this 👩\u200d💻"
    assert [(note.code, note.mark.line, note.mark.column, note.severity) for note in matter.notes] == [
        ("hidden-characters", 4, 3, "warning")
    ]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.text(alphabet="-:*&!|>[]{},?#'\"%@`~ \t\n\r\\ab0\u2028\ufeff\x00\x85😀", max_size=80).map(str.encode),
    ),
    st.booleans(),
)
def test_any_bytes_give_fields_or_a_fault_with_a_place_inside_the_file(content: bytes, closed: bool) -> None:
    data = b"---\n" + content + (b"\n---\nB" if closed else b"")
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1
    note = None
    matter = None
    try:
        matter = read_front_matter(data)
    except FaultError as error:
        note = error.note
    if note is not None:
        assert 1 <= note.mark.line <= lines
        assert note.mark.column >= 1
        assert note.message
        return
    assert matter is not None
    assert "\r" not in matter.body
    to_data(matter.fields)
