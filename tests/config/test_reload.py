"""Settings are read again: what is good takes the place of what was, what is bad does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ensign.protocol.definition import Rules
from tests.config.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_value_that_is_taken_away_is_the_default_again(desk: Desk) -> None:
    desk.write(desk.project, {"subagents.reportChars": 10})
    before = desk.load()
    desk.write(desk.project, {})
    assert desk.load(before=before).settings == desk.load().settings
    assert desk.load(before=before).settings.subagents.report_chars == 8000


@pytest.mark.parametrize(
    ("bad", "place"),
    [
        ({"subagents.reportChars": "many", "agent.maxTurns": 9}, (1, 27)),
        ('{"subagents.reportChars": 20,\n"agent.maxTurns": 9', (2, 20)),
    ],
)
def test_a_bad_value_leaves_the_one_before_in_force(desk: Desk, bad: Any, place: tuple[int, int]) -> None:
    desk.write(desk.project, {"subagents.reportChars": 10})
    before = desk.load()
    desk.write(desk.project, bad)
    after = desk.load(before=before)
    assert after.settings.subagents.report_chars == 10
    assert [(fault.line, fault.column, fault.severity) for fault in after.diagnostics] == [(*place, "error")]
    assert after.settings.max_turns == (9 if isinstance(bad, dict) else 50)
    # And so it stays, however often it is read.
    assert desk.load(before=after).settings == after.settings


def test_an_entry_of_a_mapping_that_is_bad_now_is_as_it_was(desk: Desk) -> None:
    desk.write(desk.project, {"models.aliases": {"one": "openai/a", "two": "openai/b", "three": "openai/c"}})
    before = desk.load()
    desk.write(desk.project, {"models.aliases": {"one": 7, "two": "openai/d"}})
    after = desk.load(before=before)
    assert after.settings.models.aliases == {"one": "openai/a", "two": "openai/d"}
    assert [fault.message for fault in after.diagnostics] == [
        "'models.aliases.one' must be text, not 7; the value before holds"
    ]


def test_a_rule_that_is_bad_now_never_opens_what_was_closed(desk: Desk) -> None:
    desk.write(desk.project, {"permissions": {"allow": ["Read", "Grep"], "deny": ["Bash", "WebFetch"]}})
    before = desk.load()
    desk.write(desk.project, {"permissions": {"allow": ["Read", "Grep("], "deny": ["Edit", "Bash("]}})
    (layer,) = desk.load(before=before).settings.layers
    assert layer.rules == Rules(allow=("Read",), deny=("Edit", "Bash", "WebFetch"))


def test_what_a_trusted_folder_said_is_gone_with_the_trust(desk: Desk) -> None:
    desk.write(desk.project, {"subagents.maxRunning": 3})
    before = desk.load()
    desk.write(desk.project, {"subagents.maxRunning": "many"})
    assert desk.load(trusted=False, before=before).settings.subagents.max_running == 8
