"""Every field of an agent file: what it means, what it accepts, and what a bad value leads to."""

from __future__ import annotations

from dataclasses import fields as members
from pathlib import Path
from typing import Any

import pytest

from ensign.definitions.build import Built, build
from ensign.definitions.fields import FIELDS
from ensign.definitions.front_matter import read_front_matter
from ensign.protocol.access import Mode
from ensign.protocol.definition import AgentDefinition, Rules, Source
from tests.definitions.library import WORDS, agent


def built(text: str, *, trusted: bool = True) -> Built:
    matter = read_front_matter(text.encode())
    assert matter is not None
    return build(matter, WORDS, path=Path("a.md"), source=Source.PROJECT, trusted=trusted)


def value(field: str, written: str) -> tuple[Any, list[tuple[str, str, int]]]:
    """The attribute that the field sets, and the notes as severity, code and line; None where the file is skipped."""
    attribute = next(entry.attribute for entry in FIELDS if entry.name == field)
    result = built(agent(**{field: written}))
    notes: list[tuple[str, str, int]] = [(note.severity, note.code, note.mark.line) for note in result.notes]
    return (getattr(result.definition, attribute) if result.definition else None), notes


def test_a_definition_has_all_that_its_file_says() -> None:
    text = agent(
        name="Reviewer-2", description="'When: reviewing'", tools="Read, Task", disallowedTools="[Write]", model="opus",
        effort="high", maxTurns="12", maxTokens="5000", timeout="1.5", permissionMode="acceptEdits",
        permissions="{allow: ['Bash(npm test:*)', Read], ask: Edit, deny: ['Bash(rm:*)']}", background="True",
        isolation="worktree", cwd="sub", skills="pdf, docx", mcpServers="[github, {db: {command: x, args: [1]}}]",
        hooks="{Stop: [{hooks: [{type: command, command: ./x, timeout: 5}]}]}", memory="local",
        initialPrompt="Read it.", color="pink", owner="{team: a}",
    )  # fmt: skip
    result = built(text)
    assert result.definition == AgentDefinition(
        name="Reviewer-2",
        description="When: reviewing",
        role="Role.",
        source=Source.PROJECT,
        path=Path("a.md"),
        tools=("Read", "Agent"),
        disallowed_tools=("Write",),
        model="opus",
        effort="high",
        max_turns=12,
        max_tokens=5000,
        timeout_s=1.5,
        permission_mode=Mode.ACCEPT_EDITS,
        permissions=Rules(allow=("Bash(npm test:*)", "Read"), ask=("Edit",), deny=("Bash(rm:*)",)),
        background=True,
        isolation="worktree",
        cwd="sub",
        skills=("pdf", "docx"),
        mcp_servers=("github", {"db": {"command": "x", "args": ["1"]}}),
        hooks={"Stop": [{"hooks": [{"type": "command", "command": "./x", "timeout": "5"}]}]},
        memory="local",
        initial_prompt="Read it.",
        color="pink",
        unserved=("isolation", "skills", "hooks", "memory"),
        extra={"owner": {"team": "a"}},
    )
    assert [(note.severity, note.code, note.mark.line) for note in result.notes] == [
        ("information", "unserved", 14),
        ("information", "unserved", 16),
        ("information", "unserved", 18),
        ("information", "unserved", 19),
        ("warning", "unknown-field", 22),
    ]


def test_a_file_without_optional_fields_has_the_defaults() -> None:
    result = built(agent())
    expected = AgentDefinition(name="a", description="d", role="Role.", source=Source.PROJECT, path=Path("a.md"))
    assert result == Built(definition=expected, notes=())


def test_every_field_has_an_attribute_a_meaning_and_an_example_that_is_read_without_a_complaint() -> None:
    attributes = {member.name for member in members(AgentDefinition)}
    for field in FIELDS:
        assert field.attribute in attributes
        assert field.meaning.endswith(".")
        others = {"name": "a", "description": "d"} | {field.name: field.example}
        notes = built(agent(**others)).notes
        assert [note for note in notes if note.code != "unserved"] == []


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Read, Grep, Glob", ("Read", "Grep", "Glob")),
        ("[Read, Grep, Glob]", ("Read", "Grep", "Glob")),
        ("\n  - Read\n  - Grep\n  - Glob", ("Read", "Grep", "Glob")),
        ("Read,Grep,,Read , ", ("Read", "Grep")),
        ("Task", ("Agent",)),
        ("Agent(Explore, Plan), Read", ("Agent", "Read")),
        ("*", ("*",)),
        ('"*"', ("*",)),
        ("[*]", ("*",)),
        ("mcp__github, mcp__db__*, mcp__db__query", ("mcp__github", "mcp__db__*", "mcp__db__query")),
        ("[]", ()),
    ],
)
def test_tools_are_a_list_or_a_text_with_commas(written: str, expected: tuple[str, ...]) -> None:
    assert value("tools", written) == (expected, [])


