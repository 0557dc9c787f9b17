"""A file is written whole or not at all, and only over what the writer has seen."""

from pathlib import Path

import pytest

from ensign.protocol.errors import ToolError
from ensign.workspace.atomic import ChangedMeanwhileError, write_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("there", [b"other\n", b"seen\nmore", b""])
def test_what_changed_since_it_was_seen_is_not_replaced(tmp_path: Path, there: bytes) -> None:
    path = tmp_path.resolve() / "f.txt"
    path.write_bytes(there)
    for replacing in (b"seen\n", None):
        with pytest.raises(ChangedMeanwhileError):
            write_file(path, b"new\n", replacing=replacing)
    assert path.read_bytes() == there
    assert names(tmp_path) == ["f.txt"]


def test_a_file_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(ChangedMeanwhileError):
        write_file(tmp_path.resolve() / "f.txt", b"new\n", replacing=b"seen\n")
    assert names(tmp_path) == []


def test_folders_are_made_for_a_new_file(tmp_path: Path) -> None:
    path = tmp_path.resolve() / "a" / "b" / "f.txt"
    write_file(path, b"new\n", replacing=None)
    assert path.read_bytes() == b"new\n"
    assert names(path.parent) == ["f.txt"]


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    real = tmp_path.resolve() / "real.txt"
    real.write_bytes(b"old\n")
    link = tmp_path.resolve() / "link.txt"
    link.symlink_to(real)
    with pytest.raises(ToolError, match="a link, not a file"):
        write_file(link, b"new\n", replacing=b"old\n")
    assert real.read_bytes() == b"old\n"
    assert names(tmp_path) == ["link.txt", "real.txt"]


def test_a_file_in_place_of_a_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(ToolError, match="part of the path is not a folder"):
        write_file(tmp_path.resolve() / "a" / "f.txt", b"new\n", replacing=None)
