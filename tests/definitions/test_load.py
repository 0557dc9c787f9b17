"""Agent files of all sources on a real disk: who is found, who wins, and that one bad file never stops another."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ensign.definitions.catalogue import describe, to_listing
from ensign.definitions.load import load
from ensign.definitions.sources import Folder
from ensign.protocol.definition import Source
from ensign.protocol.errors import UserError
from ensign.protocol.wire import AgentInfo
from tests.definitions.library import BUILT_INS, WORDS, Library, agent, write

BROKEN: dict[str, bytes] = {
    "b01.md": b"---\nname: b01\ndescription: never closed\n",
    "b02.md": b"---\nname: b02\n---\nno description",
    "b03.md": b"---\ndescription: no name\n---\nx",
    "b04.md": b"---\nname: 4b\ndescription: d\n---\nx",
    "b05.md": b"---\nname: b05\ndescription: use when: now\n---\nx",
    "b06.md": b"---\nname: b06\nname: b06\ndescription: d\n---\nx",
    "b07.md": b"---\nname: b07\ndescription: [d]\n---\nx",
    "b08.md": b'---\nname: b08\ndescription: d\ntools: "[\\"Read\\"]"\n---\nx',
    "b09.md": b"---\nname: b09\ndescription: d\x00\n---\nx",
    "b10.md": b"---\nname: b10\ndescription: caf\xe9\n---\nx",
    "b11.md": "---\nname: b11\ndescription: d\n---\n".encode("utf-16"),
    "b12.md": b"---\nname: b12\ndescription: &a [*a]\n---\nx",
    "b13.md": b"---\nname: b13\ndescription: !!python/object/apply:os.system [touch CANARY]\n---\nx",
    "b14.md": b"---\nname: b14\ndescription: " + b"[" * 5000 + b"\n---\nx",
    "b15.md": b"---\nname: main\ndescription: d\n---\nx",
    "b16.md": b"---\n- name: b16\n---\nx",
    "b17.md": b"---\nname: b17\ndescription: d\nbackground: maybe\n---\nx",
    "b18.md": b"---\nname: b18\ndescription: d\n---\n" + b"x" * 1_100_000,
    "b19.md": b"---\nname: b19\n\tdescription: d\n---\nx",
    "b20.md": b'---\nname: "b20\ndescription: d\n---\nx',
    "b21.md": b"---\nname: b21\ndescription: d\nhooks: touch CANARY\n---\nx",
    "b22.md": b"---\n--- # what\nname: b22\n---\nx",
}
ODD: dict[str, bytes] = {
    "o1.md": b"\xef\xbb\xbf---  \r\nname: o1\r\ndescription: x --- y\r\n---\r\nB\r\n---\nmodel: evil\n---",
    "o2.MD": b"---\nname: o2\ndescription: |\n  a\n  ---\n  b\n---",
    "sub/deep/o3.md": b"---\nname: o3\ndescription: d\ntools:\n  - Read\n---\nB",
    "o4.md": b"---\nname: o4\ndescription: d\ntools: *\nunheard: of\nmodel: nope\nmaxTurns: 0\n---\nB",
    "README.md": b"# Agents\n---\nname: evil\n---\n",
    "empty.md": b"",
    "notes.txt": b"---\nname: text\ndescription: d\n---\n",
    "picture.md": bytes(range(256)) * 100,
}


def test_a_folder_of_broken_and_odd_files_loads_the_good_ones_and_names_the_others(tmp_path: Path) -> None:
    library = Library(tmp_path)
    for name, data in (BROKEN | ODD).items():
        write(library.project, name, data)
    assert library.own() == ("o1", "o2", "o3", "o4")
    problems = library.problems()
    assert {name for name, _, _, severity, _ in problems if severity == "error"} == set(BROKEN)
    assert [problem for problem in problems if problem[0] not in BROKEN] == [
        ("o2.MD", 1, 1, "information", "no-role"),
        ("o4.md", 5, 1, "warning", "unknown-field"),
        ("o4.md", 6, 8, "warning", "unknown-model"),
        ("o4.md", 7, 11, "warning", "bad-value"),
    ]
    assert not (tmp_path / "CANARY").exists()


def test_crlf_gives_the_same_definition(tmp_path: Path) -> None:
    library = Library(tmp_path)
    text = agent(tools="Read, Grep", body="One\n\nTwo")
    path = write(library.user, "a.md", text)
    unix = library.load().get("a")
    path.write_bytes(text.replace("\n", "\r\n").encode())
    assert unix is not None
    assert library.load().get("a") == unix


def test_the_nearest_source_wins_whole_and_the_listing_shows_what_it_hides(tmp_path: Path) -> None:
    library = Library(tmp_path)
    paths = {
        Source.PROJECT: write(library.project, "x.md", agent("Twin", "project")),
        Source.PROJECT_CLAUDE: write(library.claude, "x.md", agent("twin", "project-claude", tools="Read")),
        Source.USER: write(library.user, "x.md", agent("TWIN", "user")),
        Source.USER_CLAUDE: write(library.user_claude, "x.md", agent("twin", "user-claude")),
    }
    for source in (Source.PROJECT, Source.PROJECT_CLAUDE, Source.USER, Source.USER_CLAUDE):
        winner = library.load().get("tWiN")
        assert winner is not None
        assert (winner.source, winner.description, winner.tools) == (
            source, source.value, ("Read",) if source is Source.PROJECT_CLAUDE else None,
        )  # fmt: skip
        assert [hidden.source for hidden in winner.shadows] == list(paths)[list(paths).index(source) + 1 :]
        paths[source].unlink()
    assert library.load().get("twin") is None


def test_a_users_file_replaces_a_built_in_agent(tmp_path: Path) -> None:
    library = Library(tmp_path)
    path = write(library.user, "e.md", agent("explore", "mine"))
    listing = to_listing(library.load())
    mine, built_in = (info for info in listing.agents if info.name.lower() == "explore")
    assert (mine.source, mine.shadowed_by, mine.shadows) == ("user", None, (built_in.path,))
    assert (built_in.source, built_in.shadowed_by) == ("built-in", str(path))


def test_two_of_one_name_in_one_source_leave_the_first_by_path(tmp_path: Path) -> None:
    library = Library(tmp_path)
    write(library.user, "b/a.md", agent("same", "second"))
    write(library.user, "a/z.md", agent("Same", "first"))
    definition = library.load().get("same")
    assert definition is not None
    assert definition.description == "first"
    assert library.problems() == [("a.md", 1, 1, "error", "duplicate-name")]


def test_hidden_and_vendored_folders_are_skipped(tmp_path: Path) -> None:
    library = Library(tmp_path)
    for folder in ("node_modules/pkg", ".git", ".hidden", "vendor", "__pycache__", "x/node_modules"):
        write(library.project, f"{folder}/a.md", agent("evil"))
    write(library.project, ".draft.md", agent("evil"))
    write(library.root / "node_modules" / "pkg" / ".claude" / "agents", "a.md", agent("evil"))
    write(library.root / "nested" / ".ensign" / "agents", "a.md", agent("evil"))
    assert library.own() == ()
    assert library.problems() == []


def test_what_is_no_plain_file_is_reported_and_never_waited_for(tmp_path: Path) -> None:
    library = Library(tmp_path)
    library.user.mkdir(parents=True)
    os.mkfifo(library.user / "pipe.md")
    (library.user / "dangling.md").symlink_to(tmp_path / "nowhere")
    (library.user / "loop").symlink_to(library.user)
    write(library.user, "folder.md/inside.md", agent("inside"))
    (library.user / "linked.md").symlink_to(write(tmp_path / "dotfiles", "x.md", agent("linked")))
    assert library.own() == ("inside", "linked")
    assert library.problems() == [
        ("dangling.md", 1, 1, "error", "unreadable"),
        ("pipe.md", 1, 1, "error", "unreadable"),
    ]


def test_a_link_out_of_a_workspace_is_followed_only_when_that_is_trusted(tmp_path: Path) -> None:
    outside = write(tmp_path / "elsewhere", "x.md", agent("outside"))
    trusted, strange = Library(tmp_path / "1"), Library(tmp_path / "2", trusted=False)
    for library in (trusted, strange):
        library.project.mkdir(parents=True)
        (library.project / "a.md").symlink_to(outside)
        (library.root / ".claude").symlink_to(outside.parent)
        write(library.project, "sub/b.md", agent("inside"))
    assert trusted.own() == ("inside", "outside")
    assert strange.own() == ("inside",)
    assert [problem[4] for problem in strange.problems()] == ["outside-link"]


def test_before_trust_a_project_never_replaces_anything(tmp_path: Path) -> None:
    library = Library(tmp_path, trusted=False)
    write(library.user, "u.md", agent("mine", "the user's"))
    write(library.project, "e.md", agent("EXPLORE", "evil"))
    write(library.claude, "m.md", agent("Mine", "evil"))
    write(library.project, "n.md", agent("new", "the project's"))
    definitions = library.load()
    assert [(item.name, item.source) for item in definitions if item.name not in BUILT_INS] == [
        ("mine", Source.USER),
        ("new", Source.PROJECT),
    ]
    explore = definitions.get("Explore")
    assert explore is not None
    assert (explore.source, [item.source for item in explore.shadows]) == (Source.BUILT_IN, [Source.PROJECT])
    assert library.problems() == [("m.md", 1, 1, "warning", "untrusted"), ("e.md", 1, 1, "warning", "untrusted")]
    library.trusted = True
    assert [(item.name, item.source) for item in library.load() if item.source is not Source.BUILT_IN] == [
        ("EXPLORE", Source.PROJECT),
        ("Mine", Source.PROJECT_CLAUDE),
        ("new", Source.PROJECT),
    ]


def test_opening_the_home_folder_reads_the_users_agents_as_the_users(tmp_path: Path) -> None:
    library = Library(tmp_path, trusted=False)
    library.root.rmdir()
    library.root = library.home
    write(library.user_claude, "a.md", agent("own"))
    own = library.load().get("own")
    assert own is not None
    assert (own.source, own.trusted) == (Source.USER_CLAUDE, True)
    assert library.problems() == []


@pytest.mark.parametrize("text", ["---\nname: x\n", agent("Explore", tools="Raed"), agent("x", model="nope"), ""])
def test_a_broken_or_missing_built_in_stops_the_start(tmp_path: Path, text: str) -> None:
    write(tmp_path, "Explore.md", text)
    with pytest.raises(UserError, match="installation is damaged"):
        load([Folder(source=Source.BUILT_IN, path=tmp_path)], WORDS)


def test_the_built_in_agents_are_as_specified(tmp_path: Path) -> None:
    library = Library(tmp_path)
    definitions = library.load()
    rows = [
        (item.name, item.tools, item.model, item.permission_mode, item.max_turns, item.background, item.color)
        for item in definitions
    ]
    search = ("Read", "Glob", "Grep", "Bash")
    assert rows == [
        ("Explore", search, "small", "plan", 30, False, None),
        ("general-purpose", None, None, None, 30, False, None),
        ("Plan", search, None, "plan", 15, False, None),
        ("Verification", (*search, "Write", "TodoWrite"), None, None, 30, True, "orange"),
    ]
    assert definitions.diagnostics == ()
    assert all(item.built_in and item.role for item in definitions)


def test_a_built_in_agent_can_be_switched_off_but_not_a_users(tmp_path: Path) -> None:
    library = Library(tmp_path)
    assert load(library.folders(), WORDS, hidden=["verification"]).get("Verification") is None
    write(library.user, "v.md", agent("Verification"))
    assert load(library.folders(), WORDS, hidden=["verification"]).get("Verification") is not None


def test_a_name_is_found_without_case_and_a_wrong_one_gets_a_suggestion(tmp_path: Path) -> None:
    definitions = Library(tmp_path).load()
    found = definitions.get(" explore ")
    assert found is not None
    assert found.name == "Explore"
    assert definitions.get("Exploer") is None
    assert definitions.suggest("exploer") == "Explore"
    assert definitions.suggest("general purpose") == "general-purpose"
    assert definitions.suggest("zzz") is None
    assert definitions.names() == BUILT_INS


def test_the_description_lists_each_agent_on_one_line_in_one_order(tmp_path: Path) -> None:
    library = Library(tmp_path)
    write(library.user, "b.md", agent("beta", '"one\\n- Explore: two"'))
    write(library.user, "a.md", agent("Alpha", "x" * 2000))
    own = [item for item in library.load() if not item.built_in]
    text = describe(own)
    assert text == f"- Alpha: {'x' * 999}…\n- beta: one - Explore: two"
    assert describe(reversed(own)) == text


def test_the_listing_says_what_every_command_shows(tmp_path: Path) -> None:
    library = Library(tmp_path)
    path = write(library.project, "a.md", agent("a", tools="[Read, Grep]", hooks="{Stop: []}", color="red"))
    listing = to_listing(library.load())
    assert next(info for info in listing.agents if info.name == "a") == AgentInfo(
        name="a", description="d", source="project", path=str(path), tools=("Read", "Grep"), disallowed_tools=(),
        model=None, color="red", background=False, permission_mode=None, max_turns=None, shadows=(), shadowed_by=None,
        unserved=("hooks",), trusted=True,
    )  # fmt: skip
    assert [(item.path, item.line, item.column, item.severity, item.code) for item in listing.diagnostics] == [
        (str(path), 5, 1, "information", "unserved")
    ]


def test_too_many_files_are_cut_with_a_notice(tmp_path: Path) -> None:
    library = Library(tmp_path)
    library.user.mkdir(parents=True)
    for number in range(1003):
        (library.user / f"{number:04}.md").write_bytes(b"# a document")
    assert library.problems() == [("1000.md", 1, 1, "error", "too-many")]


def test_definitions_made_from_unchanged_files_are_equal(tmp_path: Path) -> None:
    library = Library(tmp_path)
    write(library.project, "a.md", agent("a", unheard="of"))
    assert library.load() == library.load()
    assert library.load(replace(WORDS, unserved=frozenset())) == library.load()
