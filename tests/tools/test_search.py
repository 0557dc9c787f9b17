"""Glob and Grep find what a person would, in the text of the editor, and say what they left out."""

import os
from pathlib import Path

import pytest

from ensign.protocol.access import Access, Effect
from ensign.protocol.errors import ToolError
from tests.tools.bench import TOOLS, Bench


def tree(root: Path, files: dict[str, str]) -> None:
    for age, (name, text) in enumerate(files.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_000_000 - age, 1_000_000 - age))


FILES = {
    "a.py": "needle\n",
    "src/b.py": "x\nneedle needle\ny\n",
    "src/deep/c.ts": "needle\n",
    "src/deep/d.tsx": "hay\n",
    ".github/ci.yml": "needle: 1\n",
    "out.log": "needle\n",
    "keep.log": "needle\n",
    ".gitignore": "*.log\n!keep.log\nbuild/\n",
    "build/e.py": "needle\n",
    ".git/config": "needle\n",
}


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("**/*.py", ["a.py", "src/b.py"]),
        ("*.py", ["a.py", "src/b.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**/*.{ts,tsx}", ["src/deep/c.ts", "src/deep/d.tsx"]),
        ("src/**", ["src/b.py", "src/deep/c.ts", "src/deep/d.tsx"]),
        ("**/[ab].py", ["a.py", "src/b.py"]),
        ("**/[!a].py", ["src/b.py"]),
        ("?.py", ["a.py", "src/b.py"]),
        ("*.log", ["keep.log"]),
        ("*.yml", [".github/ci.yml"]),
        ("src/b.py", ["src/b.py"]),
        ("./a.py", ["a.py"]),
    ],
)
async def test_globs_mean_what_people_expect(bench: Bench, pattern: str, names: list[str]) -> None:
    tree(bench.root, FILES)
    assert (await bench.text("Glob", pattern=pattern)).split("\n") == names


async def test_a_glob_may_begin_outside(bench: Bench) -> None:
    tree(bench.root, FILES)
    ctx = bench.context(cwd=bench.root / "src")
    arguments = {"pattern": "../*.py"}
    assert TOOLS["Glob"].accesses(ctx, arguments) == (Access(effect=Effect.READ, target="..", path=bench.root),)
    assert (await bench.call_in(ctx, "Glob", arguments)).text == str(bench.root / "a.py")


async def test_a_star_stays_in_its_folder(bench: Bench) -> None:
    tree(bench.root, {"src/a.py": "", "src/deep/b.py": ""})
    assert await bench.text("Glob", pattern="src/*.py") == "src/a.py"
    assert await bench.text("Glob", pattern="src/*/*.py") == "src/deep/b.py"
    assert await bench.text("Glob", pattern="./*.py") == "[no file matches '*.py' in '.'; ignored files do not count]"


async def test_an_ignored_folder_is_searched_when_asked_for(bench: Bench) -> None:
    tree(bench.root, FILES)
    assert await bench.text("Glob", pattern="*.py", path="build") == "build/e.py"
    assert await bench.text("Grep", pattern="needle", path="build") == "build/e.py"
    assert await bench.text("Grep", pattern="needle", path="out.log") == "out.log"


async def test_links_are_not_followed(bench: Bench) -> None:
    tree(bench.root, {"d/a.txt": "needle"})
    (bench.root / "d" / "up").symlink_to("..")
    (bench.root / "l.txt").symlink_to("d/a.txt")
    assert await bench.text("Glob", pattern="**/*") == "d/a.txt"
    assert await bench.text("Grep", pattern="needle") == "d/a.txt"


async def test_the_latest_come_first_and_the_rest_is_counted(bench: Bench) -> None:
    tree(bench.root, {f"{number}.txt": "" for number in range(250)})
    lines = (await bench.text("Glob", pattern="*.txt")).split("\n")
    assert lines == [f"{number}.txt" for number in range(200)] + [
        "[the 200 latest changed of 250 files; narrow the pattern for others]"
    ]


async def test_a_bad_glob_is_explained(bench: Bench) -> None:
    with pytest.raises(ToolError, match="never closed"):
        await bench.call("Glob", pattern="*.{a")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, ".github/ci.yml\na.py\nkeep.log\nsrc/b.py\nsrc/deep/c.ts"),
        ({"output_mode": "count"}, ".github/ci.yml:1\na.py:1\nkeep.log:1\nsrc/b.py:1\nsrc/deep/c.ts:1"),
        ({"glob": "*.py"}, "a.py\nsrc/b.py"),
        ({"glob": "*.log"}, "keep.log"),
        ({"glob": "*"}, ".github/ci.yml\na.py\nkeep.log\nsrc/b.py\nsrc/deep/c.ts"),
        ({"glob": "src/**/*.ts"}, "src/deep/c.ts"),
        ({"glob": "*.{ts,yml}"}, ".github/ci.yml\nsrc/deep/c.ts"),
        ({"glob": "!*.py"}, ".github/ci.yml\nkeep.log\nsrc/deep/c.ts"),
        ({"type": "py"}, "a.py\nsrc/b.py"),
        ({"type": "py", "glob": "a.*"}, "a.py"),
        ({"path": "src", "output_mode": "content"}, "src/b.py:2:needle needle\nsrc/deep/c.ts:1:needle"),
        (
            {"path": "src/b.py", "output_mode": "content", "-C": 1},
            "src/b.py-1-x\nsrc/b.py:2:needle needle\nsrc/b.py-3-y",
        ),
        ({"path": "src/b.py", "output_mode": "count"}, "src/b.py:1"),
        ({"pattern": "NEEDLE", "-i": True, "type": "ts"}, "src/deep/c.ts"),
        (
            {"pattern": "x.needle", "multiline": True, "output_mode": "content"},
            "src/b.py:1:x\nsrc/b.py:2:needle needle",
        ),
        ({"pattern": "--files"}, "[no matches]"),
        ({"head_limit": 1}, ".github/ci.yml\n[1 of 5 files shown; narrow the search or raise head_limit]"),
    ],
)
async def test_grep_finds(bench: Bench, arguments: dict[str, object], text: str) -> None:
    tree(bench.root, FILES)
    assert (await bench.call_in(bench.context(), "Grep", {"pattern": "needle"} | arguments)).text == text


