"""Where state is kept, and what happens when it cannot be written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ensign.config.paths import prepare, state_paths
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


def test_a_home_that_cannot_be_written_is_a_warning_and_not_the_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    wanted = state_paths({"HOME": str(tmp_path), "ENSIGN_HOME": str(tmp_path / "file" / "home")})
    paths, diagnostics = prepare(wanted)
    try:
        assert (paths.home, paths.settings) == (wanted.home, wanted.settings)
        assert paths.sessions.is_dir()
        assert paths.state.stat().st_mode & 0o777 == 0o700
        assert [(item.path, item.severity, item.code) for item in diagnostics] == [
            (wanted.home, "warning", "read-only")
        ]
    finally:
        shutil.rmtree(paths.state)
