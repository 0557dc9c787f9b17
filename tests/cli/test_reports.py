"""`ensign agents`, `explain` and `doctor` from the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell, shell

pytestmark = pytest.mark.slow

GOOD = "---\nname: {name}\ndescription: Does {name}\ntools: Read, Grep\n---\nYou do it.\n"


def agent(sh: Shell, file: str, text: str) -> Path:
    """Write a definition of the project."""
    path = sh.root / ".ensign" / "agents" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def test_agents_lists_the_good_files_and_says_what_is_wrong_with_the_others(tmp_path: Path) -> None:
    async with shell(tmp_path) as sh:
        agent(sh, "one.md", GOOD.format(name="one"))
        agent(sh, "deep/er/two.md", GOOD.format(name="two"))
        agent(sh, "README.md", "# Our agents\n")
        broken = agent(sh, "broken.md", "---\nname: three\ndescription: [unclosed\n---\nx\n")
        # From elsewhere, with the folder as the argument.
        root, sh.root = sh.root, tmp_path
        done = await sh.run("agents", str(root), "--json")
        said = await sh.run("agents", str(root))
    assert (done.code, done.err, len(done.lines)) == (1, "", 1)
    assert [one["name"] for one in done.last["agents"]] == ["Explore", "general-purpose", "one", "Plan", "two"]
    assert [(one["path"], one["line"], one["severity"]) for one in done.last["diagnostics"]] == [
        (str(broken), 3, "error")
    ]
    assert (said.code, said.err.startswith(f"{broken}:3:"), "two [project" in said.out) == (1, True, True)


async def test_agents_without_a_fault_is_0_and_no_folder_is_2(tmp_path: Path) -> None:
    async with shell(tmp_path) as sh:
        assert (await sh.run("agents", "--json")).code == 0
        assert (await sh.run("agents", "nowhere")).code == 2


@pytest.mark.parametrize(
    ("arguments", "decision"),
    [
        (("Bash", '{"command": "ls"}'), "ask"),
        (("Bash", '{"command": "ls"}', "--settings", "../rules.json"), "allow"),
        (("Bash", '{"command": "ls; rm -rf /"}', "--settings", "../rules.json"), "deny"),
        (("Write", '{"file_path": "a", "content": ""}'), "ask"),
        (("Write", '{"file_path": "a", "content": ""}', "--mode", "acceptEdits"), "allow"),
        (("Write", '{"file_path": "a", "content": ""}', "--mode", "acceptEdits", "--agent", "Plan"), "deny"),
        (("Read", '{"file_path": "a"}', "--untrusted"), "allow"),
    ],
    ids=str,
)
async def test_explain_says_what_would_be_decided(tmp_path: Path, arguments: tuple[str, ...], decision: str) -> None:
    async with shell(tmp_path) as sh:
        rules: dict[str, Any] = {"permissions": {"allow": ["Bash(ls:*)"], "deny": ["Bash(rm:*)"]}}
        (tmp_path / "rules.json").write_text(json.dumps(rules))
        done = await sh.run("explain", *arguments, "--json")
        assert (done.code, done.last["decision"], bool(done.last["reason"])) == (0, decision, True)
        assert (await sh.run("explain", *arguments)).out.startswith(f"{decision}: {done.last['reason']}")
        assert list(sh.root.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Bsh", "{}"), "there is no tool 'Bsh'"),
        (("Bash", "ls"), "INPUT_JSON is not JSON"),
        (("Bash", "[]"), "INPUT_JSON must be a JSON object"),
        (("Bash", "{}"), "command"),
        (("Bash", '{"command": "ls"}', "--settings", "none.json"), "no settings file 'none.json'"),
        (("Bash", '{"command": "ls"}', "--agent", "nobody"), "no subagent named 'nobody'"),
    ],
    ids=str,
)
async def test_explain_says_what_is_wrong_with_the_question(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    async with shell(tmp_path) as sh:
        done = await sh.run("explain", *arguments)
        assert (done.code, done.out, words in done.err) == (2, "", True)


async def test_doctor_checks_the_machine_and_says_what_is_wrong(tmp_path: Path) -> None:
    async with shell(tmp_path) as sh:
        (sh.state / "settings.json").write_text('{"subagents": {"maxRuning": 3}}')
        done = await sh.run("doctor", "--json")
        checks = {one["name"]: one["state"] for one in done.last["checks"]}
        assert (done.code, checks["python"], checks["ripgrep"], checks["settings"]) == (0, "ok", "ok", "warning")
        assert "maxRuning" in (await sh.run("doctor")).out


@pytest.mark.parametrize(("arguments", "code"), [((), 2), (("--version",), 0), (("--help",), 0), (("nonsense",), 2)])
async def test_bare_words(tmp_path: Path, arguments: tuple[str, ...], code: int) -> None:
    async with shell(tmp_path) as sh:
        assert (await sh.run(*arguments)).code == code
