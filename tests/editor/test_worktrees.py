"""Worktrees in the Tasks view: three subagents change one file; a person reviews, merges and discards their work."""

import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from ensign.testing.http_server import RecordedRequest
from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply, calls
from tests.editor.conftest import OpenWorkbench, scripted
from tests.editor.product import Ensign, delegate
from tests.editor.settings import EditorOptions
from tests.workspace.repository import Repository, made

TEXT = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture(scope="module")
def editor_options(models: ModelServer) -> EditorOptions:
    return scripted(models, **{"ensign.permissions.mode": "acceptEdits"})


def repository(folder: Path) -> Repository:
    """A repository with a submodule and a filter."""
    inner = made(folder.parent / "inner")
    outer = made(folder, a__txt=TEXT, __gitattributes="*.bin filter=upper\n")
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub")
    outer.commit("all")
    outer.git("config", "filter.upper.clean", "tr a-z A-Z")
    for name in ("name", "email"):
        outer.git("config", f"user.{name}", "person@example.org")
    return outer


def noted(_: RecordedRequest) -> Reply:
    return Reply(text="All three are done.")


async def test_three_worktrees_are_reviewed_merged_one_with_a_conflict_and_discarded_from_their_rows(
    open_workbench: OpenWorkbench, workspace: Path, models: ModelServer
) -> None:
    git = repository(workspace)
    models.route(
        "Change it three times",
        calls(*(delegate("general-purpose", f"edit {word}", isolation="worktree") for word in ("top", "end", "all"))),
        noted,
    )
    for word, old, new in (("top", "one", "ONE"), ("end", "five", "FIVE"), ("all", "one\ntwo", "1\n2")):
        models.route(
            f"edit {word}, and report",
            calls(("Read", {"file_path": "a.txt"})),
            calls(("Edit", {"file_path": "a.txt", "old_string": old, "new_string": new})),
            Reply(text=f"Edited {word}."),
        )
    workbench = await open_workbench()
    ensign = await Ensign.shown(workbench)
    await ensign.say("Change it three times")
    await expect(ensign.answer("All three are done.")).to_be_visible()
    for word in ("top", "end", "all"):
        await expect(ensign.row(f"edit {word}")).to_contain_text(re.compile(r"agent-\w+: 1 file \+\d -\d"))
    assert git.status == ""
    assert (workspace / "a.txt").read_text() == TEXT
    await workbench.screenshots("kept")

    await ensign.row("edit top").click()
    await workbench.page.keyboard.press("ArrowRight")
    await workbench.row(re.compile("Files changed"), view="Tasks").click()
    await workbench.page.keyboard.press("ArrowRight")
    await workbench.row(re.compile(r"a\.txt"), view="Tasks").first.click()
    await expect(workbench.diff()).to_contain_text("ONE")
    await workbench.screenshot("reviewed")

    await workbench.row_action(ensign.row("edit top"), "Merge")
    await expect(ensign.row("edit top")).to_contain_text("merged")
    await workbench.context_menu(ensign.row("edit end"), "Merge")
    await expect(ensign.row("edit end")).to_contain_text("merged")
    assert (workspace / "a.txt").read_text() == "ONE\ntwo\nthree\nfour\nFIVE\n"

    await workbench.row_action(ensign.row("edit all"), "Merge")
    await expect(ensign.row("edit all")).to_contain_text("solve the conflict, commit, and merge again")
    await expect(workbench.code_lens("Accept Incoming Change")).to_be_visible()
    await workbench.screenshots("conflict")
    git.commit("solved", a__txt="1\n2\nthree\nfour\nFIVE\n")
    await workbench.row_action(ensign.row("edit all"), "Merge")
    await expect(ensign.row("edit all")).to_contain_text("merged")
    assert git.as_before
    await workbench.screenshot("merged")


async def test_a_worktree_is_discarded_only_when_the_person_says_so_twice(
    open_workbench: OpenWorkbench, workspace: Path, models: ModelServer
) -> None:
    git = repository(workspace)
    models.route(
        "Try it once", calls(delegate("general-purpose", "try one", isolation="worktree")), Reply(text="Tried.")
    )
    models.route(
        "try one, and report",
        calls(("Write", {"file_path": "new.txt", "content": "new\n"})),
        Reply(text="Wrote it."),
    )
    workbench = await open_workbench()
    ensign = await Ensign.shown(workbench)
    await ensign.say("Try it once")
    await expect(ensign.answer("Tried.")).to_be_visible()
    await expect(ensign.row("try one")).to_contain_text("1 file +1 -0")
    await workbench.context_menu(ensign.row("try one"), "Discard worktree…")
    await expect(workbench.modal()).to_contain_text("1 file +1 -0")
    await workbench.answer_modal("Discard")
    await expect(ensign.row("try one")).to_contain_text("discarded")
    assert git.as_before
    await workbench.screenshot("discarded")
