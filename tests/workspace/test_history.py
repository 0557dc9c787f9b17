"""What is kept of files before an agent changes them: their first state, up to a cap, also in a new process."""

from pathlib import Path

from ensign.workspace.history import MAX_KEPT_BYTES, Changed, History


def test_the_first_state_is_kept_and_every_version_that_was_made(tmp_path: Path) -> None:
    path, made = tmp_path / "a.txt", tmp_path / "\udcff.txt"
    history = History(tmp_path / "before")
    history.intend(path, b"one", b"2")
    history.intend(made, None, b"m")
    history.intend(path, b"two", b"3")
    expected = [
        Changed(path=path, before=b"one", kept=True, made=(b"2", b"3")),
        Changed(path=made, before=None, kept=True, made=(b"m",)),
    ]
    assert history.changes() == expected
    again = History(tmp_path / "before")
    again.intend(path, b"three", b"4")
    assert again.changes()[0] == Changed(path=path, before=b"one", kept=True, made=(b"2", b"3", b"4"))


def test_what_is_beyond_the_cap_is_not_kept_and_known_to_be_lost(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.intend(tmp_path / "a", b"x" * MAX_KEPT_BYTES, b"1")
    history.intend(tmp_path / "b", b"x", b"1")
    assert [one.kept for one in history.changes()] == [True, False]
    assert History(tmp_path).changes()[1] == Changed(path=tmp_path / "b", before=None, kept=False, made=(b"1",))


def test_a_line_cut_by_a_crash_is_left_out(tmp_path: Path) -> None:
    History(tmp_path).intend(tmp_path / "a", None, b"1")
    with (tmp_path / "changes.jsonl").open("ab") as file:
        file.write(b'{"path": "/b", "ver')
    assert [one.path for one in History(tmp_path).changes()] == [tmp_path / "a"]
