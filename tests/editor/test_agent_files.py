"""A person writes an agent in the real editor: asked for its name, told what is wrong, helped while typing."""

import re
from pathlib import Path

from playwright.async_api import expect

from tests.editor.product import Ensign
from tests.editor.workbench import Workbench


async def test_a_new_agent_is_made_checked_completed_explained_and_mended(
    workbench: Workbench, workspace: Path
) -> None:
    await Ensign.shown(workbench)
    page = workbench.page
    await workbench.command("Ensign: New agent…")
    await workbench.quick_pick("This project").click()
    await workbench.quick_input().fill("explore")
    await expect(page.locator(".quick-input-widget")).to_contain_text("there is an agent 'Explore' already, built in")
    await workbench.screenshot("name-taken")
    await workbench.quick_input().fill("reviewer")
    await expect(page.locator(".quick-input-widget")).not_to_contain_text("already")
    await page.keyboard.press("Enter")
    await expect(workbench.tab("reviewer.md")).to_be_visible()
    # The description is selected: typing replaces it.
    await expect(workbench.status_item("39 selected")).to_be_visible()
    await page.keyboard.type("Reviews a change")
    await workbench.expect_text("description: Reviews a change\ntools: Read, Glob, Grep")

    # A fault, shown before anything is saved, and its fix.
    await page.keyboard.press("End")
    await page.keyboard.press("Enter")
    await page.keyboard.type("colour: blue")
    await page.keyboard.press("Escape")
    squiggle = page.locator(".editor-instance .squiggly-warning").first
    await expect(squiggle).to_be_visible()
    await page.keyboard.press("Home")
    fix = page.locator(".action-widget").get_by_text("Change to 'color'")
    await workbench.gesture(lambda: page.keyboard.press("Control+."), fix)
    await workbench.screenshot("fix")
    await fix.click()
    await workbench.expect_text("color: blue")
    await expect(squiggle).to_have_count(0)

    # Completion of a value, by its field.
    await page.keyboard.press("End")
    await page.keyboard.press("Enter")
    await page.keyboard.type("permissionMode: ")
    plan = page.locator(".suggest-widget .monaco-list-row").filter(has_text=re.compile("^plan"))
    await workbench.gesture(lambda: page.keyboard.press("Control+Space"), plan)
    await workbench.screenshot("completion")
    await plan.click()
    await workbench.expect_text("permissionMode: plan")

    # What a word means.
    await workbench.gesture(workbench.word("tools").hover, workbench.hover_box().get_by_text("The tools it may use"))
    await workbench.screenshot("hover")
    await workbench.command("File: Save")
    await expect(workbench.dirty("reviewer.md")).to_have_count(0)
    assert "color: blue\npermissionMode: plan\ntools: Read, Glob, Grep" in (
        workspace / ".ensign" / "agents" / "reviewer.md"
    ).read_text(encoding="utf-8")
