"""One VS Code window in the browser, as a person sees it: what is on the screen, and mouse and keyboard.

Clicks and hovers can be lost while the workbench is busy, so a gesture is repeated until what it opens is there.
Everything returned is a Playwright locator or frame, which waits by itself; use `expect(...)` on it.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.async_api import Error, FrameLocator, Locator, Page, expect

from tests.editor.accessibility import violations
from tests.editor.server import EditorServer
from tests.editor.settings import EXTENSION_ID, OUTPUT

Theme = Literal["dark", "light", "high-contrast"]
# The name in the picker, and the class that the workbench carries once it is applied.
THEMES: dict[Theme, tuple[str, str]] = {
    "dark": ("Dark Modern", "vs-dark"),
    "light": ("Light Modern", "vs"),
    "high-contrast": ("Dark High Contrast", "hc-black"),
}
GESTURE_TIMEOUT_MS = 2_000
GESTURES = 8
LOAD_TIMEOUT_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    page: Page
    editor: EditorServer
    folder: Path
    name: str

    # ---- the window

    async def load(self) -> None:
        """Open or reload the folder and wait until its first entry is drawn in the explorer."""
        await self.page.goto(self.editor.url(self.folder), wait_until="commit")
        rows = self.page.locator(".explorer-folders-view").get_by_role("treeitem")
        await expect(rows.first).to_be_visible(timeout=LOAD_TIMEOUT_MS)

    async def theme(self, theme: Theme) -> None:
        """Choose a theme in the picker, as a person does: the editor does not watch its settings file."""
        name, css = THEMES[theme]
        await self.command("Preferences: Color Theme")
        await self.quick_input().fill(name)
        await self.quick_pick(name).click()
        await expect(self.quick_input()).to_be_hidden()
        await expect(self.page.locator(f".monaco-workbench.{css}")).to_be_attached()

    async def screenshot(self, label: str) -> Path:
        """Keep a picture of the window in `tests/editor/output/` and return its path."""
        path = OUTPUT / f"{self.name}-{label}.png"
        await self.page.screenshot(path=path)
        return path

    async def screenshots(self, label: str) -> None:
        """Keep a picture in each theme, and have axe look at our page in it; ends in the dark one."""
        for theme in ("light", "high-contrast", "dark"):
            await self.theme(theme)
            await self.screenshot(f"{label}-{theme}")
            if await self.page.locator(self.view_of(EXTENSION_ID)).count():
                found = await violations(self.webview().locator("body"))
                assert not found, "\n".join((f"{label}, {theme}:", *found))

    async def command(self, title: str) -> None:
        """Run a command by its full title in the palette."""
        widget = self.page.locator(".quick-input-widget")
        box = widget.locator("input[type=text]")
        await self.gesture(lambda: self.page.keyboard.press("F1"), box)
        await box.fill(f">{title}")
        await widget.locator(".quick-input-list .monaco-list-row").filter(has_text=title).first.click()

    def quick_input(self) -> Locator:
        """Return the box of an open quick input or quick pick; rows are `.monaco-list-row` in `.quick-input-list`."""
        return self.page.locator(".quick-input-widget input[type=text]")

    def quick_pick(self, text: str) -> Locator:
        return self.page.locator(".quick-input-list .monaco-list-row").filter(has_text=text).first

    # ---- side bar

    async def view_container(self, name: str) -> None:
        """Show a view container by its name in the activity bar."""
        tab = self.page.locator(".activitybar").get_by_role("tab", name=name)
        if await tab.get_attribute("aria-selected") != "true":
            await self.gesture(tab.click, self.page.locator(".sidebar .composite.title").filter(has_text=name))

    def pane(self, title: str) -> Locator:
        """Return the view with this title in the side bar or the panel."""
        return self.page.locator(".pane").filter(has=self.page.locator(".pane-header").filter(has_text=title))

    def row(self, name: str | re.Pattern[str], view: str | None = None) -> Locator:
        """Return a tree row by its accessible name, in one view or anywhere."""
        return (self.pane(view) if view else self.page.locator("body")).get_by_role("treeitem", name=name)

    async def row_action(self, row: Locator, action: str) -> None:
        """Click an inline button of a tree row, which is there only while the mouse is over it."""
        button = row.get_by_role("button", name=action)
        await self.gesture(row.hover, button)
        await button.click()

    # ---- messages

    def toast(self, text: str | re.Pattern[str]) -> Locator:
        return self.page.locator(".notifications-toasts .notification-toast").filter(has_text=text)

    async def answer_toast(self, text: str | re.Pattern[str], button: str) -> None:
        toast = self.toast(text)
        await toast.get_by_role("button", name=button, exact=True).click()
        await expect(toast).to_have_count(0)

    def modal(self) -> Locator:
        return self.page.locator(".monaco-dialog-box")

    async def answer_modal(self, button: str) -> None:
        await self.modal().get_by_role("button", name=button).click()
        await expect(self.modal()).to_have_count(0)

    def status_item(self, text: str | re.Pattern[str]) -> Locator:
        return self.page.locator(".statusbar-item").filter(has_text=text)

    # ---- menus

    async def context_menu(self, target: Locator, item: str) -> None:
        """Right click on `target` and choose `item`; the gesture is repeated until the menu is gone again."""
        entry = self.page.get_by_role("menuitem", name=item)
        for _ in range(GESTURES):
            await self.gesture(lambda: target.click(button="right"), entry)
            # A click right after the menu has opened can be lost.
            await self.page.wait_for_timeout(300)
            try:
                await entry.click(timeout=GESTURE_TIMEOUT_MS)
                await expect(entry).to_have_count(0, timeout=GESTURE_TIMEOUT_MS)
            except (Error, AssertionError):
                await self.page.keyboard.press("Escape")
            else:
                return
        raise AssertionError(f"the menu entry {item!r} could not be chosen")

    # ---- editors

    async def open_file(self, relative: str) -> None:
        """Open a file of the folder through quick open, and wait for its tab."""
        tab = self.tab(Path(relative).name)
        await self.gesture(lambda: self.page.keyboard.press("Control+P"), self.quick_input())
        await self.quick_input().fill(relative)
        await self.quick_pick(Path(relative).name).click()
        await expect(tab).to_be_visible()

    def tab(self, name: str) -> Locator:
        return self.page.get_by_role("tab", name=name)

    def dirty(self, name: str) -> Locator:
        """Return a file's tab, if it has unsaved changes."""
        return self.page.locator(".tab.dirty").filter(has_text=name)

    def word(self, word: str) -> Locator:
        """Return the first place in an editor where the whole word is a token of its own."""
        pattern = re.compile(rf"^\s*{re.escape(word)}\s*$")
        return self.page.locator(".editor-instance .view-line span span").filter(has_text=pattern).first

    def lines(self) -> Locator:
        """Return the visible lines of the editors, in the order of the page, not of the file: see `text`."""
        return self.page.locator(".editor-instance .view-line")

    async def text(self) -> str:
        """Return the visible text of the editors, top to bottom."""
        script = "lines => lines.map(l => [l.getBoundingClientRect().top, l.textContent]).sort((a, b) => a[0] - b[0])"
        lines: list[tuple[float, str]] = await self.lines().evaluate_all(script)
        return "\n".join(line.replace("\u00a0", " ") for _, line in lines)

    async def expect_text(self, part: str, timeout_s: float = 20) -> None:
        """Wait until the visible text of the editors contains `part`."""
        text = ""
        for _ in range(int(timeout_s * 10)):
            text = await self.text()
            if part in text:
                return
            await self.page.wait_for_timeout(100)
        raise AssertionError(f"{part!r} is not in\n{text}")

    async def follow(self, link: Locator) -> None:
        """Follow a link in an editor by a click in its hover, which unlike the text is not drawn anew meanwhile."""
        follow = self.hover_box().get_by_text("Follow link")
        await self.gesture(link.hover, follow)
        await follow.click()

    def hover_box(self) -> Locator:
        return self.page.locator(".monaco-hover:visible")

    def code_lens(self, text: str) -> Locator:
        return self.page.locator(".codelens-decoration a").filter(has_text=text)

    def diff(self) -> Locator:
        return self.page.locator(".monaco-diff-editor")

    # ---- webviews and output

    def webview(self, extension: str = EXTENSION_ID) -> FrameLocator:
        """Return the page inside the extension's webview view (side bar or panel)."""
        return self.frame(self.view_of(extension))

    @staticmethod
    def view_of(extension: str) -> str:
        """Select the frame around an extension's webview view."""
        return f'iframe.webview.ready[src*="purpose=webviewView"][src*="extensionId={extension}"]'

    def webview_panel(self, extension: str = EXTENSION_ID) -> FrameLocator:
        """Return the page inside the extension's webview panel (an editor tab)."""
        purpose = ':not([src*="purpose=webviewView"])'
        return self.frame(f'iframe.webview.ready{purpose}[src*="extensionId={extension}"]')

    def frame(self, outer: str) -> FrameLocator:
        return self.page.frame_locator(outer).frame_locator("#active-frame")

    async def output(self, channel: str) -> Locator:
        """Show an output channel and return its visible lines."""
        await self.command("Output: Show Output Channels...")
        await self.quick_pick(channel).click()
        return self.page.locator(".part.panel .view-line")

    # ---- how

    async def gesture(self, do: Callable[[], Awaitable[object]], seen: Locator) -> None:
        """Repeat a gesture until what it opens is seen."""
        for _ in range(GESTURES):
            try:
                await do()
                await seen.first.wait_for(state="visible", timeout=GESTURE_TIMEOUT_MS)
            except Error:
                continue
            return
        raise AssertionError(f"nothing opened: {seen}")
