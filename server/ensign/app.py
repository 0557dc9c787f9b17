"""The only place where things are constructed: one `App` for each server or command, and nothing global."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ensign
from ensign.config.load import Flags, Loaded, Start
from ensign.config.load import load as load_settings
from ensign.config.local_rules import add_rule
from ensign.config.paths import StatePaths, prepare, state_paths
from ensign.config.rules import check_rule
from ensign.definitions.catalogue import Definitions
from ensign.definitions.load import load as load_definitions
from ensign.definitions.sources import Folder, built_in_folder, folders
from ensign.definitions.vocabulary import Vocabulary
from ensign.mcp.connection import Place
from ensign.mcp.pins import Pins
from ensign.mcp.servers import Servers
from ensign.models.catalog import Catalog
from ensign.models.clock import SystemClock
from ensign.models.http import HttpPool, make_tls
from ensign.models.remote import Policies
from ensign.models.retry import RetryPolicy
from ensign.models.watchdog import StreamLimits
from ensign.permissions.engine import PermissionEngine
from ensign.permissions.policy import Policy
from ensign.protocol.access import Mode
from ensign.protocol.definition import Diagnostic
from ensign.protocol.errors import UserError
from ensign.protocol.ports import Editor
from ensign.protocol.settings import Settings
from ensign.protocol.wire import Check, Explained
from ensign.session.api import Api
from ensign.session.everywhere import Everywhere
from ensign.session.remote import Doors
from ensign.session.services import Services
from ensign.session.sessions import OnEvent, Sessions
from ensign.store.store import Store
from ensign.tools import BUILTIN
from ensign.tools.web_fetch import WEB_FETCH, web_fetch_tool
from ensign.web.fetcher import Fetcher
from ensign.workspace.documents import Documents
from ensign.workspace.processes import Processes
from ensign.workspace.registry import FileRegistry
from ensign.workspace.sandbox import Sandbox

__all__ = ["Api", "App", "build"]

log = logging.getLogger(__name__)

SESSION_TOOLS = frozenset(
    (
        *("Agent", "TaskList", "TaskGet", "TaskOutput", "TaskStop", "TaskCreate", "TaskUpdate", "SendMessage"),
        *("TeamCreate", "TeamDelete", "SyntheticOutput", "ToolSearch", "AskUserQuestion"),
    )
)
"""Tools that each session makes for itself; definitions may name them (T1 says which of them subagents get)."""
LATER_TOOLS = frozenset((*("WebSearch", "Skill", "EnterWorktree", "ExitWorktree"),))
"""Tools that definitions may name already, though nothing serves them yet."""
UNSERVED = frozenset({"isolation", "skills", "hooks", "memory"})
VERIFICATION = "Verification"
_WATCH_AFTER_S = 1.0


class App:
    """A running Ensign: settings, definitions, sessions, and the API that faces call.

    Attributes:
        api: the commands of `contract.md`.
        documents: what is open in the editor; a face feeds it.
        everywhere: the tasks of all sessions, also those that other processes own.
    """

    def __init__(self, world: World, *, headless: bool) -> None:
        self._world = world
        self._changed: list[Callable[[str], None]] = []
        environment = world.start.environ
        self._registry = FileRegistry(home=world.paths.user_home)
        sandbox = Sandbox(home=world.paths.user_home, hidden=(world.paths.home, world.paths.state))
        self._processes = Processes(environment, sandbox=sandbox)
        self._http = HttpPool(environment)
        settings = world.settings
        models = Catalog(settings.models, environment, self._http, policies_of(settings))
        self._said = deque(fault.message for fault in world.faults)
        place = Place(
            processes=self._processes,
            environment=environment,
            cwd=world.roots[0],
            connect_s=lambda: self._world.settings.mcp_connect_seconds,
            version=ensign.__version__,
        )
        self._servers = Servers(place, Pins(world.paths.state / "mcp-tools.json"))
        self._store = Store(world.paths.state, report=self._report)
        tools = (*BUILTIN, web_fetch_tool(Fetcher(agent=f"Ensign/{ensign.__version__}", tls=make_tls)))
        self._services = Services(
            settings=lambda: self._world.settings,
            definitions=lambda: self._world.definitions,
            models=models,
            tools=tuple(tool for tool in tools if settings.tools is None or tool.name in settings.tools),
            engine=PermissionEngine(),
            registry=self._registry,
            processes=self._processes,
            servers=self._servers,
            store=self._store,
            roots=world.roots,
            home=world.paths.user_home,
            platform=sys.platform,
            headless=headless,
            base_policy=self._base_policy,
            add_rule=self._add_rule,
            clock=time.time,
        )
        check_tools(settings.tools or (), known=SESSION_TOOLS | {tool.name for tool in self._services.tools})
        self._sessions = Sessions(self._services, world.paths.state / "output", self._said)
        self.documents: Documents = self._registry.documents
        self.api = Api(
            sessions=self._sessions,
            store=self._store,
            definitions=self._services.definitions,
            models=models,
            default_cwd=world.roots[0],
        )
        self.everywhere = Everywhere(self._store, world.paths.sockets)
        self._sessions.attend(Doors(world.paths.sockets, self.api))
        self._watching: asyncio.Task[None] | None = None
        self._closed = False

    def subscribe(self, on_event: OnEvent, on_changed: Callable[[str], None]) -> Callable[[], None]:
        """Hand every event and every `changed` to a face; the returned function ends that."""
        self._changed.append(on_changed)
        stop = self._sessions.subscribe(on_event)
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), name="watch agent files")

        def unsubscribe() -> None:
            self._changed.remove(on_changed)
            stop()

        return unsubscribe

    def explain(self, *, tool: str, arguments: str, cwd: Path, mode: Mode | None, agent: str | None) -> Explained:
        """Say what would be decided about a call (`ensign explain`)."""
        from ensign.session.explain import explain

        return explain(self._services, tool=tool, arguments=arguments, cwd=cwd, mode=mode, agent=agent)

    async def diagnose(self) -> list[Check]:
        """Check what Ensign needs on this machine (`ensign doctor`)."""
        from ensign.session.doctor import diagnose

        path = self._world.start.environ.get("PATH")
        return await diagnose(self._services, self._world.diagnostics, state=str(self._world.paths.state), path=path)

    def attach(self, *, editor: Editor | None, answers: bool) -> None:
        """Say who shows documents, and whether somebody can answer questions (P7)."""
        self._registry.editor = editor
        self._sessions.can_answer(answers)

    async def close(self, reason: str) -> None:
        """End everything that runs, as interrupted, and let go of files and connections. Closing twice is nothing."""
        if self._closed:
            return
        self._closed = True
        if self._watching is not None:
            self._watching.cancel()
        await self._sessions.close_all(reason)
        await self._servers.close()
        await self._processes.close()
        await self._store.close()
        await self._http.aclose()

    def _report(self, text: str) -> None:
        """The store has something to say, from any thread; the next session tells people."""
        log.warning("%s", text)
        self._said.append(text)

    def _base_policy(self, output_dir: Path) -> Policy:
        paths = self._world.paths
        return Policy(
            roots=self._world.roots,
            home=paths.user_home,
            readable=(output_dir,),
            protected=(paths.home, paths.state),
        )

    async def _add_rule(self, root: Path, rule: str) -> None:
        await asyncio.to_thread(add_rule, self._world.paths, root, rule)
        await asyncio.to_thread(self._world.read)

    async def _watch(self) -> None:
        """Pick up changed agent and settings files while running (D7); what changed before the watch began, too."""
        from ensign.definitions.watch import changes

        # Not while an editor waits for its first answers, or a run for its first request.
        await asyncio.sleep(_WATCH_AFTER_S)
        async for _ in changes(self._world.watched()):
            before = (self._world.settings, self._world.definitions)
            await asyncio.to_thread(self._world.read)
            if self._world.settings != before[0]:
                self._tell("settings")
                await self._sessions.settings_changed()
            if self._world.definitions != before[1]:
                self._sessions.definitions_changed()
                self._tell("agents")

    def _tell(self, what: str) -> None:
        for changed in tuple(self._changed):
            changed(what)


class World:
    """What was read from disk and environment: paths, settings, definitions. Reading it again makes a new one."""

    def __init__(
        self, paths: StatePaths, start: Start, roots: tuple[Path, ...], *, faults: tuple[Diagnostic, ...]
    ) -> None:
        self.paths = paths
        self.start = start
        self.roots = roots
        self.faults = faults
        self.loaded = self._load_settings()
        self.definitions = self._load_definitions()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.loaded.settings

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong with settings files and places."""
        return (*self.faults, *self.loaded.diagnostics)

    def read(self) -> None:
        """Read settings and agent files again. Blocks."""
        self.loaded = self._load_settings()
        self.definitions = self._load_definitions()

    def watched(self) -> list[Path]:
        """Files and folders whose change matters."""
        settings = [
            root / ".ensign" / name for root in self.roots[:1] for name in ("settings.json", "settings.local.json")
        ]
        return [*(folder.path for folder in self._folders()), self.paths.settings, *settings]

    def _folders(self) -> tuple[Folder, ...]:
        return folders(
            roots=self.roots,
            trusted=lambda _: False,
            user=self.paths.agents,
            home=self.paths.user_home,
            built_in=built_in_folder(),
        )

    def _load_settings(self) -> Loaded:
        return load_settings(self.paths, self.start, root=self.roots[0] if self.roots else None, trusted=False)

    def _load_definitions(self) -> Definitions:
        models = Catalog(self.settings.models, self.start.environ, HttpPool({}), policies_of(self.settings))

        def check_model(name: str) -> str | None:
            try:
                models.target(name)
            except UserError as error:
                return str(error)
            return None

        words = Vocabulary(
            tools=frozenset(tool.name for tool in BUILTIN) | {WEB_FETCH} | SESSION_TOOLS,
            later_tools=LATER_TOOLS,
            unserved=UNSERVED,
            check_model=check_model,
            check_rule=check_rule,
        )
        hidden = () if self.settings.subagents.enable_verification_agent else (VERIFICATION,)
        return load_definitions(self._folders(), words, hidden=hidden)


