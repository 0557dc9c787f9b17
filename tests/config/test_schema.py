"""The schema covers every setting once, and its defaults are those in force."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

from ensign.config.keys import Reach, all_keys
from ensign.config.load import Start, load
from ensign.config.paths import StatePaths
from ensign.config.schema import settings_schema
from ensign.protocol.settings import ModelSettings, Settings, SubagentSettings


def test_every_member_of_the_settings_has_a_key_with_a_meaning() -> None:
    known = {(key.group, key.attribute) for key in all_keys()}
    assert {("models", member.name) for member in fields(ModelSettings)} <= known
    assert {("subagents", member.name) for member in fields(SubagentSettings)} <= known
    flags = {"layers", "models", "subagents", "tools", "limits_max_turns", "limits_max_tokens", "limits_timeout_s"} | {
        "git_runs"
    }
    assert {("", member.name) for member in fields(Settings) if member.name not in flags} <= known
    assert all(key.meaning.endswith(".") for key in all_keys())
    assert len({key.name for key in all_keys()}) == len(all_keys())


def test_the_defaults_of_the_schema_change_nothing(tmp_path: Path) -> None:
    defaults = {name: entry["default"] for name, entry in settings_schema()["properties"].items()}
    paths = StatePaths(home=tmp_path, state=tmp_path, user_home=tmp_path, policy=tmp_path / "policy.json")
    loaded = load(paths, Start(environ={}, options=json.loads(json.dumps(defaults))), root=None)
    assert loaded.settings == Settings()
    assert loaded.diagnostics == ()


def test_what_a_folder_may_not_choose_is_no_setting_of_a_folder_in_the_editor() -> None:
    manifest = json.loads((Path(__file__).parents[2] / "extension" / "package.json").read_text(encoding="utf-8"))
    shown = manifest["contributes"]["configuration"]["properties"]
    reach = {f"ensign.{key.name}": key.reach for key in all_keys()} | {"ensign.permissions.allow": Reach.TRUSTED}
    folders = {name for name, entry in shown.items() if entry.get("scope") != "machine"}
    assert folders & {name for name in shown if reach.get(name) in (Reach.USER, Reach.TRUSTED)} == set()


def test_the_schema_says_types_and_limits() -> None:
    properties = settings_schema()["properties"]
    assert properties["subagents.maxRunning"]["type"] == "integer"
    assert properties["subagents.maxRunning"]["minimum"] == 1
    assert properties["subagents.sessionTokens"]["type"] == ["integer", "null"]
    assert properties["reviewEdits"]["enum"] == ["auto", "ask"]
    assert properties["permissions.deny"]["items"] == {"type": "string"}
    assert properties["models.providers"]["additionalProperties"]["required"] == ["kind"]
