"""The context menu and the lightbulb on a machine with no model set up: real work by the offline policy."""

import re
from pathlib import Path

from playwright.async_api import expect

from tests.editor.product import Ensign
from tests.editor.workbench import Workbench


async def test_a_symbol_is_explored_and_its_report_opens_beside_with_working_links(
    workbench: Workbench, workspace: Path
) -> None:
    (workspace / "app.py").write_text("from main import greet\n\n\nprint(greet('you'))\n")
    ensign = await Ensign.shown(workbench)
    await workbench.open_file("main.py")
    await workbench.context_menu(workbench.word("greet"), "Explore this with a subagent")
    await expect(ensign.row(re.compile("greet.*completed"))).to_be_visible()
    report = workbench.page.locator(".editor-group-container").nth(1)
    await expect(report.locator(".view-line").filter(has_text="offline").first).to_be_visible()
    await expect(workbench.page.locator(".editor-group-container")).to_have_count(2)
    await workbench.screenshots("report")

    link = report.locator(".detected-link").filter(has_text="app.py:4").first
    await workbench.follow(link)
    await expect(workbench.tab("app.py")).to_be_visible()
    await expect(workbench.status_item("Ln 4, Col 1")).to_be_visible()


async def test_a_question_in_the_chat_is_delegated_without_any_key(workbench: Workbench) -> None:
    ensign = await Ensign.shown(workbench)
    await expect(ensign.chat.get_by_text("No language model is set up")).to_be_visible()
    await workbench.screenshots("first-start")
    await ensign.say("Where is greet defined?")
    await expect(ensign.chat.locator(".card[data-state=completed]")).to_be_visible()
    await expect(ensign.answer("main.py:4").first).to_be_visible()
    await workbench.screenshots("answer")
    await ensign.chat.locator(".rows > .prose a").filter(has_text="main.py:4").first.click()
    await expect(workbench.status_item("Ln 4, Col 1")).to_be_visible()
