"""One file has one path, however a client spells its URI."""

from __future__ import annotations

from pathlib import Path

import pytest

from ensign.lsp.guard import RpcError
from ensign.lsp.uris import absolute, file_path, file_uri


@pytest.mark.parametrize(
    "uri",
    ["file:///c%3A/a.py", "file:///C%3A/a.py", "file:///c:/a.py", "file:///C:/a.py", "FILE:///c%3a/./b/../a.py"],
)
@pytest.mark.parametrize("windows", [True, False])
def test_a_drive_is_the_same_in_every_spelling(uri: str, windows: bool) -> None:
    assert file_path(uri, windows=windows) == Path("c:/a.py" if windows else "/c:/a.py")


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b%20c.py", "/a/b c.py"),
        ("file:///a/b c.py", "/a/b c.py"),
        ("file:///a/%40b", "/a/@b"),
        ("file:///a/@b", "/a/@b"),
        ("file:///a/%C3%A9%F0%9F%98%8B", "/a/é😋"),
        ("file:///a/é😋", "/a/é😋"),
        ("file:///a%23b%3Fc", "/a#b?c"),
        ("file://localhost/a", "/a"),
        ("file://server/share/a", "//server/share/a"),
        ("file:/a", "/a"),
    ],
)
def test_percent_encoding_makes_no_difference(uri: str, path: str) -> None:
    assert file_path(uri) == Path(path)


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "git:/a.py?ref", "http://x/a", "", "a", "file:", "file:///%00"])
def test_what_is_no_file_has_no_path(uri: str) -> None:
    assert file_path(uri) is None


@pytest.mark.parametrize("path", ["/a/b c.py", "/a/@b", "/a/é😋", "/a#b?c", "/a/100%", "/c:/a.py", "//server/share/a"])
def test_a_path_survives_the_way_there_and_back(path: str) -> None:
    assert file_path(file_uri(Path(path))) == Path(path)


@pytest.mark.parametrize(
    ("text", "path"), [("file:///a/b%20c", "/a/b c"), ("/a/b%20c", "/a/b%20c"), ("/a/../b/", "/b")]
)
def test_paths_are_taken_as_they_are(text: str, path: str) -> None:
    assert absolute(text, what="cwd") == path


@pytest.mark.parametrize("text", ["", "a/b", "./a", "~/a", "untitled:x", "http://a/b", "/a\0b"])
def test_what_is_neither_names_the_field(text: str) -> None:
    with pytest.raises(RpcError, match=r"^params\.cwd: must be a file URI or an absolute path"):
        absolute(text, what="params.cwd")
