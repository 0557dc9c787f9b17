"""The Tasks view: background work that is stopped, resumed, wrapped up, moved, and survives window and server."""

import os
import re
import signal
from pathlib import Path

import pytest
from playwright.async_api import expect

from ensign.testing.http_server import RecordedRequest
from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply, calls
from tests.editor.conftest import scripted
from tests.editor.product import Ensign, delegate, gone, reached, request_about, running
from tests.editor.settings import EditorOptions
from tests.editor.workbench import Workbench


@pytest.fixture(scope="module")
def editor_options(models: ModelServer) -> EditorOptions:
    return scripted(models)


def noted(_: RecordedRequest) -> Reply:
    """What the main agent says to each notification."""
    return Reply(text="Noted.")


async def test_background_tasks_are_stopped_resumed_and_wrapped_up_from_their_rows(
    workbench: Workbench, workspace: Path, models: ModelServer
) -> None:
    models.route(
        "Start three in the background",
        calls(
            delegate("general-purpose", "count slowly", run_in_background=True),
            delegate("Explore", "read much", run_in_background=True),
            delegate("Explore", "read more", run_in_background=True),
        ),
        noted,
    )
    models.route(
        "count slowly, and report",
        calls(("Bash", {"command": "sleep 300.5"}), text="The first number is 4711."),
        Reply(text="Counted to the end."),
    )
    models.route("read much, and report", Reply(text="never", gate="much"), Reply(text="What I have so far."))
    models.route("read more, and report", Reply(text="Read it all.", gate="more"))
    ensign = await Ensign.shown(workbench)
    await ensign.say("Start three in the background")
    await expect(ensign.answer("Noted.").first).to_be_visible()
    await ensign.allow("sleep 300.5")
    counting = await running("sleep 300.5")
    await expect(workbench.status_item("3 running")).to_be_visible()
    await workbench.screenshots("three")

    await workbench.row_action(ensign.row("count slowly"), "Stop")
    await gone(counting)
    await expect(ensign.row("count slowly")).to_contain_text("stopped by a person")
    # A row that is drawn anew under the pointer loses the click.
    await workbench.gesture(lambda: workbench.row_action(ensign.row("count slowly"), "Resume"), workbench.quick_input())
    await expect(workbench.quick_input()).to_be_focused()
    await workbench.page.keyboard.type("do not sleep this time")
    await workbench.page.keyboard.press("Enter")
    await expect(ensign.row("count slowly")).to_contain_text("completed")
    resumed = (await request_about(models, "count slowly, and report", 1)).body.decode()
    assert "do not sleep this time" in resumed
    assert "4711" in resumed
    assert "sleep 300.5" in resumed

    await workbench.context_menu(ensign.row("read much"), "Wrap up")
    await expect(ensign.row("read much")).to_contain_text("partial")
    models.release("more")
    await expect(ensign.row("read more")).to_contain_text("completed")
    await workbench.screenshots("over")


async def test_escape_moves_foreground_subagents_to_the_background_then_cancels(
    workbench: Workbench, models: ModelServer
) -> None:
    models.route(
        "Look twice",
        calls(delegate("Explore", "look here"), delegate("Explore", "look there")),
        Reply(text="never", gate="free"),
        noted,
    )
    for place in ("here", "there"):
        models.route(f"look {place}, and report", Reply(text=f"All fine {place}.", gate="looked"))
    ensign = await Ensign.shown(workbench)
    await ensign.say("Look twice")
    await expect(ensign.chat.locator(".card[data-state=running]")).to_have_count(2)
    await workbench.page.keyboard.press("Escape")
    await expect(ensign.chat.locator(".notice").filter(has_text="Moved 2 subagents to the background")).to_be_visible()
    told = (await request_about(models, "Look twice", 1)).json["messages"]
    assert [message["content"].count("moved_to_background") for message in told if message["role"] == "tool"] == [1, 1]
    await reached(models, "free")
    await workbench.screenshots("moved")

    await ensign.card("look here").click()
    await workbench.page.keyboard.press("Escape")
    await expect(ensign.chat.locator(".end")).to_have_text("Stopped")
    await expect(ensign.chat.locator(".card[data-state=running]")).to_have_count(2)
    models.release("looked")
    await expect(ensign.chat.locator(".card[data-state=completed]")).to_have_count(2)
    await expect(ensign.answer("Noted.").first).to_be_visible()
    await workbench.screenshot("reported-dark")


async def test_the_server_killed_while_tasks_run_comes_back_and_they_resume(
    workbench: Workbench, models: ModelServer
) -> None:
    models.route(
        "Start two", calls(*(delegate("Explore", f"dig {n}", run_in_background=True) for n in ("one", "two"))), noted
    )
    for name in ("one", "two"):
        models.route(
            f"dig {name}, and report",
            calls(("Read", {"file_path": "main.py"})),
            Reply(text="lost", gate="dig"),
            Reply(text=f"Dug {name}."),
        )
    ensign = await Ensign.shown(workbench)
    await ensign.say("Start two")
    for name in ("one", "two"):
        await request_about(models, f"dig {name}, and report", 1)
    await expect(ensign.answer("Noted.").first).to_be_visible()

    server = max(pid for pid, line in workbench.editor.processes().items() if line.endswith("serve --stdio"))
    os.kill(server, signal.SIGKILL)
    for name in ("one", "two"):
        await expect(ensign.row(f"dig {name}")).to_contain_text("interrupted")
        await expect(ensign.card(f"dig {name}")).to_have_attribute("data-state", "interrupted")
    await workbench.screenshots("interrupted")

    # A row that is drawn anew under the pointer loses the click.
    await workbench.gesture(lambda: workbench.row_action(ensign.row("dig one"), "Resume"), workbench.quick_input())
    await expect(workbench.quick_input()).to_be_focused()
    await workbench.page.keyboard.press("Enter")
    await expect(ensign.row("dig one")).to_contain_text("completed")
    resumed = (await request_about(models, "dig one, and report", 2)).body.decode()
    assert "def greet" in resumed


async def test_after_a_reload_of_the_window_the_picture_is_the_same_and_work_goes_on(
    workbench: Workbench, models: ModelServer
) -> None:
    models.route(
        "Start long work",
        calls(
            delegate("Explore", "finish early", run_in_background=True),
            delegate("Explore", "work on", run_in_background=True),
        ),
        noted,
    )
    models.route("finish early, and report", Reply(text="Finished early."))
    models.route(
        "work on, and report",
        calls(("Read", {"file_path": "main.py"})),
        Reply(text="lost", gate="work"),
        Reply(text="Worked on after the reload."),
    )
    ensign = await Ensign.shown(workbench)
    await ensign.say("Start long work")
    await expect(ensign.row("finish early")).to_contain_text("completed")
    await reached(models, "work")
    await expect(ensign.row("work on")).to_contain_text(re.compile("thinking|main.py"))
    before = await ensign.chat.locator(".rows > *").count()

    await workbench.load()
    ensign = await Ensign.shown(workbench)
    await expect(ensign.chat.locator(".rows > *").first).to_be_visible()
    await expect(ensign.row("finish early")).to_contain_text("completed")
    await expect(ensign.row("work on")).to_contain_text("completed")
    await expect(ensign.card("work on")).to_have_attribute("data-state", "completed")
    assert "def greet" in (await request_about(models, "work on, and report", 2)).body.decode()
    await workbench.screenshots("reloaded")
    assert await ensign.chat.locator(".rows > *").count() >= before
