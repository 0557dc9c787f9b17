"""Questions to the person: every outcome by keyboard, ten at once, one answer that closes all places."""

import json
from pathlib import Path

import pytest
from playwright.async_api import expect

from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply, calls
from tests.editor.conftest import scripted
from tests.editor.product import Ensign, delegate, request_about
from tests.editor.settings import EditorOptions
from tests.editor.workbench import Workbench


@pytest.fixture(scope="module")
def editor_options(models: ModelServer) -> EditorOptions:
    return scripted(models, **{"ensign.approvalToasts": "all", "ensign.subagents.maxRunning": 12})


def bash(*lines: str) -> Reply:
    return calls(*(("Bash", {"command": line}) for line in lines))


async def test_every_outcome_is_reached_by_keyboard_alone(
    workbench: Workbench, workspace: Path, models: ModelServer
) -> None:
    models.route(
        "Work with me",
        calls(delegate("general-purpose", "first helper")),
        calls(delegate("general-purpose", "second helper")),
        Reply(text="Both helped."),
    )
    models.route(
        "first helper, and report",
        bash("touch once"),
        bash("touch once"),
        bash("touch once"),
        bash("mkdir kept"),
        bash("ln -s kept linked"),
        bash("ln -s kept linked"),
        bash("rmdir kept"),
        bash("unlink linked"),
        Reply(text="First done."),
    )
    models.route("second helper, and report", bash("mkdir -p kept"), bash("mkdir kept"), Reply(text="Second done."))
    ensign = await Ensign.shown(workbench)
    await ensign.say("Work with me")

    await ensign.pick("touch once", "Allow once")
    await ensign.pick("touch once", "For this task")
    await ensign.pick("mkdir kept", "For this session")
    await ensign.pick("ln -s kept linked", "Always")
    await expect(workbench.quick_pick("Save 1 rule and allow")).to_be_visible()
    await workbench.screenshot("rule")
    await workbench.page.keyboard.press("Enter")
    await ensign.pick("rmdir kept", "Deny")
    await ensign.pick("unlink linked", "Deny and say why")
    await expect(workbench.quick_input()).to_be_focused()
    await workbench.page.keyboard.type("keep the link")
    await workbench.page.keyboard.press("Enter")

    await ensign.pick("mkdir -p kept", "Deny")
    await expect(ensign.answer("Both helped.")).to_be_visible()
    assert {path.name for path in workspace.iterdir()} == {".ensign", "main.py", "once", "kept", "linked"}
    saved = json.loads((workspace / ".ensign" / "settings.local.json").read_text())
    assert saved == {"permissions": {"allow": ["Bash(ln -s kept linked)"]}}
    told = await request_about(models, "first helper, and report", 8)
    assert "keep the link" in told.json["messages"][-1]["content"]


async def test_ten_questions_at_once_are_answered_one_after_the_other_from_the_keys(
    workbench: Workbench, workspace: Path, models: ModelServer
) -> None:
    names = [f"file{number}" for number in range(10)]
    models.route("Ask ten times", calls(*(delegate("general-purpose", f"make {n}") for n in names)), Reply(text="Ten."))
    for name in names:
        models.route(f"make {name}, and report", bash(f"touch {name}"), Reply(text=f"Made {name}."))
    ensign = await Ensign.shown(workbench)
    await ensign.say("Ask ten times")
    await expect(ensign.question("")).to_have_count(10)
    await expect(ensign.chat.get_by_text("10 questions for you")).to_be_visible()
    await expect(workbench.status_item("10 waiting")).to_be_visible()
    await workbench.screenshots("ten")

    await ensign.box.click()
    await workbench.page.keyboard.press("Shift+Tab")
    await workbench.page.keyboard.press("Shift+Tab")
    for left in range(9, -1, -1):
        await workbench.page.keyboard.press("1")
        await expect(ensign.question("")).to_have_count(left)
    await expect(ensign.box).to_be_focused()
    await expect(ensign.answer("Ten.")).to_be_visible()
    assert {path.name for path in workspace.iterdir()} == {"main.py", *names}


async def test_an_answer_in_one_place_closes_the_question_in_the_others(
    workbench: Workbench, models: ModelServer
) -> None:
    models.route("Ask in three places", calls(delegate("general-purpose", "ask thrice")), Reply(text="Asked."))
    models.route("ask thrice, and report", bash("touch a"), bash("touch b"), bash("touch c"), Reply(text="Done."))
    ensign = await Ensign.shown(workbench)
    await ensign.say("Ask in three places")
    tag = "[general-purpose · ask thrice]"
    row = ensign.row("ask thrice")

    await expect(ensign.question("touch a")).to_be_visible()
    await expect(row).to_contain_text("waiting for you")
    await expect(workbench.toast("touch a")).to_contain_text(tag)
    await workbench.screenshots("three-places")
    await workbench.toast("touch a").get_by_role("button", name="Allow once", exact=True).click()
    await expect(ensign.question("touch a")).to_have_count(0)

    await expect(workbench.toast("touch b")).to_be_visible()
    await expect(ensign.question("touch b")).to_be_visible()
    await workbench.row_action(row, "Allow once")
    await expect(ensign.question("touch b")).to_have_count(0)
    await expect(workbench.toast("touch b")).to_have_count(0)

    await expect(workbench.toast("touch c")).to_be_visible()
    await ensign.allow("touch c")
    await expect(workbench.toast("touch c")).to_have_count(0)
    await expect(row).to_contain_text("completed")
    await expect(ensign.answer("Asked.")).to_be_visible()
