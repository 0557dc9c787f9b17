"""An edit changes the bytes it names and no others, or nothing and says how to do it right."""

import stat
from pathlib import Path

import pytest

from ensign.protocol.access import Access, Effect
from ensign.protocol.errors import DeniedError, ToolError
from ensign.protocol.tasks import FileChange
from ensign.tools.base import Preview
from ensign.tools.edit import EDIT
from tests.tools.bench import Bench


async def edit(bench: Bench, before: bytes, old: str, new: str, *, every: bool = False) -> bytes:
    path = bench.root / "f.txt"
    path.write_bytes(before)
    await bench.call("Read", file_path="f.txt")
    await bench.call("Edit", file_path="f.txt", old_string=old, new_string=new, replace_all=every)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\nc\rd", "b", "B", b"a\r\nB\nc\rd"),
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", b"a\r\nx\r\nb\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b", "b1\nb2", b"a\r\nb1\r\nb2\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "a\nb\n", "", b"c\r\n"),
        (b"a\r\nb\nc\r\nd\n", "a\nb\nc", "a\nB\nc", b"a\r\nB\nc\r\nd\n"),
        (b"a\rb\rc", "a\nb", "a\nx", b"a\rx\rc"),
        (b"a\r\n\r\nb\r\n", "a\n\nb", "a\n\nc", b"a\r\n\r\nc\r\n"),
        (b"a\nb\n", "a", "a\r\nx", b"a\r\nx\nb\n"),
        (b"a", "a", "b", b"b"),
        (b"a\n", "a", "b", b"b\n"),
        ("\ufeffa\n".encode(), "a", "b", "\ufeffb\n".encode()),
        ("\ufeffaä\r\nb\r\n".encode("utf-16-le"), "aä\nb", "c\nd", "\ufeffc\r\nd\r\n".encode("utf-16-le")),
        ("\ufeffaä\n".encode("utf-16-be"), "ä", "ö", "\ufeffaö\n".encode("utf-16-be")),
        (b"# \xa9 me\nx = 1\n", "x = 1", "x = 2", b"# \xa9 me\nx = 2\n"),
        (b"x\n", "x", "$& $1 \\1 \\g<0>", b"$& $1 \\1 \\g<0>\n"),
        (b"x\n", "x", "**進行中**", "**進行中**\n".encode()),
    ],
)
async def test_only_what_is_named_changes(bench: Bench, before: bytes, old: str, new: str, after: bytes) -> None:
    assert await edit(bench, before, old, new) == after


async def test_every_occurrence_counts_whatever_its_line_end(bench: Bench) -> None:
    path = bench.root / "f.txt"
    path.write_bytes(b"m\r\n**m\n** m\r\nm\n")
    await bench.call("Read", file_path="f.txt")
    output = await bench.call("Edit", file_path="f.txt", old_string="m\n", new_string="n\n", replace_all=True)
    assert path.read_bytes() == b"n\r\n**n\n** n\r\nn\n"
    assert output.text == "Edited f.txt (4 replacements, +4 -4)."


@pytest.mark.parametrize(
    ("before", "old", "message"),
    [
        (b"a\nb\na\n", "a", r"there 2 times \(lines 1, 3\); quote more"),
        (b"a", "a\n", "no final newline"),
        (b"a\n  b\n", "\ta\n\tb", r"only white space differs; the file has there:\na\n  b"),
        (b"a\nb\n", "1\ta\n2\tb", "without the line numbers"),
        (b"def first(x):\n    pass\n", "def frist(x):", r"At line 1 this is the most similar place"),
        (b"\xa9 me\n", "\ufffd me", "bytes that are no text"),
        (b"a\n", "nothing like it", "read it again and quote it exactly"),
        (b"z\n", "z\n", "are the same"),
    ],
)
async def test_a_wrong_quote_changes_nothing_and_is_explained(
    bench: Bench, before: bytes, old: str, message: str
) -> None:
    path = bench.root / "f.txt"
    path.write_bytes(before)
    await bench.call("Read", file_path="f.txt")
    with pytest.raises(ToolError, match=message):
        await bench.call("Edit", file_path="f.txt", old_string=old, new_string="z\n")
    assert path.read_bytes() == before


async def test_half_a_character_is_refused(bench: Bench) -> None:
    for text in ("\ud83d", "\udca9"):
        with pytest.raises(ToolError, match="half of a character"):
            await edit(bench, b"a\n", "a", text)
    assert (bench.root / "f.txt").read_bytes() == b"a\n"


async def test_a_link_stays_a_link_and_a_mode_a_mode(bench: Bench) -> None:
    real = bench.root / "real.sh"
    real.write_text("a\n")
    real.chmod(0o751)
    (bench.root / "link").symlink_to("real.sh")
    await bench.call("Read", file_path="link")
    output = await bench.call("Edit", file_path="link", old_string="a", new_string="b")
    assert (bench.root / "link").is_symlink()
    assert real.read_text() == "b\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o751
    assert output.files == (FileChange(path=str(real), change="modified", added=1, removed=1),)
    assert output.diff == "--- a/real.sh\n+++ b/real.sh\n@@ -1 +1 @@\n-a\n+b\n"


