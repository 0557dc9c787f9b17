"""An "always" answer is saved beside the project's settings, and holds for the person who gave it and nobody else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ensign.config.local_rules import add_rule
from ensign.protocol.errors import UserError
from tests.config.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def local_rules(desk: Desk, *, trusted: bool) -> tuple[str, ...]:
    return next((layer.rules.allow for layer in desk.settings(trusted=trusted).layers if layer.name == "local"), ())


def test_a_saved_rule_holds_from_then_on_also_before_trust(desk: Desk) -> None:
    add_rule(desk.paths, desk.root, "Bash(npm test:*)")
    add_rule(desk.paths, desk.root, "Edit(./src/**)")
    add_rule(desk.paths, desk.root, "Edit(./src/**)")
    assert json.loads(desk.local.read_text(encoding="utf-8")) == {
        "permissions": {"allow": ["Bash(npm test:*)", "Edit(./src/**)"]}
    }
    for trusted in (True, False):
        assert local_rules(desk, trusted=trusted) == ("Bash(npm test:*)", "Edit(./src/**)")
    assert (desk.root / ".ensign" / ".gitignore").read_text() == "settings.local.json\n.gitignore\n"
    assert sorted(path.name for path in desk.local.parent.iterdir()) == [".gitignore", "settings.local.json"]


def test_before_trust_a_rule_that_the_person_did_not_save_here_does_not_hold(desk: Desk, tmp_path: Path) -> None:
    desk.write(desk.local, {"permissions": {"allow": ["Bash(*)", "Read"]}})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    add_rule(desk.paths, elsewhere, "Bash(*)")
    add_rule(desk.paths, desk.root, "Write")
    assert local_rules(desk, trusted=False) == ("Write",)
    assert local_rules(desk, trusted=True) == ("Bash(*)", "Read", "Write")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "permissions": {\n    "allow": [\n      "Read"\n    ]\n  }\n}\n'),
        ("{}", '{"permissions": {"allow": ["Read"]}}'),
        ('{\n  // mine\n  "reviewEdits": "ask"\n}\n', None),
        ('{"reviewEdits": "ask", "permissions": {"deny": ["Write"]}}',
         '{"reviewEdits": "ask", "permissions": { "allow": ["Read"],"deny": ["Write"]}}'),
        ('{"permissions": {"allow": []}}', '{"permissions": {"allow": ["Read"]}}'),
        ('{"permissions": {"allow": ["Glob"]}}', '{"permissions": {"allow": ["Glob", "Read"]}}'),
        ('{\n "permissions.allow": [\n  "Glob", // why\n ],\n}',
         '{\n "permissions.allow": [\n  "Glob",\n  "Read", // why\n ],\n}'),
        ('{"permissions": {"allow": ["Read"]}}', '{"permissions": {"allow": ["Read"]}}'),
    ],
)  # fmt: skip
def test_saving_keeps_all_else_of_the_file(desk: Desk, before: str, after: str | None) -> None:
    desk.write(desk.local, before)
    desk.local.chmod(0o640)
    add_rule(desk.paths, desk.root, "Read")
    text = desk.local.read_text(encoding="utf-8")
    if after is not None:
        assert text == after
    assert "Read" in local_rules(desk, trusted=True)
    assert desk.problems() == []
    assert ("// mine" in before) == ("// mine" in text)
    assert desk.local.stat().st_mode & 0o777 == 0o640


def test_what_cannot_be_saved_is_refused_and_leaves_the_settings_alone(desk: Desk, tmp_path: Path) -> None:
    desk.write(desk.local, "{ broken")
    with pytest.raises(UserError, match="line 1"):
        add_rule(desk.paths, desk.root, "Read")
    assert desk.local.read_text(encoding="utf-8") == "{ broken"
    with pytest.raises(UserError, match="cannot be saved"):
        add_rule(desk.paths, desk.root, "Bash(x")
    desk.local.unlink()
    victim = desk.write(tmp_path / "victim.json", "{}")
    desk.local.symlink_to(victim)
    with pytest.raises(UserError, match="link"):
        add_rule(desk.paths, desk.root, "Read")
    assert victim.read_text(encoding="utf-8") == "{}"
    blocked = replace(desk.paths, state=victim)
    desk.local.unlink()
    with pytest.raises(UserError, match="cannot be saved"):
        add_rule(blocked, desk.root, "Read")
    assert not desk.local.exists()


def test_an_ignore_file_of_the_project_gets_a_line(desk: Desk) -> None:
    ignore = desk.write(desk.root / ".ensign" / ".gitignore", "cache")
    add_rule(desk.paths, desk.root, "Read")
    add_rule(desk.paths, desk.root, "Write")
    assert ignore.read_text(encoding="utf-8") == "cache\nsettings.local.json\n"
