"""Where state is kept, and what happens when it cannot be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ensign.config.paths import StatePaths, prepare, state_paths
from ensign.protocol.errors import UserError


def test_the_environment_says_where_the_home_is(tmp_path: Path) -> None:
    paths = state_paths({"HOME": str(tmp_path), "ENSIGN_HOME": str(tmp_path / "own")})
    assert (paths.home, paths.state, paths.user_home) == (tmp_path / "own", tmp_path / "own", tmp_path)
    assert paths.settings == tmp_path / "own" / "settings.json"
    assert paths.agents == tmp_path / "own" / "agents"
    assert state_paths({"HOME": str(tmp_path), "ENSIGN_HOME": "~/x"}).home == tmp_path / "x"
    assert state_paths({"HOME": str(tmp_path)}).home.name == "ensign"
    with pytest.raises(UserError, match="ENSIGN_HOME"):
        state_paths({"HOME": str(tmp_path), "ENSIGN_HOME": "relative"})


def test_the_folders_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    paths, diagnostics = prepare(state_paths({"HOME": str(tmp_path), "ENSIGN_HOME": str(tmp_path / "a" / "b")}))
    assert diagnostics == ()
    for folder in (paths.home, paths.sessions, paths.run, paths.log):
        assert folder.stat().st_mode & 0o777 == 0o700


def unwritable(folder: Path) -> StatePaths:
    (folder / "file").write_text("in the way")
    return state_paths({"HOME": str(folder), "ENSIGN_HOME": str(folder / "file" / "home")})


def test_a_home_that_cannot_be_written_is_a_warning_and_not_the_end(tmp_path: Path) -> None:
    wanted = unwritable(tmp_path)
    paths, diagnostics = prepare(wanted)
    assert (paths.home, paths.settings) == (wanted.home, wanted.settings)
    assert paths.sessions.is_dir()
    assert paths.state.stat().st_mode & 0o777 == 0o700
    assert [(item.path, item.severity, item.code) for item in diagnostics] == [(wanted.home, "warning", "read-only")]
    assert paths.temporary is not None
    paths.temporary.remove()
    assert not paths.state.exists()


@pytest.mark.slow
@pytest.mark.parametrize(("end", "left"), [("", False), ("os.kill(os.getpid(), 9)", True)])
def test_what_stood_in_for_the_home_is_gone_at_the_exit_or_after_a_kill_at_the_next_start(
    tmp_path: Path, end: str, left: bool
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    wanted = unwritable(tmp_path)
    environment = {"TMPDIR": str(temporary), "HOME": str(tmp_path), "ENSIGN_HOME": str(wanted.home)}

    def start(then: str) -> list[str]:
        code = "import os\nfrom ensign.config.paths import StatePaths, prepare, state_paths\n"
        code += f"paths, _ = prepare(state_paths(os.environ))\nprint(sorted(os.listdir({str(temporary)!r})))\n{then}"
        done = subprocess.run(
            [sys.executable, "-uc", code], env=environment, capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        return done.stdout.split()

    first = start(end)
    assert len(first) == 1
    assert bool(list(temporary.iterdir())) == left
    second = start("")
    assert (len(second), second == first) == (1, False)
    assert list(temporary.iterdir()) == []
