"""The server from Neovim, with no plugin: code action, report, question, edit of an unsaved buffer, undo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.nvim


def sitting(script: str, tmp_path: Path, project: Path, file: Path) -> Any:
    """Let a person sit at Neovim as a script says; return what they saw."""
    result = tmp_path / "result.json"
    environment = {
        **os.environ,
        "ENSIGN_HOME": str(tmp_path / "home"),
        "ENSIGN_MODEL": "offline",
        "PYTHON": sys.executable,
        "ROOT": str(project),
        "FILE": str(file),
        "RESULT": str(result),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    command = ["nvim", "--headless", "--clean", "-n", "-c", f"luafile {Path(__file__).with_name(script)}"]
    subprocess.run(command, env=environment, cwd=project, check=True, timeout=110, capture_output=True)
    seen = json.loads(result.read_text(encoding="utf-8"))
    assert "problem" not in seen, seen["problem"]
    return seen


def test_a_person_explores_answers_and_gets_an_edit_of_an_unsaved_buffer(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    file = project / "names.py"
    file.write_text("old_name = 1\n", encoding="utf-8")
    (project / "use.py").write_text("from names import old_name\n", encoding="utf-8")
    seen = sitting("session.lua", tmp_path, project, file)
    assert seen["actions"] == ["Explore this with a subagent", "Ask a subagent…"]
    assert seen["explored"]
    (question,) = seen["prompts"]
    assert "[general-purpose" in "\n".join(question)
    assert "names.py" in "\n".join(question)
    unsaved = "unsaved = '😋' + old_name"
    assert seen["edited"] == "old_name = 1\nunsaved = new_name"
    assert seen["undone"] == f"old_name = 1\n{unsaved}"
    assert seen["modified"]
    assert seen["disk"] == "old_name = 1"
    assert {"begin", "report", "end"} <= set(seen["progress"])


def test_a_person_writes_an_agent_file(tmp_path: Path) -> None:
    project = tmp_path / "project"
    file = project / ".ensign" / "agents" / "writer.md"
    file.parent.mkdir(parents=True)
    seen = sitting("agent_file.lua", tmp_path, project, file)
    assert seen["faults"] == [[3, 7, "unknown-tool"], [4, 6, "no-value"]]
    assert {"red", "blue"} <= set(seen["colors"])
    assert seen["hover"].startswith("**tools**")
    assert seen["fixes"] == ["Change to 'Read'"]
    assert seen["text"] == "---\nname: author\ndescription: d\ntools: Read\ncolor: \n---\nRole."