async def test_separate_places_are_set_apart_when_lines_around_are_shown(bench: Bench) -> None:
    tree(bench.root, {"f.txt": "n\na\nb\nc\nn\n"})
    text = (await bench.call_in(bench.context(), "Grep", {"pattern": "n", "output_mode": "content", "-A": 1})).text
    assert text == "f.txt:1:n\nf.txt-2-a\n--\nf.txt:5:n"


@pytest.mark.parametrize("arguments", [{"pattern": "("}, {"pattern": "x", "type": "klingon"}, {"pattern": "a\0"}])
async def test_what_ripgrep_refuses_is_said_in_its_words(bench: Bench, arguments: dict[str, str]) -> None:
    tree(bench.root, FILES)
    with pytest.raises(ToolError, match=r"unclosed group|unrecognized file type|cannot be given|null"):
        await bench.call("Grep", **arguments)


async def test_a_long_line_is_cut_around_the_match(bench: Bench) -> None:
    tree(bench.root, {"min.js": "é" * 100_000 + "needle" + "x" * 400_000 + "\n"})
    text = await bench.text("Grep", pattern="needle", output_mode="content")
    assert "needlexxx" in text
    assert "\ufffd" not in text
    assert len(text) < 800
    assert text.endswith("bytes cut from long lines]")


async def test_a_broad_search_is_capped_in_bytes_and_says_so(bench: Bench) -> None:
    tree(bench.root, {"f.txt": ("needle " + "x" * 400 + "\n") * 2000})
    text = await bench.text("Grep", pattern="needle", output_mode="content", head_limit=5000)
    assert len(text.encode()) < 41_000
    assert "of 2,000 lines shown" in text.rsplit("\n", 1)[1]


async def test_a_pipe_does_not_hold_a_search_up(bench: Bench) -> None:
    tree(bench.root, {"f.txt": "needle"})
    os.mkfifo(bench.root / "pipe")
    assert await bench.text("Grep", pattern="needle") == "f.txt"
    with pytest.raises(ToolError, match="named pipe"):
        await bench.call("Grep", pattern="needle", path="pipe")
    with pytest.raises(ToolError, match="does not exist"):
        await bench.call("Grep", pattern="needle", path="gone")


async def test_settings_of_the_workspace_and_the_user_change_nothing(bench: Bench) -> None:
    tree(bench.root, {"f.txt": "needle", ".ripgreprc": "--invert-match"})
    bin_folder = bench.root / "rg"
    bin_folder.write_text("#!/bin/sh\ntouch CANARY\n")
    bin_folder.chmod(0o755)
    assert await bench.text("Grep", pattern="needle") == "f.txt"
    assert not (bench.root / "CANARY").exists()


async def test_bytes_that_are_no_text_are_found_and_shown(bench: Bench) -> None:
    (bench.root / "f.txt").write_bytes(b"needle \xa9\n")
    assert await bench.text("Grep", pattern="needle", output_mode="content") == "f.txt:1:needle \ufffd"


@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
async def test_a_file_that_may_not_be_read_is_left_out_and_said(bench: Bench, mode: str) -> None:
    tree(bench.root, {".env": "KEY=needle\n", "a.txt": "needle\n"})
    bench.denied.add(bench.root / ".env")
    text = await bench.text("Grep", pattern="needle", output_mode=mode)
    assert text.split("\n")[1:] == ["[1 file left out: not allowed to be read]"]
    assert text.startswith("a.txt")


async def test_unsaved_text_is_what_is_searched(bench: Bench) -> None:
    tree(bench.root, FILES)
    for name in ("a.py", "src/b.py", "out.log"):
        bench.editor.open(bench.root / name)
    bench.editor.type(bench.root / "a.py", "gone\n")
    bench.editor.type(bench.root / "src/b.py", "one\ntwo fresh\n")
    bench.editor.type(bench.root / "out.log", "fresh\n")
    bench.editor.open(bench.root / "src/new.py", "fresh\n")
    assert await bench.text("Grep", pattern="needle", glob="*.py") == "[no matches]"
    for mode in ("content", "count"):
        assert await bench.text("Grep", pattern="needle", path="src", glob="*.py", output_mode=mode) == "[no matches]"
    assert await bench.text("Grep", pattern="fresh") == "src/b.py\nsrc/new.py"
    assert await bench.text("Grep", pattern="fresh", glob="src/*.py", output_mode="content") == (
        "src/b.py:2:two fresh\nsrc/new.py:1:fresh"
    )
    assert await bench.text("Grep", pattern="fresh", path="a.py") == "[no matches]"
    assert await bench.text("Grep", pattern="two", path="src/b.py", output_mode="content") == "src/b.py:2:two fresh"