@pytest.mark.parametrize(
    ("written", "expected", "notes"),
    [
        ("Raed", ("Raed",), [("error", "unknown-tool", 4)]),
        ("\n  - Read\n  - Raed", ("Read", "Raed"), [("error", "unknown-tool", 6)]),
        ("Read, LS", ("Read", "LS"), [("error", "unknown-tool", 4)]),
        ("read", ("read",), [("error", "unknown-tool", 4)]),
        ("Bash(git log:*)", ("Bash(git log:*)",), [("error", "unknown-tool", 4)]),
        ("mcp__", ("mcp__",), [("error", "unknown-tool", 4)]),
        ("null", ("null",), [("error", "unknown-tool", 4)]),
        ("Read, WebFetch", ("Read", "WebFetch"), [("information", "unserved", 4)]),
        ("", None, [("error", "wrong-type", 4)]),
        ('""', None, [("error", "wrong-type", 4)]),
        ('"[\\"Read\\", \\"Write\\"]"', None, [("error", "wrong-type", 4)]),
        ("{Read: true}", None, [("error", "wrong-type", 4)]),
        ("[[Read]]", None, [("error", "wrong-type", 4)]),
    ],
)
def test_an_unknown_tool_is_an_error_and_no_tools_are_never_an_accident(
    written: str, expected: Any, notes: list[tuple[str, str, int]]
) -> None:
    assert value("tools", written) == (expected, notes)


def test_an_unknown_tool_is_named_with_the_one_that_was_meant() -> None:
    messages = [note.message for note in built(agent(tools="Raed, MultiEdit, Bash(ls)")).notes]
    assert messages == [
        "there is no tool 'Raed'; did you mean 'Read'?",
        "there is no tool 'MultiEdit'; 'Edit' does its work",
        "'Bash(ls)' has a pattern, which belongs in 'permissions'; 'tools' takes bare names",
    ]


@pytest.mark.parametrize(
    "name", ["1a", "a b", "a.b", "a/b", "ä", "a" * 33, "main", "MAIN", "010", "-a", "[a]", "{a: b}", '"a\\nb"', ""]
)
def test_a_bad_name_skips_the_file(name: str) -> None:
    result = built(agent(name=name))
    assert result.definition is None
    assert [(note.severity, note.mark.line) for note in result.notes] == [("error", 2)]


@pytest.mark.parametrize("name", ["a", "no", "off", "null", "code-reviewer", "A_9", "a" * 32, "'a'"])
def test_a_good_name_is_taken_as_written(name: str) -> None:
    assert value("name", name) == (name.strip("'"), [])


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("---\nname: a\n---\nx", ["no-description"]),
        ("---\ndescription: d\n---\nx", ["no-name"]),
        ("---\nname: a\ndescription:\n---\nx", ["no-description"]),
        ("---\nname: a\ndescription: [d]\n---\nx", ["wrong-type"]),
        ("---\n---\nx", ["no-name", "no-description"]),
        (
            "---\nname: 1\ndescription: d\nbackground: maybe\ntools: {}\n---\nx",
            ["bad-name", "wrong-type", "wrong-type"],
        ),
    ],
)
def test_every_fault_that_skips_a_file_is_reported(text: str, codes: list[str]) -> None:
    result = built(text)
    assert result.definition is None
    assert [note.code for note in result.notes] == codes


DEGRADED = [("warning", "bad-value", 4)]
SKIPPED = [("error", "wrong-type", 4)]


