"""A person sets up a model: a server on this machine, a key, and the doctor's page when something is missing."""

import pytest
from playwright.async_api import expect

from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply
from tests.editor.product import Ensign
from tests.editor.settings import EditorOptions
from tests.editor.workbench import Workbench


@pytest.fixture(scope="module")
def editor_options(models: ModelServer) -> EditorOptions:
    provider = {"kind": "openai", "baseUrl": models.base_url}
    return EditorOptions(settings={"ensign.models.providers": {"ollama": provider}})


async def test_a_model_of_a_server_on_this_machine_is_listed_and_answers(
    workbench: Workbench, models: ModelServer
) -> None:
    models.add(Reply(text="Hello from this machine"))
    ensign = await Ensign.shown(workbench)
    await workbench.command("Ensign: Select Model")
    found = workbench.quick_pick("scripted")
    await expect(found).to_contain_text("ollama")
    await workbench.screenshot("models")
    await found.click()
    await ensign.say("hello")
    await expect(ensign.answer("Hello from this machine").first).to_be_visible()
    assert models.requests[-1].json["model"] == "scripted"


async def test_a_key_is_asked_for_by_a_model_that_needs_one(workbench: Workbench) -> None:
    await Ensign.shown(workbench)
    await workbench.command("Ensign: Select Model")
    await workbench.quick_input().fill("haiku")
    await workbench.quick_pick("claude-haiku").click()
    await workbench.answer_toast("is not ready: needs a key", "Set API Key")
    await expect(workbench.page.get_by_text("API key for anthropic")).to_be_visible()
    await workbench.page.keyboard.type("sk-ant-test")
    await workbench.page.keyboard.press("Enter")
    await expect(workbench.status_item("the key for anthropic is set")).to_be_visible()
    await workbench.command("Ensign: Select Model")
    await workbench.quick_input().fill("haiku")
    # By its name for screen readers: a row that is used again keeps the text of another in a hidden line.
    option = workbench.page.get_by_role("option", name="claude-haiku-4-5, anthropic", exact=True)
    await expect(option).to_be_visible()
    await workbench.page.keyboard.press("Escape")


async def test_the_doctor_is_a_page(workbench: Workbench) -> None:
    await Ensign.shown(workbench)
    await workbench.command("Ensign: Doctor")
    await expect(workbench.tab("Ensign Doctor")).to_be_visible()
    await expect(workbench.page.locator(".editor-instance").get_by_text("In order").first).to_be_visible()
    await workbench.screenshot("doctor")
