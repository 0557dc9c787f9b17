"""Fixtures for tests in a real VS Code in a real browser. One editor serves a module; each test gets its own window.

A module that needs other settings or environment overrides `editor_options` (module scope).
A test that needs an editor of its own uses `running_editor` from `tests.editor.server`.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from ensign.testing.model_server import ModelServer
from tests.editor.server import EditorServer, running_editor
from tests.editor.settings import CHROMIUM_FLAGS, OUTPUT, EditorOptions
from tests.editor.workbench import Theme, Workbench

HERE = Path(__file__).parent
CHROMIUM = Path("/usr/bin/chromium")
TEST_TIMEOUT_S = 240
# For what a loaded machine with two cores still does; what must be fast is timed by its own test.
WAIT_MS = 20_000

OpenWorkbench = Callable[..., Awaitable[Workbench]]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("editor")
            item.add_marker(pytest.mark.timeout(TEST_TIMEOUT_S))
            # A browser lives on the loop it was started on.
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    expect.set_options(timeout=WAIT_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield browser
        await browser.close()


@pytest.fixture(scope="module")
def editor_options() -> EditorOptions:
    return EditorOptions()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def editor(editor_options: EditorOptions) -> AsyncIterator[EditorServer]:
    async with running_editor(editor_options) as editor:
        yield editor


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def models() -> AsyncIterator[ModelServer]:
    """A scripted model server for a module's editor: see `scripted`. Each test routes by words of its own."""
    async with ModelServer() as server:
        yield server


def scripted(models: ModelServer, **settings: object) -> EditorOptions:
    """Return options for an editor whose agents talk to `models`."""
    env = {"ENSIGN_MODEL": "openai/scripted", "OPENAI_BASE_URL": models.base_url, "OPENAI_API_KEY": "k"}
    return EditorOptions(env=env, settings=settings)


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Give a function that notes a measured figure; all of them are printed at the end of the run."""
    figures = request.config.stash.setdefault(FIGURES, list[str]())
    return lambda text: figures.append(f"{request.node.name}: {text}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if figures := config.stash.get(FIGURES, list[str]()):
        terminalreporter.section("figures")
        for line in figures:
            terminalreporter.write_line(line)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A small folder to open; a test that needs more writes more into it before it opens a window."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "main.py").write_text('"""Say hello."""\n\n\ndef greet(name: str) -> str:\n    return f"hello {name}"\n')
    return folder


@pytest_asyncio.fixture(loop_scope="session")
async def open_workbench(
    chromium: Browser, editor: EditorServer, workspace: Path, request: pytest.FixtureRequest
) -> AsyncIterator[OpenWorkbench]:
    """Give a function that opens a window; it takes `folder`, `editor` and `theme` by name, all optional.

    After a failed test, a picture of each window and the editor's logs stay in `tests/editor/output/`.
    """
    name = re.sub(r"\W+", "-", request.node.name).strip("-")
    opened: list[Workbench] = []
    OUTPUT.mkdir(exist_ok=True)

    async with AsyncExitStack() as stack:

        async def open_window(
            *, folder: Path = workspace, editor: EditorServer = editor, theme: Theme = "dark"
        ) -> Workbench:
            context = await chromium.new_context(viewport={"width": 1440, "height": 900})
            context.set_default_timeout(WAIT_MS)
            stack.push_async_callback(context.close)
            page = await context.new_page()
            # Leaving a window with unsaved text asks; the test has decided.
            page.on("dialog", lambda dialog: dialog.accept())
            workbench = Workbench(page=page, editor=editor, folder=folder, name=name)
            stack.push_async_callback(leave, page)
            opened.append(workbench)
            # What an earlier test chose in its window is written there too.
            editor.write_settings()
            await workbench.load()
            if theme != "dark":
                await workbench.theme(theme)
            return workbench

        yield open_window
        if request.node.stash.get(FAILED, False):
            for number, workbench in enumerate(opened):
                await workbench.screenshot(f"failed-{number}")
                (OUTPUT / f"{name}-failed-{number}.log").write_text(workbench.editor.logs())


@pytest_asyncio.fixture(loop_scope="session")
async def workbench(open_workbench: OpenWorkbench) -> Workbench:
    """One window on `workspace`."""
    return await open_workbench()


async def leave(page: Page) -> None:
    # A page that unloads tells the server so, and its extension host ends at once instead of waiting for a reconnect.
    await page.goto("about:blank")


FAILED = pytest.StashKey[bool]()
FIGURES = pytest.StashKey[list[str]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report
