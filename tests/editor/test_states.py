"""What is shown when nothing is there, when something fails, when names are long, when there is a lot."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import expect

from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply, calls, error
from tests.editor.conftest import scripted
from tests.editor.product import Ensign, delegate, reached
from tests.editor.settings import EditorOptions
from tests.editor.workbench import Workbench

# As long as a name may be.
LONG_NAME = "reviewer-of-very-very-long-names"
LONG_TASK = "Look at " + "everything that could possibly matter and " * 3 + "say so"


@pytest.fixture(scope="module")
def editor_options(models: ModelServer) -> EditorOptions:
    return scripted(models)


async def test_a_refused_key_is_a_card_that_says_what_to_do(workbench: Workbench, models: ModelServer) -> None:
    refused = error(401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})
    models.route("Try without a key", refused, Reply(text="Now it works."))
    ensign = await Ensign.shown(workbench)
    await workbench.screenshots("empty")
    await ensign.say("Try without a key")
    card = ensign.chat.locator(".failed")
    await expect(card).to_contain_text("Incorrect API key provided")
    await workbench.screenshots("refused")
    await card.get_by_role("button", name="Set API key").click()
    await expect(workbench.quick_input()).to_be_focused()
    await workbench.page.keyboard.press("Escape")
    await ensign.say("Try without a key once more")
    await expect(ensign.answer("Now it works.")).to_be_visible()


async def test_a_denied_call_is_marked_and_the_agent_goes_on(
    workbench: Workbench, workspace: Path, models: ModelServer
) -> None:
    models.route(
        "Delete it",
        calls(("Bash", {"command": "rm main.py"}), text="I will delete the file."),
        Reply(text="Then I leave it."),
    )
    ensign = await Ensign.shown(workbench)
    await ensign.say("Delete it")
    await ensign.allow("rm main.py", "Deny")
    await expect(ensign.answer("Then I leave it.")).to_be_visible()
    await expect(ensign.chat.locator(".tool")).to_contain_text("denied by you")
    await workbench.screenshots("denied")
    assert (workspace / "main.py").exists()


async def test_long_names_stay_in_their_place(workbench: Workbench, workspace: Path, models: ModelServer) -> None:
    agents = workspace / ".ensign" / "agents"
    agents.mkdir(parents=True)
    text = f"---\nname: {LONG_NAME}\ndescription: Reviews.\ntools: Read\n---\nReview.\n"
    (agents / "long.md").write_text(text)
    path = "a-folder-with-a-long-name/" * 4 + "and_a_file_with_a_long_name_too.py"
    models.route("Review with the long one", calls(delegate(LONG_NAME, LONG_TASK)), Reply(text=f"See {path}:1."))
    models.route(f"{LONG_TASK}, and report", calls(("Read", {"file_path": path})), Reply(text="x" * 300, gate="long"))
    ensign = await Ensign.shown(workbench)
    await ensign.say("Review with the long one")
    await reached(models, "long")
    await expect(ensign.chat.locator(".card")).to_be_visible()
    await workbench.screenshots("running")
    models.release("long")
    await expect(ensign.answer("See a-folder")).to_be_visible()
    await ensign.chat.get_by_text("Report", exact=True).click()
    await workbench.screenshots("done")
    # Nothing of the chat is wider than the chat.
    assert (
        await ensign.chat.locator("body").evaluate(
            "body => [...body.querySelectorAll('.rows *')].filter("
            "one => one.getBoundingClientRect().right > body.clientWidth + 1).map(one => one.className)"
        )
        == []
    )


async def test_fifty_tasks_at_once_are_shown_and_cleared(
    workbench: Workbench, models: ModelServer, figure: Callable[[str], None]
) -> None:
    many = [delegate("Explore", f"look at part {n}", run_in_background=True) for n in range(50)]
    models.route("Look at fifty parts", calls(*many), lambda _: Reply(text="Fifty started."))
    models.route("look at part ", *(Reply(text=f"Part {n} is fine.", gate="parts") for n in range(50)))
    ensign = await Ensign.shown(workbench)
    await ensign.say("Look at fifty parts")
    await expect(ensign.chat.locator(".card")).to_have_count(50)
    await expect(workbench.status_item("8 running, 42 queued")).to_be_visible()
    await workbench.screenshots("fifty")
    models.release("parts")
    await expect(ensign.chat.locator(".card[data-state=completed]")).to_have_count(50)
    await expect(workbench.status_item("running")).to_have_count(0)
    await workbench.screenshots("over")
    await workbench.command("Ensign: Clear finished tasks")
    await expect(ensign.row("look at part")).to_have_count(0)
