"""Commands of agents that only read, or ask for it, run in a sandbox, through the front door; or are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ensign.testing.replies import Reply, calls
from ensign.workspace.sandbox import Sandbox
from tests.session.bench import CHILD, Bench, bench, delegate

SANDBOXED = "it ran in a sandbox: no network, no writing"
REFUSED = "the command did not run: this agent's commands need a sandbox, and "
CONFINED = "---\nname: careful\ndescription: Works.\ntools: Bash\nsandbox: true\n---\nWork.\n"


async def outcome(built: Bench, agent: str) -> str:
    """What the command of a subagent came to: `sandboxed`, `refused` or `plain`."""
    built.server.route(CHILD, calls(("Bash", {"command": "ls missing"})), Reply(text="done"))
    await built.turn("go")
    messages: list[dict[str, Any]] = built.child_requests()[-1].json["messages"]
    text = messages[-1]["content"]
    assert json.loads(built.tool_results()[-1])["status"] == "completed", agent
    if text.startswith(REFUSED):
        return "refused"
    assert "missing" in text
    return "sandboxed" if SANDBOXED in text else "plain"


@pytest.mark.parametrize(
    ("agent", "setting", "with_one", "without"),
    [
        ("Explore", None, "sandboxed", "plain"),
        ("Explore", "required", "sandboxed", "refused"),
        ("Explore", "off", "plain", "plain"),
        ("careful", "off", "sandboxed", "refused"),
        ("general-purpose", "required", "plain", "plain"),
    ],
)
async def test_commands_run_in_a_sandbox_as_agent_and_setting_want(
    tmp_path: Path, agent: str, setting: str | None, with_one: str, without: str
) -> None:
    root = tmp_path / "w"
    (root / ".ensign" / "agents").mkdir(parents=True)
    (root / ".ensign" / "agents" / "careful.md").write_text(CONFINED)
    problem = await Sandbox(home=tmp_path).problem()
    options = {"sandbox": setting} if setting else {}
    script = (calls(delegate(agent)), Reply(text="ok"))
    async with bench(root, *script, options=options, command_line={"allow": ("Bash(ls:*)",)}) as built:
        assert await outcome(built, agent) == (with_one if problem is None else without)
        check = next(check for check in await built.app.diagnose() if check.name == "sandbox")
        states = {None: "warning", "required": "failed", "off": "ok"}
        assert check.state == ("ok" if problem is None else states[setting])
        assert problem is None or setting == "off" or problem in check.detail


async def test_the_setting_is_not_believed_from_a_project(tmp_path: Path) -> None:
    root = tmp_path / "w"
    (root / ".ensign").mkdir(parents=True)
    (root / ".ensign" / "settings.json").write_text('{"sandbox": "off"}')
    async with bench(root, open_session=False) as built:
        check = next(check for check in await built.app.diagnose() if check.name == "settings")
        assert "'sandbox' is never read from project files" in check.detail
