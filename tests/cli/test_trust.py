"""`ensign trust` from the shell: it shows all that a folder asks for, and what is said there holds everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.shell import Shell, shell

pytestmark = pytest.mark.slow

LINE = ("Bash", '{"command": "touch x"}', "--json")


def settings(sh: Shell, *rules: str) -> Path:
    path = sh.root / ".ensign" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"permissions": {"allow": rules}}))
    return path


async def test_a_folder_is_shown_trusted_changed_and_forgotten(tmp_path: Path) -> None:
    async with shell(tmp_path) as sh:
        assert (await sh.run("trust")).out == f"{sh.root}: nothing in it needs trust\n"
        settings(sh, "Bash(touch:*)", "Bash(\u202els)")
        shown = await sh.run("trust")
        assert (shown.code, shown.err) == (1, "")
        assert shown.out == (
            f"{sh.root}: 1 file that only trust lets count\n"
            "\n"
            ".ensign/settings.json [settings]: not trusted\n"
            "  - allows without asking: Bash(touch:*)\n"
            "  - allows without asking: Bash(⟨U+202E⟩ls)\n"
            '    | {"permissions": {"allow": ["Bash(touch:*)", "Bash(\\u202els)"]}}\n'
        )
        assert (await sh.run("explain", *LINE)).last["decision"] == "ask"
        assert (await sh.run("trust", "--yes")).code == 0
        assert (await sh.run("explain", *LINE)).last["decision"] == "allow"
        assert (await sh.run("explain", *LINE, "--untrusted")).last["decision"] == "ask"
        settings(sh, "Bash(touch:*)", "Bash(rm:*)")
        changed = (await sh.run("trust", "--json")).last
        assert [(one["trusted"], one["changed"]) for one in changed["files"]] == [(False, True)]
        assert (await sh.run("explain", *LINE)).last["decision"] == "ask"
        assert (await sh.run("trust", "--yes", "--json")).last["files"][0]["trusted"]
        assert (await sh.run("trust", "--no", str(sh.root))).code == 0
        assert (await sh.run("explain", *LINE)).last["decision"] == "ask"
