"""The language server of agent files, through the wire and the real runtime."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.real import Desk, agent, desk

FILE = ".ensign/agents/reviewer.md"
ACTIONS: dict[str, Any] = {
    "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}}
}


@pytest.fixture
async def person(tmp_path: Path) -> AsyncIterator[Desk]:
    files = {
        ".ensign/agents/helper.md": agent("helper"),
        ".claude/agents/reviewer.md": agent("reviewer"),
        FILE: agent("reviewer", "tools: Read, Agent(helper)"),
        ".ensign/settings.json": '{"permissions": {"deny": ["Agent(helper)", "Bash(helper)"]}}\n',
        "README.md": "---\nnmae: x\n---\n",
    }
    async with desk(tmp_path, files=files, capabilities=ACTIONS) as one:
        yield one


def labels(items: Any) -> list[str]:
    return [item["label"] for item in items]


def offset(text: str, place: Any) -> int:
    return sum(len(line) for line in text.splitlines(keepends=True)[: place["line"]]) + int(place["character"])


async def fixed(person: Desk, text: str, line: int, file: str = ".ensign/agents/new.md") -> dict[str, str]:
    """The text after each fix that is offered on a line, by its title."""
    uri = person.open(file, text)
    end = len(text.splitlines()[line])
    where = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": end}}
    params = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": [], "only": ["quickfix"]}}
    answer = await person.client.request("textDocument/codeAction", params)
    after: dict[str, str] = {}
    for action in answer["result"]:
        assert action["kind"] == "quickfix"
        (edit,) = action["edit"]["changes"][uri]
        first, last = (offset(text, edit["range"][end]) for end in ("start", "end"))
        after[action["title"]] = text[:first] + edit["newText"] + text[last:]
    person.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    return after


async def test_what_is_wrong_is_shown_while_it_is_typed_and_before_it_is_saved(person: Desk) -> None:
    uri = person.open(FILE, agent("reviewer", "nmae: x", "tools: Read, 😋, Gerp", "color: rde", "model: smal"))
    assert await person.faults(uri, 1) == [
        (3, 0, 4, 2, "unknown-field"),
        (4, 13, 15, 1, "unknown-tool"),
        (4, 17, 21, 1, "unknown-tool"),
        (5, 7, 10, 2, "bad-value"),
        (6, 7, 11, 2, "unknown-model"),
    ]
    person.change(uri, 2, agent("reviewer", "color: red"))
    assert await person.faults(uri, 2) == []
    person.change(uri, 3, "---\nname: reviewer\n")
    assert await person.faults(uri, 3) == [(0, 0, 3, 1, "not-closed")]


async def test_only_the_last_of_many_changes_is_looked_at(person: Desk) -> None:
    uri = person.open(FILE, "")
    for version in range(2, 50):
        person.change(uri, version, agent("reviewer", f"x{version}: 1"))
    assert await person.faults(uri, 49) == [(3, 0, 3, 2, "unknown-field")]
    sent = await person.client.sent("textDocument/publishDiagnostics")
    assert [params["version"] for params in sent if params["uri"] == uri] == [49]


async def test_a_closed_file_has_no_diagnostics_and_other_files_never_get_any(person: Desk) -> None:
    other = person.open("README.md", "---\nnmae: x\n---\n")
    uri = person.open(FILE, agent("reviewer", "nmae: x"))
    await person.faults(uri, 1)
    person.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    (*_, last) = await person.client.sent("textDocument/publishDiagnostics", 2)
    assert last == {"uri": uri, "diagnostics": []}
    assert other not in {params["uri"] for params in await person.client.sent("textDocument/publishDiagnostics")}
    assert await person.at("textDocument/hover", other, 1, 1) is None
    assert await person.at("textDocument/completion", other, 1, 1) is None


async def test_a_name_that_another_file_of_the_folder_has_is_a_fault(person: Desk) -> None:
    uri = person.open(".ensign/agents/new.md", agent("Helper"))
    assert await person.faults(uri, 1) == [(1, 6, 12, 1, "duplicate-name")]


async def test_fields_are_completed_with_their_meaning_and_each_only_once(person: Desk) -> None:
    uri = person.open(FILE, "---\nname: reviewer\nmo\n---\n")
    items = await person.at("textDocument/completion", uri, 2, 2)
    assert "name" not in labels(items)
    assert labels(items)[0] == "description"
    (model,) = [item for item in items if item["label"] == "model"]
    assert model["textEdit"] == {
        "range": {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 2}},
        "newText": "model: ",
    }
    assert "inherit for the parent's model" in model["documentation"]["value"]


@pytest.mark.parametrize(
    ("line", "some", "none"),
    [
        ("tools: Read, ", ["Grep", "Bash", "*"], ["Read", "TaskList"]),
        ("tools: [Read, Gr]", ["Grep"], ["Read"]),
        ("tools: Agent(", ["Explore", "helper", "reviewer"], ["Grep"]),
        ("model: ", ["inherit", "small", "opus", "offline"], []),
        ("permissionMode: ", ["plan", "acceptEdits"], []),
        ("color: ", ["red", "blue"], []),
        ("background: ", ["true", "false"], []),
        ("permissions: {deny: [", ["Bash", "Agent(helper)"], []),
        ("description: ", [], ["true"]),
    ],
)
async def test_values_are_completed_by_their_field(person: Desk, line: str, some: list[str], none: list[str]) -> None:
    uri = person.open(FILE, f"---\nname: reviewer\n{line}\n---\n")
    at = len(line.rstrip("]"))
    found = labels(await person.at("textDocument/completion", uri, 2, at))
    assert [word for word in some if word not in found] == []
    assert [word for word in none if word in found] == []


async def test_items_of_a_list_and_the_keys_of_permissions_are_completed(person: Desk) -> None:
    uri = person.open(FILE, "---\ntools:\n  - Read\n  - \npermissions:\n  \n---\n")
    assert "Grep" in labels(await person.at("textDocument/completion", uri, 3, 4))
    assert labels(await person.at("textDocument/completion", uri, 5, 2)) == ["allow", "ask", "deny"]


async def test_a_file_whose_end_is_missing_is_completed_as_well(person: Desk) -> None:
    uri = person.open(FILE, "---\nname: reviewer\ncolor: ")
    assert "red" in labels(await person.at("textDocument/completion", uri, 2, 7))


async def test_hover_tells_what_fields_tools_models_and_agents_are(person: Desk) -> None:
    text = "---\nname: reviewer\ntools: Read, Agent(helper)\nmodel: default\npermissionMode: plan\n---\n"
    uri = person.open(FILE, text)

    async def told(line: int, character: int) -> str:
        return str((await person.at("textDocument/hover", uri, line, character))["contents"]["value"])

    assert "The tools it may use" in await told(2, 1)
    assert (await told(2, 8)).startswith("**Read**\n\n")
    assert await told(2, 22) == "**helper** (project)\n\nd"
    assert await told(3, 9) == "`default` stands for **offline**"
    assert await told(4, 18) == "**plan**: reading only."
    hidden = person.project / ".claude/agents/reviewer.md"
    assert await told(1, 8) == f"**reviewer**\n\nHides the one of source project-claude: `{hidden}`"
    assert await person.at("textDocument/hover", uri, 0, 1) is None


async def test_a_definition_leads_to_the_one_it_hides_and_back_and_a_reference_to_its_agent(person: Desk) -> None:
    nearest = person.open(FILE, agent("reviewer", "tools: Agent(helper)"))
    hidden = person.open(".claude/agents/reviewer.md", agent("reviewer"))
    name = {"start": {"line": 1, "character": 6}, "end": {"line": 1, "character": 14}}
    assert await person.at("textDocument/definition", nearest, 1, 8) == [{"uri": hidden, "range": name}]
    assert await person.at("textDocument/definition", hidden, 1, 8) == [{"uri": nearest, "range": name}]
    helper = (person.project / ".ensign/agents/helper.md").as_uri()
    short = {"start": {"line": 1, "character": 6}, "end": {"line": 1, "character": 12}}
    assert await person.at("textDocument/definition", nearest, 3, 15) == [{"uri": helper, "range": short}]


async def test_a_rename_reaches_unsaved_definitions_and_the_rules_of_settings(person: Desk) -> None:
    referring = person.open(FILE, agent("reviewer", "color: red", "tools: Read, Agent(helper)"))
    helper = person.open(".ensign/agents/helper.md", agent("helper"))
    settings = (person.project / ".ensign/settings.json").as_uri()
    found = await person.at("textDocument/rename", helper, 1, 8, newName="assistant")

    def change(line: int, character: int) -> Any:
        start, end = {"line": line, "character": character}, {"line": line, "character": character + 6}
        return {"range": {"start": start, "end": end}, "newText": "assistant"}

    assert found == {
        "changes": {helper: [change(1, 6)], referring: [change(4, 19)], settings: [change(0, 33)]},
    }
    assert await person.at("textDocument/rename", referring, 4, 20, newName="assistant") == found


@pytest.mark.parametrize(
    ("line", "character", "new", "reason"),
    [
        (1, 8, "no name", "the name must be a letter, then up to 31 letters, digits, '-' or '_', not 'no name'"),
        (1, 8, "Helper", "the name 'Helper' is already taken by "),
        (2, 2, "x", "there is no agent's name here; "),
        (3, 15, "x", "'Explore' is built in and cannot be renamed; copy it under another name"),
    ],
)
async def test_a_rename_that_cannot_be_says_why(person: Desk, line: int, character: int, new: str, reason: str) -> None:
    uri = person.open(FILE, agent("reviewer", "tools: Agent(Explore)"))
    answer = await person.at("textDocument/rename", uri, line, character, newName=new)
    assert answer["error"]["message"].startswith(reason)


@pytest.mark.parametrize(
    ("text", "line", "title", "after"),
    [
        (agent("a").replace("description", "descripton"), 2, "Change to 'description'", agent("a")),
        (agent("a", "xyzzy: d"), 3, "Remove 'xyzzy'", agent("a")),
        (agent("a", "tools: [Read, Gerp]"), 3, "Change to 'Grep'", agent("a", "tools: [Read, Grep]")),
        (agent("a", "tools: LS"), 3, "Change to 'Glob'", agent("a", "tools: Glob")),
        (agent("a", "effort: max"), 3, "Change to 'high'", agent("a", "effort: high")),
        (agent("a", "model: opsu"), 3, "Change to 'opus'", agent("a", "model: opus")),
        (
            "---\nname: a\n---\nR\n",
            0,
            "Add a description",
            "---\nname: a\ndescription: When to use this agent, in one sentence\n---\nR\n",
        ),
        ("---\ndescription: d\n---\nR\n", 0, "Add name: new", "---\nname: new\ndescription: d\n---\nR\n"),
        (agent("My Agent!"), 1, "Change to 'My-Agent'", agent("My-Agent")),
        (
            "---\nname: a\ndescription: d\n\nYou do it.\n",
            0,
            "Add the closing line ---",
            "---\nname: a\ndescription: d\n---\n\nYou do it.\n",
        ),
        (
            "---\nname: a\ndescription: d\ntools:\n\t- Read\n---\nR\n",
            4,
            "Indent with spaces instead of tabs",
            "---\nname: a\ndescription: d\ntools:\n  - Read\n---\nR\n",
        ),
        (
            "---\nname: a\ndescription: Use it: now, it's good\n---\nR\n",
            2,
            "Put the value in quotes",
            "---\nname: a\ndescription: 'Use it: now, it''s good'\n---\nR\n",
        ),
        (agent("a", 'tools: "[Read, Grep]"'), 3, "Take the quotes away", agent("a", "tools: [Read, Grep]")),
    ],
)
async def test_a_common_fault_has_a_fix_that_ends_it(
    person: Desk, text: str, line: int, title: str, after: str
) -> None:
    offered = await fixed(person, text, line)
    assert offered.get(title) == after, offered
    uri = person.open(".ensign/agents/again.md", after.replace("name: new", "name: again"))
    assert await person.faults(uri, 1) == []


async def test_front_matter_folds_and_other_files_are_left_to_the_editor(person: Desk) -> None:
    uri = person.open(FILE, agent("reviewer"))
    folds = await person.client.request("textDocument/foldingRange", {"textDocument": {"uri": uri}})
    assert folds["result"] == [{"startLine": 0, "endLine": 3, "kind": "region"}]
    other = person.open("README.md", "---\na: b\n---\n")
    answer = await person.client.request("textDocument/foldingRange", {"textDocument": {"uri": other}})
    assert answer["result"] is None


async def test_a_client_that_registers_later_is_asked_for_agent_files_alone(tmp_path: Path) -> None:
    later = {"dynamicRegistration": True}
    names = ("completion", "hover", "definition", "rename", "foldingRange")
    async with desk(tmp_path, capabilities={"textDocument": dict.fromkeys(names, later)}) as person:
        (asked,) = await person.client.sent("client/registerCapability")
        selector = [
            {"scheme": "file", "pattern": "**/.{ensign,claude}/agents/**/*.md"},
            {"scheme": "file", "pattern": f"{person.home}/agents/**/*.md"},
            {"scheme": "file", "pattern": f"{tmp_path}/home/.claude/agents/**/*.md"},
        ]
        assert [one["method"] for one in asked["registrations"]] == [f"textDocument/{name}" for name in names]
        assert all(one["registerOptions"]["documentSelector"] == selector for one in asked["registrations"])


async def test_positions_count_utf_16_units_and_windows_line_ends(person: Desk) -> None:
    text = '---\r\nname: reviewer\r\ndescription: d\r\ninitialPrompt: "😋"\r\ntools: ["😋", Gerp]\r\n---\r\nRole.\r\n'
    uri = person.open(FILE, text)
    assert await person.faults(uri, 1) == [(4, 9, 11, 1, "unknown-tool"), (4, 14, 18, 1, "unknown-tool")]
    hover = await person.at("textDocument/hover", uri, 4, 2)
    assert hover["range"] == {"start": {"line": 4, "character": 0}, "end": {"line": 4, "character": 5}}
