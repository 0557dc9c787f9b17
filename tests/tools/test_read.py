"""Reading shows what is there, says what it left out, and never waits on a thing that is no file."""

import json
import os
import socket
from pathlib import Path

import pytest

from ensign.protocol.errors import ToolError
from ensign.protocol.messages import Image
from tests.tools.bench import Bench

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


async def read(bench: Bench, data: bytes, **arguments: int) -> str:
    (bench.root / "f.txt").write_bytes(data)
    return (await bench.call_in(bench.context(), "Read", {"file_path": "f.txt"} | arguments)).text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\nb\n", "1\ta\n2\tb"),
        (b"a\nb", "1\ta\n2\tb"),
        (b"a\r\n\r\nb\r\n", "1\ta\n2\t\n3\tb"),
        (b"a\rb\r", "1\ta\n2\tb"),
        (b"a\x0cb\xe2\x80\xa8c\n", "1\ta\x0cb\u2028c"),
        (b"", "[the file is empty]"),
        ("\ufeffa\n".encode(), "1\ta"),
        ("\ufeffä\n".encode("utf-16-le"), "1\tä\n[encoded as UTF-16-LE, which edits keep]"),
        (
            b"ok\n# \xa9\n",
            (
                "1\tok\n2\t# \ufffd\n[line 2 has byte 0xA9, which is not valid UTF-8; such bytes are shown as \ufffd "
                "and kept by edits elsewhere]"
            ),
        ),
    ],
)
async def test_lines_come_numbered(bench: Bench, data: bytes, text: str) -> None:
    assert await read(bench, data) == text


async def test_a_part_says_where_it_is(bench: Bench) -> None:
    data = b"".join(b"%d\n" % number for number in range(1, 11))
    assert await read(bench, data, offset=3, limit=2) == "3\t3\n4\t4\n[lines 3-4 of 10; go on with offset 5]"
    assert await read(bench, data, offset=9) == "9\t9\n10\t10\n[lines 9-10 of 10]"
    assert await read(bench, data, offset=11) == "[the file has 10 lines; there is no line 11]"


async def test_a_long_line_is_cut_and_says_by_how_much(bench: Bench) -> None:
    text = await read(bench, b"x" * 70_000 + b"\ny\n")
    assert text == ("1\t" + "x" * 2000 + "[... 68,000 characters cut]\n2\ty\n[68,000 characters cut from 1 long lines]")


async def test_a_large_output_ends_at_a_line(bench: Bench) -> None:
    text = await read(bench, (b"x" * 999 + b"\n") * 2000)
    assert text.endswith("[lines 1-100 of 2,000; go on with offset 101]")


async def test_a_file_too_large_to_hold_is_read_in_parts(bench: Bench) -> None:
    with (bench.root / "f.log").open("wb") as file:
        file.truncate(33 << 20)
        file.seek(0)
        file.write(b"one\ntwo\nthree\n")
    text = await bench.text("Read", file_path="f.log", offset=2, limit=2)
    assert text == (
        "2\ttwo\n3\tthree\n[lines 2-3; go on with offset 4]\n[34,603,008 bytes: too large for Edit and Write]"
    )


async def test_a_picture_comes_as_a_picture(bench: Bench) -> None:
    (bench.root / "p.png").write_bytes(PNG)
    output = await bench.call("Read", file_path="p.png")
    assert output.images == (Image(media_type="image/png", data="iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAAAAAAAA=="),)
    (bench.root / "q.png").write_text("no")
    with pytest.raises(ToolError, match="named like a picture but is none"):
        await bench.call("Read", file_path="q.png")


async def test_a_notebook_comes_as_cells(bench: Bench) -> None:
    cells = [
        {"cell_type": "markdown", "id": "m1", "source": ["# Title\n", "text"]},
        {"cell_type": "code", "id": "c1", "source": "1 + 1", "outputs": [{"data": {"text/plain": ["2"]}}]},
    ]
    (bench.root / "n.ipynb").write_text(json.dumps({"cells": cells}))
    assert await bench.text("Read", file_path="n.ipynb") == (
        "1\t# cell 1 (markdown, id m1)\n2\t# Title\n3\ttext\n4\t\n"
        "5\t# cell 2 (code, id c1)\n6\t1 + 1\n7\t# output\n8\t2"
    )


async def test_what_is_no_text_file_is_refused_at_once(bench: Bench) -> None:
    os.mkfifo(bench.root / "pipe")
    (bench.root / "folder").mkdir()
    (bench.root / "data.bin").write_bytes(b"\x7fELF\0\0")
    (bench.root / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(bench.root / "socket"))
    for name, message in {
        "pipe": "is a named pipe, not a file",
        "folder": "is a folder; Glob lists what is in it",
        "data.bin": "is a binary file",
        "loop": "is a link, not a file",
        "socket": "is a socket, not a file",
        "/dev/zero": "is a device, not a file",
        "/proc/self/fd/0/x": "does not exist",
        "a\0b": "null character",
        "\udc80\ud800": "cannot be the name of a file",
        " ": "the path is empty",
    }.items():
        with pytest.raises(ToolError, match=message):
            await bench.call("Read", file_path=name)


async def test_a_missing_file_names_the_similar_ones(bench: Bench) -> None:
    (bench.root / "settings.py").write_text("")
    with pytest.raises(ToolError, match=r"'setting.py' does not exist; there is 'settings.py'"):
        await bench.call("Read", file_path="setting.py")


@pytest.mark.parametrize(
    "spelled", ["~/k", "$HOME/k", "${HOME}/k", "home/./k", "home//k", "x/../home/k", "/proc/self/root{}/home/k"]
)
async def test_every_spelling_means_the_one_path(bench: Bench, spelled: str) -> None:
    (bench.root / "home").mkdir()
    (bench.root / "home" / "k").write_text("")
    (bench.root / "x").mkdir()
    resolved = bench.view("main").resolve(spelled.replace("{}", str(bench.root)), cwd=bench.root, call_id="c")
    assert resolved == bench.root / "home" / "k"


async def test_a_link_swapped_in_after_the_check_is_not_read(bench: Bench, tmp_path: Path) -> None:
    from ensign.tools.read import READ

    path = bench.root / "d" / "a.txt"
    path.parent.mkdir()
    path.write_text("mine")
    (bench.root / "keys").mkdir()
    (bench.root / "keys" / "a.txt").write_text("secret")
    ctx = bench.context()
    READ.accesses(ctx, {"file_path": "d/a.txt"})
    path.parent.rename(bench.root / "moved")
    path.parent.symlink_to(bench.root / "keys")
    with pytest.raises(ToolError, match="a link was put in its way"):
        await READ.run(ctx, {"file_path": "d/a.txt"})


async def test_unsaved_text_is_what_is_read(bench: Bench) -> None:
    path = bench.root / "f.txt"
    path.write_text("old\n")
    bench.editor.open(path)
    assert await bench.text("Read", file_path="f.txt") == "1\told"
    bench.editor.type(path, "new\n")
    assert await bench.text("Read", file_path="f.txt") == "1\tnew\n[the text in the editor, which is not saved yet]"