async def test_a_link_swapped_in_after_the_check_is_not_followed(bench: Bench) -> None:
    path = bench.root / "a.txt"
    path.write_text("mine\n")
    secret = bench.root / "secret.txt"
    secret.write_text("mine\n")
    await bench.call("Read", file_path="a.txt")
    ctx = bench.context()
    arguments = {"file_path": "a.txt", "old_string": "mine", "new_string": "theirs"}
    assert EDIT.accesses(ctx, arguments) == (Access(effect=Effect.WRITE, target="a.txt", path=path),)
    path.unlink()
    path.symlink_to(secret)
    with pytest.raises(ToolError, match="is a link"):
        await EDIT.run(ctx, arguments)
    assert secret.read_text() == "mine\n"


async def test_a_folder_swapped_for_a_link_is_not_followed(bench: Bench) -> None:
    (bench.root / "d").mkdir()
    outside = bench.root / "outside"
    outside.mkdir()
    ctx = bench.context()
    arguments = {"file_path": "d/new.txt", "old_string": "", "new_string": "x"}
    EDIT.accesses(ctx, arguments)
    (bench.root / "d").rmdir()
    (bench.root / "d").symlink_to(outside)
    with pytest.raises(ToolError, match="a link was put in its way"):
        await EDIT.run(ctx, arguments)
    assert list(outside.iterdir()) == []


async def test_an_empty_quote_creates_a_file_but_replaces_none(bench: Bench) -> None:
    output = await bench.call("Edit", file_path="new/deep/f.txt", old_string="", new_string="a\nb")
    assert (bench.root / "new/deep/f.txt").read_text() == "a\nb"
    assert output.text == "Created new/deep/f.txt (+2 -0)."
    with pytest.raises(ToolError, match="exists and is not empty"):
        await bench.call("Edit", file_path="new/deep/f.txt", old_string="", new_string="c")
    with pytest.raises(ToolError, match="does not exist; with an empty old_string it is created"):
        await bench.call("Edit", file_path="other.txt", old_string="x", new_string="c")


async def test_the_preview_is_what_the_edit_will_make(bench: Bench) -> None:
    path = bench.root / "f.txt"
    path.write_bytes(b"a\r\nb\r\n")
    arguments = {"file_path": "f.txt", "old_string": "a\nb", "new_string": "c\nd\ne"}
    assert EDIT.preview is not None
    await bench.call("Read", file_path="f.txt")
    preview = await EDIT.preview(bench.context(), arguments)
    assert preview == Preview(path=path, before="a\r\nb\r\n", after="c\r\nd\r\ne\r\n")
    with pytest.raises(ToolError, match="old_string is not in the file"):
        await EDIT.preview(bench.context(), arguments | {"old_string": "no"})


async def test_a_small_edit_of_a_large_file_shows_a_small_diff(bench: Bench) -> None:
    lines = [f"line {number}\n" for number in range(1, 20_001)]
    path = bench.root / "f.txt"
    path.write_text("".join(lines))
    await bench.call("Read", file_path="f.txt", limit=1)
    output = await bench.call("Edit", file_path="f.txt", old_string="line 10000\n", new_string="LINE\n")
    assert output.diff is not None
    assert output.diff.splitlines()[2:] == [
        "@@ -9997,7 +9997,7 @@",
        " line 9997",
        " line 9998",
        " line 9999",
        "-line 10000",
        "+LINE",
        " line 10001",
        " line 10002",
        " line 10003",
    ]


@pytest.mark.parametrize("spelled", ["//host/share/x", "\\\\host\\share\\x", "\\??\\UNC\\host\\x"])
async def test_network_paths_are_refused_before_anything_touches_them(bench: Bench, spelled: str) -> None:
    with pytest.raises(DeniedError, match="network path"):
        await bench.call("Edit", file_path=spelled, old_string="", new_string="x")


async def test_a_full_disk_leaves_the_old_file_whole_and_nothing_beside_it(bench: Bench, tmp_path: Path) -> None:
    import resource

    path = bench.root / "f.txt"
    path.write_text("old\n")
    await bench.call("Read", file_path="f.txt")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(ToolError, match=r"cannot write .*; nothing was changed"):
            await bench.call("Write", file_path="f.txt", content="x" * 5000)
        with pytest.raises(ToolError, match=r"cannot write .*; nothing was changed"):
            await bench.call("Write", file_path="new/f.txt", content="x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "old\n"
    assert [entry.name for entry in bench.root.iterdir()] == ["f.txt"]


async def test_a_file_made_read_only_is_not_replaced(bench: Bench) -> None:
    path = bench.root / "f.txt"
    path.write_text("old\n")
    path.chmod(0o444)
    await bench.call("Read", file_path="f.txt")
    with pytest.raises(ToolError, match="read-only"):
        await bench.call("Edit", file_path="f.txt", old_string="old", new_string="new")
    assert path.read_text() == "old\n"