@pytest.mark.parametrize(
    ("field", "written", "expected", "notes"),
    [
        ("model", "inherit", "inherit", []),
        ("model", "small", "small", []),
        ("model", "haiku", "haiku", []),
        ("model", "fast", "fast", []),
        ("model", "openai/gpt-x", "openai/gpt-x", []),
        ("model", "local/any", "local/any", []),
        ("model", "gpt-x", "inherit", [("warning", "unknown-model", 4)]),
        ("model", "nowhere/x", "inherit", [("warning", "unknown-model", 4)]),
        ("model", "openai/", "inherit", [("warning", "unknown-model", 4)]),
        ("model", "", None, [("warning", "no-value", 4)]),
        ("model", "[a]", None, SKIPPED),
        ("permissionMode", "plan", Mode.PLAN, []),
        ("permissionMode", "dontAsk", Mode.DONT_ASK, []),
        ("permissionMode", "yolo", Mode.DEFAULT, DEGRADED),
        ("permissionMode", "Plan", Mode.DEFAULT, DEGRADED),
        ("permissionMode", "", None, [("warning", "no-value", 4)]),
        ("effort", "none", "none", []),
        ("effort", "max", "high", DEGRADED),
        ("effort", "huge", None, DEGRADED),
        ("maxTurns", "1", 1, []),
        ("maxTurns", "0", None, DEGRADED),
        ("maxTurns", "-1", None, DEGRADED),
        ("maxTurns", "010", None, DEGRADED),
        ("maxTurns", "1.5", None, DEGRADED),
        ("maxTurns", "1_0", None, DEGRADED),
        ("maxTurns", "many", None, DEGRADED),
        ("maxTurns", "9" * 5000, None, DEGRADED),
        ("maxTurns", "٣", None, DEGRADED),
        ("maxTurns", "[1]", None, SKIPPED),
        ("maxTokens", "1e3", None, DEGRADED),
        ("timeout", "600", 600.0, []),
        ("timeout", "0", None, DEGRADED),
        ("timeout", "inf", None, DEGRADED),
        ("timeout", "10m", None, DEGRADED),
        ("background", "true", True, []),
        ("background", "'false'", False, []),
        ("background", "off", None, SKIPPED),
        ("background", "1", None, SKIPPED),
        ("isolation", "container", None, [*DEGRADED]),
        ("memory", "global", None, [*DEGRADED]),
        ("color", "black", None, DEGRADED),
        ("hooks", "touch CANARY", None, SKIPPED),
        ("permissions", "[Read]", None, SKIPPED),
        ("permissions", "{deny: {a: b}}", None, SKIPPED),
        ("permissions", "{allow: Read, alow: x}", Rules(allow=("Read",)), [("warning", "unknown-field", 4)]),
        ("permissions", "{deny: ['Bash(rm:*', 'Bash(rm:*)']}", Rules(deny=("Bash(rm:*)",)), [("error", "bad-rule", 4)]),
        ("mcpServers", "github", ("github",), []),
        ("mcpServers", "{a: {command: x}, b: {url: y}}", ({"a": {"command": "x"}}, {"b": {"url": "y"}}), []),
        ("mcpServers", "[[a]]", None, SKIPPED),
    ],
)  # fmt: skip
def test_a_wrong_type_skips_the_file_and_another_bad_value_degrades(
    field: str, written: str, expected: Any, notes: list[tuple[str, str, int]]
) -> None:
    assert value(field, written) == (expected, notes)


def test_an_unknown_field_is_kept_and_the_known_one_is_suggested() -> None:
    result = built(agent(disallowed_tools="Write"))
    assert result.definition is not None
    assert result.definition.extra == {"disallowed_tools": "Write"}
    assert [note.message for note in result.notes] == [
        "there is no field 'disallowed_tools'; did you mean 'disallowedTools'?"
    ]


def test_before_trust_a_project_file_cannot_loosen_or_run_anything() -> None:
    text = agent(
        permissionMode="bypassPermissions",
        permissions="{allow: ['Bash(*)'], ask: [Read], deny: [Write]}",
        hooks="{PreToolUse: [{hooks: [{type: command, command: touch CANARY}]}]}",
        mcpServers="[{x: {command: touch CANARY}}]",
    )
    result = built(text, trusted=False)
    assert result.definition == AgentDefinition(
        name="a",
        description="d",
        role="Role.",
        source=Source.PROJECT,
        path=Path("a.md"),
        permission_mode=Mode.DEFAULT,
        permissions=Rules(ask=("Read",), deny=("Write",)),
        trusted=False,
    )
    assert [(note.severity, note.code, note.mark.line) for note in result.notes] == [
        ("warning", "untrusted", line) for line in (4, 5, 6, 7)
    ]


def test_before_trust_a_project_file_may_still_narrow_itself() -> None:
    result = built(agent(permissionMode="plan", permissions="{deny: [Write]}"), trusted=False)
    assert result.definition is not None
    assert result.definition.permission_mode is Mode.PLAN
    assert result.notes == ()


def test_a_file_without_a_role_says_so() -> None:
    assert [(note.severity, note.code) for note in built(agent(body="")).notes] == [("information", "no-role")]