def build(
    *,
    options: Mapping[str, Any],
    roots: Sequence[Path],
    environment: Mapping[str, str],
    command_line: Mapping[str, Any],
    client_name: str,
    headless: bool = False,
) -> App:
    """Make an `App`. Reads settings and definitions (a few dozen milliseconds), starts nothing.

    Raises:
        UserError: a flag, ENSIGN_HOME or the policy file is wrong.
    """
    log.info("starting for %s", client_name)
    return App(world_of(options, roots, environment, command_line), headless=headless)


def world_of(
    options: Mapping[str, Any], roots: Sequence[Path], environment: Mapping[str, str], command_line: Mapping[str, Any]
) -> World:
    """Read everything that a start depends on."""
    paths, faults = prepare(state_paths(environment))
    start = Start(environ=environment, flags=Flags(**command_line), options=options)
    folders_ = tuple(root.resolve() for root in roots) or (paths.user_home,)
    return World(paths, start, folders_, faults=faults)


def check_tools(named: Iterable[str], *, known: frozenset[str]) -> None:
    """Refuse a name in `--tools` that nothing goes by: the list would be narrower than was meant, without a word.

    Raises:
        UserError: there is one.
    """
    for name in named:
        if name not in known and name not in LATER_TOOLS and not name.startswith("mcp__"):
            others = sorted(known | {tool.name for tool in BUILTIN})
            raise UserError(f"--tools: there is no tool {name!r}; there are {', '.join(others)}")


def policies_of(settings: Settings) -> Policies:
    """How model requests are retried and watched (A11)."""
    subagents = settings.subagents
    return Policies(
        retry=RetryPolicy(),
        limits=StreamLimits(first_token_s=subagents.first_token_seconds, stall_s=subagents.stall_seconds),
        clock=SystemClock(),
    )
