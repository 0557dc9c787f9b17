"""Ensign in a window, as a person sees it: the chat, its cards and questions, the rows of the Tasks view."""

import asyncio
import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import FrameLocator, Locator, expect

from ensign.testing.http_server import RecordedRequest
from ensign.testing.model_server import ModelServer
from tests.editor.workbench import Workbench

WAIT_S = 20
# Resolves with the wall clock, in milliseconds, when so many elements are there.
APPEARED = """(root, [selector, count]) => new Promise(resolve => {
    const look = () => root.querySelectorAll(selector).length >= count && resolve(Date.now());
    new MutationObserver(look).observe(root, {childList: true, subtree: true, attributes: true});
    look();
})"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensign:
    """The parts of the extension in one window."""

    workbench: Workbench

    @classmethod
    async def shown(cls, workbench: Workbench) -> "Ensign":
        """Show the views and wait until the chat takes a message."""
        ensign = cls(workbench=workbench)
        await workbench.view_container("Ensign")
        await expect(ensign.chat.get_by_role("button", name="Send (Enter)")).to_be_enabled(timeout=60_000)
        return ensign

    # ---- the chat

    @property
    def chat(self) -> FrameLocator:
        return self.workbench.webview()

    @property
    def box(self) -> Locator:
        return self.chat.get_by_role("textbox", name="Message")

    async def say(self, text: str) -> None:
        """Type a message and send it, by keyboard."""
        await self.box.click()
        await self.box.press_sequentially(text)
        await self.box.press("Enter")
        await expect(self.box).to_have_value("")

    def answer(self, text: str | re.Pattern[str]) -> Locator:
        """Return what the main agent said."""
        return self.chat.locator(".rows > .prose").filter(has_text=text)

    def card(self, title: str) -> Locator:
        """Return a subagent's card by its task."""
        return self.chat.locator(f'.card[aria-label$=": {title}"]')

    def question(self, text: str | re.Pattern[str]) -> Locator:
        """Return an open question in the chat."""
        return self.chat.locator(".approval").filter(has_text=text)

    async def allow(self, text: str | re.Pattern[str], outcome: str = "Allow once") -> None:
        """Answer a question in the chat by a click."""
        question = self.question(text)
        await question.get_by_role("button", name=outcome, exact=True).click()
        await expect(question).to_have_count(0)

    async def pick(self, text: str, outcome: str) -> None:
        """Answer the question with this text from the list that a key opens, by keyboard."""
        page = self.workbench.page
        await expect(self.question(text)).to_be_visible()
        await self.workbench.gesture(lambda: page.keyboard.press("Control+Alt+a"), self.workbench.quick_input())
        await expect(self.workbench.quick_input()).to_have_attribute("placeholder", text)
        await page.keyboard.type(outcome)
        await expect(self.workbench.quick_pick(outcome)).to_have_class(re.compile("focused"))
        await page.keyboard.press("Enter")
        # The next list looks like this one.
        await expect(self.workbench.quick_pick(outcome)).to_be_hidden()

    # ---- the Tasks view

    def row(self, text: str | re.Pattern[str]) -> Locator:
        return self.workbench.row(text if isinstance(text, re.Pattern) else re.compile(re.escape(text)), view="Tasks")


def delegate(agent: str, task: str, **more: object) -> tuple[str, dict[str, object]]:
    """Return a call of the `Agent` tool; what the subagent is sent ends in `, and report`, and nothing else does."""
    return ("Agent", {"subagent_type": agent, "description": task, "prompt": f"{task}, and report", **more})


def about(server: ModelServer, text: str) -> list[RecordedRequest]:
    """Return the requests so far of the agents that were asked this, in the order of arrival.

    Only an agent's first message is looked at: a parent's later requests hold what it asked its subagents.
    """
    return [request for request in server.requests if text in _asked(request)]


def _asked(request: RecordedRequest) -> str:
    return next(str(message["content"]) for message in request.json["messages"] if message["role"] == "user")


async def request_about(server: ModelServer, text: str, number: int = 0) -> RecordedRequest:
    """Wait for a request of an agent that was asked this, counted from 0."""
    async with asyncio.timeout(WAIT_S):
        while len(found := about(server, text)) <= number:
            await server.request(len(server.requests))
    return found[number]


async def reached(server: ModelServer, gate: str) -> None:
    """Wait until a reply waits at this gate."""
    async with asyncio.timeout(WAIT_S):
        await server.reached(gate)


async def running(command: str) -> set[int]:
    """Wait until this very command line runs, and return the processes. Make it one that no other test has."""
    words = command.replace(" ", "\0").encode() + b"\0"
    async with asyncio.timeout(WAIT_S):
        # Commands inherit no environment from us that would mark them as this editor's.
        while not (pids := {pid for pid in process_ids() if line_of(pid) == words}):
            await asyncio.sleep(0.05)
    return pids


async def gone(pids: set[int]) -> None:
    """Wait until these processes run no more."""
    async with asyncio.timeout(WAIT_S):
        # A zombie has no command line.
        while any(line_of(pid) for pid in pids):
            await asyncio.sleep(0.005)


def process_ids() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]


def line_of(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
