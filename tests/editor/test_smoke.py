"""The harness itself: with these green, a failing editor test speaks about the product."""

import asyncio
import re
import time
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.editor.conftest import OpenWorkbench
from tests.editor.guard import processes
from tests.editor.probe import PROBE_ID, pack
from tests.editor.server import running_editor
from tests.editor.settings import EditorOptions
from tests.editor.workbench import Workbench


@pytest.fixture(scope="module")
def editor_options(tmp_path_factory: pytest.TempPathFactory) -> EditorOptions:
    return EditorOptions(extensions=(pack(tmp_path_factory.mktemp("probe")),), env={"PROBE_ENV": "of the test"})


async def test_the_window_shows_the_folder_in_each_theme(workbench: Workbench) -> None:
    await expect(workbench.row(re.compile(r"main\.py"))).to_be_visible()
    await workbench.open_file("main.py")
    await workbench.expect_text("def greet(name: str) -> str:\n    return")
    await workbench.screenshots("file")


async def test_extension_and_its_host_get_the_environment_of_the_test(workbench: Workbench) -> None:
    await expect(workbench.status_item("probe of the test")).to_be_visible()
    await expect((await workbench.output("Probe")).filter(has_text="probe is awake")).to_be_visible()


async def test_views_rows_and_webviews_are_found_and_clicked(workbench: Workbench) -> None:
    await workbench.view_container("Probe")
    await workbench.row_action(workbench.row("two", view="Things"), "Stop")
    await expect(workbench.status_item("stopped two")).to_be_visible()
    await workbench.webview(PROBE_ID).get_by_role("button", name="Say hi").click()
    await expect(workbench.status_item("heard hi")).to_be_visible()
    await workbench.screenshot("views")


async def test_toasts_modals_and_context_menus_are_answered(workbench: Workbench) -> None:
    await expect(workbench.status_item("probe")).to_be_visible()
    await workbench.command("Probe: Ask")
    await workbench.answer_toast("[probe]", "Allow once")
    await expect(workbench.status_item("answer Allow once")).to_be_visible()
    await workbench.command("Probe: Modal")
    await workbench.screenshot("modal")
    await workbench.answer_modal("Yes")
    await expect(workbench.status_item("modal Yes")).to_be_visible()
    await workbench.open_file("main.py")
    await workbench.context_menu(workbench.word("greet"), "Probe here")
    await expect(workbench.status_item("here 3")).to_be_visible()


async def test_two_windows_share_one_editor(open_workbench: OpenWorkbench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "other.py").touch()
    first, second = await asyncio.gather(open_workbench(), open_workbench(folder=other))
    await expect(first.row(re.compile(r"main\.py"))).to_be_visible()
    await expect(second.row(re.compile(r"other\.py"))).to_be_visible()


async def test_nothing_of_an_editor_outlives_it(editor_options: EditorOptions) -> None:
    async with running_editor(editor_options) as editor:
        assert editor.processes()
    assert processes(editor.mark) == {}
    assert not editor.run.exists()


async def test_an_extension_host_ends_with_its_window(open_workbench: OpenWorkbench) -> None:
    workbench = await open_workbench()
    await expect(workbench.status_item("probe")).to_be_visible()
    assert hosts(workbench)
    await workbench.page.goto("about:blank")
    deadline = time.monotonic() + 20
    while left := hosts(workbench):
        assert time.monotonic() < deadline, left
        await asyncio.sleep(0.1)


def hosts(workbench: Workbench) -> list[str]:
    return [line for line in workbench.editor.processes().values() if "extensionHost" in line]
