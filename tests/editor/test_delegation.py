"""Delegation as a person sees it: cards and rows, an edit that asks, a subagent that is stopped."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import expect

from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply, calls
from tests.editor.conftest import scripted
from tests.editor.product import APPEARED, Ensign, delegate, gone, reached, request_about, running
from tests.editor.settings import EditorOptions
from tests.editor.workbench import Workbench

GREETING = '    return f"hello {name}"'


@pytest.fixture(scope="module")
def editor_options(models: ModelServer) -> EditorOptions:
    return scripted(models)


READ = ("Read", {"file_path": "main.py"})
EDIT = ("Edit", {"file_path": "main.py", "old_string": 'f"hello', "new_string": 'f"good day'})


def script_three(models: ModelServer) -> None:
    """A main agent that asks three subagents, of whom one edits."""
    three = calls(
        delegate("Explore", "find the greeting"),
        delegate("Explore", "find its callers"),
        delegate("general-purpose", "change the greeting"),
        text="I ask three subagents.",
    )
    models.route(
        "Make the greeting formal",
        Reply(text=three.text, calls=three.calls, gate="spawn"),
        Reply(text="All **three** are done: see main.py:5."),
    )
    models.route(
        "find the greeting, and report",
        calls(("Grep", {"pattern": "greet"})),
        Reply(text="It is at main.py:4.", gate="found"),
    )
    models.route("find its callers, and report", calls(READ), Reply(text="No callers."))
    models.route(
        "change the greeting, and report",
        calls(READ),
        calls(EDIT),
        Reply(text="Changed main.py:5."),
    )


async def test_three_subagents_at_once_are_cards_and_rows_and_their_edit_is_one_undo_step(
    workbench: Workbench, workspace: Path, models: ModelServer, figure: Callable[[str], None]
) -> None:
    script_three(models)
    await workbench.open_file("main.py")
    ensign = await Ensign.shown(workbench)
    await ensign.say("Make the greeting formal")
    await reached(models, "spawn")

    cards = asyncio.create_task(ensign.chat.locator("body").evaluate(APPEARED, [".card", 3]))
    selector = '.pane .monaco-list-row[aria-label*="find"], .pane .monaco-list-row[aria-label*="change the greeting"]'
    rows = asyncio.create_task(workbench.page.locator("body").evaluate(APPEARED, [selector, 3]))
    await asyncio.sleep(0)
    spawned = time.time() * 1000
    models.release("spawn")
    figure(f"from the model's reply to three cards {await cards - spawned:.0f} ms")
    figure(f"from the model's reply to three rows {await rows - spawned:.0f} ms")

    question = ensign.question("[general-purpose · change the greeting]")
    await expect(question).to_be_visible()
    await expect(ensign.card("find its callers")).to_have_attribute("data-state", "completed")
    await expect(ensign.card("find the greeting")).to_have_attribute("data-state", "running")
    await expect(ensign.row("change the greeting")).to_contain_text("waiting for you")
    await workbench.screenshots("asking")

    await ensign.allow("[general-purpose · change the greeting]")
    await workbench.expect_text(GREETING.replace("hello", "good day"))
    models.release("found")
    await expect(ensign.answer("All three are done")).to_be_visible()
    await workbench.screenshots("done")
    await expect(workbench.dirty("main.py")).to_have_count(0)
    assert "good day" in (workspace / "main.py").read_text()

    await workbench.word("greet").click()
    await workbench.page.keyboard.press("Control+Z")
    await workbench.expect_text(GREETING)
    await expect(workbench.dirty("main.py")).to_be_visible()
    # One step: there is nothing left to undo.
    await workbench.page.keyboard.press("Control+Z")
    await workbench.page.keyboard.press("Control+Shift+Z")
    await workbench.expect_text("good day")
    await expect(workbench.dirty("main.py")).to_have_count(0)


async def test_an_edit_meets_unsaved_text_and_leaves_it_unsaved(
    workbench: Workbench, workspace: Path, models: ModelServer
) -> None:
    models.route("Make it polite", calls(delegate("general-purpose", "be polite")), Reply(text="It is polite."))
    models.route("be polite, and report", calls(READ), calls(EDIT), Reply(text="Changed, not saved."))
    before = (workspace / "main.py").read_text()
    await workbench.open_file("main.py")
    await workbench.word("greet").click()
    await workbench.page.keyboard.press("Control+End")
    await workbench.page.keyboard.type("# mine")
    await expect(workbench.dirty("main.py")).to_be_visible()
    ensign = await Ensign.shown(workbench)
    await ensign.say("Make it polite")
    await ensign.allow("[general-purpose · be polite]")
    await expect(ensign.answer("It is polite.")).to_be_visible()
    await workbench.expect_text('good day {name}"\n# mine')
    await expect(workbench.dirty("main.py")).to_be_visible()
    assert (workspace / "main.py").read_text() == before
    told = await request_about(models, "be polite, and report", 2)
    assert "not saved" in told.json["messages"][-1]["content"]


async def test_stop_ends_one_subagent_with_its_processes_and_no_other(
    workbench: Workbench, models: ModelServer, figure: Callable[[str], None]
) -> None:
    models.route(
        "Wait and look",
        calls(delegate("general-purpose", "wait long"), delegate("Explore", "look around")),
        Reply(text="One was stopped."),
    )
    models.route(
        "wait long, and report",
        calls(("Bash", {"command": "sleep 300.25"}), text="So far I know that the answer is 42."),
    )
    models.route("look around, and report", Reply(text="All quiet.", gate="looked"))
    ensign = await Ensign.shown(workbench)
    await ensign.say("Wait and look")
    await ensign.allow("sleep 300.25")
    sleeping = await running("sleep 300.25")
    await expect(ensign.card("wait long")).to_have_attribute("data-state", "running")
    await workbench.screenshot("running-dark")

    await ensign.card("wait long").get_by_role("button", name="Stop").hover()
    pressed = time.monotonic()
    await ensign.card("wait long").get_by_role("button", name="Stop").click()
    await gone(sleeping)
    ended = time.monotonic() - pressed
    await expect(ensign.card("wait long")).to_have_attribute("data-state", "stopped")
    figure(f"from the click on Stop until its processes are gone {ended * 1000:.0f} ms")
    await expect(ensign.row("wait long")).to_contain_text("stopped")
    await expect(ensign.card("look around")).to_have_attribute("data-state", "running")
    await workbench.screenshots("stopped")

    models.release("looked")
    await expect(ensign.answer("One was stopped.")).to_be_visible()
    told = (await request_about(models, "Wait and look", 1)).json["messages"]
    stopped, looked = (json.loads(message["content"]) for message in told if message["role"] == "tool")
    assert (stopped["status"], looked["status"]) == ("stopped", "completed")
    assert "the answer is 42" in stopped["report"]


async def test_a_symbol_is_explored_by_a_model_and_its_report_opens_beside(
    workbench: Workbench, models: ModelServer
) -> None:
    models.route(
        "definition, uses, behaviour",
        calls(("Grep", {"pattern": "greet"})),
        Reply(text="It greets, see main.py:5 for the words.", gate="explored"),
    )
    ensign = await Ensign.shown(workbench)
    await workbench.open_file("main.py")
    await workbench.context_menu(workbench.word("greet"), "Explore this with a subagent")
    await reached(models, "explored")
    await expect(ensign.row("Explore `greet`")).to_contain_text("thinking")
    models.release("explored")
    report = workbench.page.locator(".editor-group-container").nth(1)
    await workbench.follow(report.locator(".detected-link").filter(has_text="main.py:5").first)
    await expect(workbench.status_item("Ln 5, Col 1")).to_be_visible()
