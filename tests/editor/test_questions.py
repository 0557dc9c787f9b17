"""A choice that the main agent puts to the person: as a card, as a notification, in own words, by key, or skipped."""

from typing import Any

import pytest
from playwright.async_api import expect

from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply, calls
from tests.editor.conftest import scripted
from tests.editor.product import Ensign, request_about
from tests.editor.settings import EditorOptions
from tests.editor.workbench import Workbench


@pytest.fixture(scope="module")
def editor_options(models: ModelServer) -> EditorOptions:
    return scripted(models, **{"ensign.approvalToasts": "all"})


def question(text: str) -> dict[str, Any]:
    options = [{"label": "SQLite (recommended)", "description": "one file"}, {"label": "Postgres", "description": ""}]
    return {"question": text, "header": "Storage", "options": options}


async def test_a_question_is_answered_in_each_place_and_each_way(workbench: Workbench, models: ModelServer) -> None:
    texts = ("Which first?", "Which second?", "Which third?", "Which fourth?")
    asked = calls(("AskUserQuestion", {"questions": [question(text) for text in texts]}))
    models.route("Choose with me", asked, Reply(text="Chosen."))
    ensign = await Ensign.shown(workbench)
    await ensign.say("Choose with me")

    first = ensign.question("Which first?")
    await expect(first).to_contain_text("one file")
    await workbench.screenshots("question")
    await first.get_by_role("button", name="Postgres").click()

    await expect(workbench.toast("Which second?")).to_contain_text("[main agent] Which second?")
    await expect(workbench.toast("Which second?")).not_to_contain_text("review")
    await workbench.toast("Which second?").get_by_role("button", name="SQLite (recommended)").click()

    third = ensign.question("Which third?")
    await third.get_by_role("textbox", name="Answer in your own words").fill("a flat file")
    await third.get_by_role("textbox", name="Answer in your own words").press("Enter")

    await ensign.question("Which fourth?").get_by_role("button", name="Skip").click()
    await expect(ensign.answer("Chosen.")).to_be_visible()
    told = await request_about(models, "Choose with me", 1)
    assert told.json["messages"][-1]["content"].splitlines() == [
        "Which first? Postgres",
        "Which second? SQLite (recommended)",
        "Which third? a flat file",
        "Which fourth? [the person did not choose]",
    ]
