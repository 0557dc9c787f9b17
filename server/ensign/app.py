"""The only place where things are constructed: one `App` for each server or command, and nothing global."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ensign
from ensign.config.world import SESSION_TOOLS, World, check_tools, world_of
from ensign.mcp.connection import Place
from ensign.mcp.pins import Pins
from ensign.mcp.servers import Servers
from ensign.models.catalog import Catalog
from ensign.models.http import HttpPool, make_tls
from ensign.permissions.engine import PermissionEngine
from ensign.permissions.policy import Policy
from ensign.protocol.access import Mode
from ensign.protocol.definition import Diagnostic
from ensign.protocol.ports import Editor
from ensign.protocol.wire import Check, Explained
from ensign.session.api import Api
from ensign.session.everywhere import Everywhere
from ensign.session.model_choice import model_terms
from ensign.session.new_agents import NewAgents
from ensign.session.remote import Doors
from ensign.session.services import Services
from ensign.session.sessions import OnEvent, Sessions
from ensign.store.store import Store
from ensign.tools import BUILTIN
from ensign.tools.web_fetch import web_fetch_tool
from ensign.web.fetcher import Fetcher
from ensign.workspace.documents import Documents
from ensign.workspace.processes import Processes
from ensign.workspace.registry import FileRegistry
from ensign.workspace.sandbox import Sandbox
from ensign.workspace.worktrees import Worktrees

if TYPE_CHECKING:
    from ensign.definitions.editing.files import AgentFiles

__all__ = ["Api", "App", "build"]

log = logging.getLogger(__name__)

_WATCH_AFTER_S = 1.0


class App:
    """A running Ensign: settings, definitions, sessions, and the API that faces call.

    Attributes:
        api: the commands of `contract.md`.
        documents: what is open in the editor; a face feeds it.
        trust: the person's say on what the workspace folders ask for.
        everywhere: the tasks of all sessions, also those that other processes own.
    """

    def __init__(self, world: World, *, headless: bool) -> None:
        self._world = world
        self._changed: list[Callable[[str], None]] = []
        environment = world.start.environ
        self._registry = FileRegistry(home=world.paths.user_home)
        sandbox = Sandbox(home=world.paths.user_home, hidden=(world.paths.home, world.paths.state))
        self._processes = Processes(environment, sandbox=sandbox)
        self._worktrees = Worktrees(world.paths.worktrees, self._processes, environment)
        self._http = HttpPool(environment)
        settings = world.settings
        terms, policies = model_terms(settings)
        models = Catalog(terms, environment, self._http, policies)
        self._catalogs = {root: models.beside(*model_terms(world.settings_in(root))) for root in world.roots[1:]}
        self._catalogs[world.roots[0]] = models
        self._reading = asyncio.Lock()
        self._said = deque(fault.message for fault in world.faults)
        self._servers = self._mcp()
        self._store = Store(world.paths.state, report=self._report)
        self._services = self._share(models, headless=headless)
        check_tools(settings.tools or (), known=SESSION_TOOLS | {tool.name for tool in self._services.tools})
        self._sessions = Sessions(self._services, world.paths.state / "output", self._said)
        self.documents: Documents = self._registry.documents
        self.api = Api(
            sessions=self._sessions,
            store=self._store,
            definitions=self._services.definitions,
            models=models,
            default_cwd=world.roots[0],
            new_agents=NewAgents(
                definitions=self._services.definitions,
                own=world.paths.agents,
                root_of=world.root_of,
                default_cwd=world.roots[0],
            ),
            diagnose=self.diagnose,
        )
        self.trust = world.trust
        world.trust.reread = self._read_again
        self.everywhere = Everywhere(self._store, world.paths.sockets)
        self._sessions.attend(Doors(world.paths.sockets, self.api))
        self._watching: asyncio.Task[None] | None = None
        self._closed = False

    @cached_property
    def agent_files(self) -> AgentFiles:
        """The language server of agent files; made when an editor first has use for it."""
        from ensign.session.agent_files import agent_files

        world = self._world
        return agent_files(
            self._services, words=lambda: world.words, folders=world.folders, settings_files=world.settings_files
        )

    async def configure(self, options: Mapping[str, Any]) -> None:
        """Take the editor's settings in place of those it started with; they hold from the next turn and agent on."""
        self._world.start = replace(self._world.start, options=options)
        await self._read_again()

    def settings_faults(self) -> dict[Path, tuple[Diagnostic, ...]]:
        """What is wrong with each settings file, and with the editor's settings under `OPTIONS`."""
        faults = self._world.diagnostics
        return {path: tuple(one for one in faults if one.path == path) for path in {one.path for one in faults}}

    def _share(self, models: Catalog, *, headless: bool) -> Services:
        world, settings = self._world, self._world.settings
        tools = (*BUILTIN, web_fetch_tool(Fetcher(agent=f"Ensign/{ensign.__version__}", tls=make_tls)))
        return Services(
            settings=lambda: self._world.settings,
            definitions=lambda: self._world.definitions,
            models=models,
            settings_at=lambda cwd: self._world.settings_in(self._world.root_of(cwd)),
            models_at=lambda cwd: self._catalogs[self._world.root_of(cwd)],
            tools=tuple(tool for tool in tools if settings.tools is None or tool.name in settings.tools),
            engine=PermissionEngine(),
            registry=self._registry,
            processes=self._processes,
            servers=self._servers,
            worktrees=self._worktrees,
            store=self._store,
            roots=world.roots,
            home=world.paths.user_home,
            platform=sys.platform,
            headless=headless,
            trusts=world.trust.believes,
            base_policy=self._base_policy,
            add_rule=self._add_rule,
            clock=time.time,
        )

    def _mcp(self) -> Servers:
        place = Place(
            processes=self._processes,
            environment=self._world.start.environ,
            cwd=self._world.roots[0],
            connect_s=lambda: self._world.settings.mcp_connect_seconds,
            version=ensign.__version__,
        )
        return Servers(place, Pins(self._world.paths.state / "mcp-tools.json"))

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
        await self._worktrees.close()
        await self._processes.close()
        await self._store.close()
        await self._http.aclose()
        if self._world.paths.temporary is not None:
            await asyncio.to_thread(self._world.paths.temporary.remove)

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

    def restrict(self) -> None:
        """The editor does not trust the workspace: nothing of it counts, whatever was trusted here."""
        self.trust.restricted = True
        self._world.read()
        self._configure_models()

    async def _add_rule(self, root: Path, rule: str) -> None:
        await asyncio.to_thread(self.trust.save_rule, root, rule)
        await self._read_again()

    async def _watch(self) -> None:
        """Pick up changed agent and settings files while running (D7); what changed before the watch began, too."""
        from ensign.definitions.watch import changes

        # Not while an editor waits for its first answers, or a run for its first request.
        await asyncio.sleep(_WATCH_AFTER_S)
        async for _ in changes(self._world.watched()):
            await self._read_again()

    async def _read_again(self) -> None:
        """Read settings and agent files, one reading at a time, and tell whoever is concerned by what has changed."""
        async with self._reading:
            world = self._world
            loaded, refused, definitions = world.loaded, world.refused, world.definitions
            await asyncio.to_thread(world.read)
            if (world.loaded, world.refused) != (loaded, refused):
                self._configure_models()
                self._tell("settings")
                await self._sessions.settings_changed()
            if world.definitions != definitions:
                self._sessions.definitions_changed()
                self._tell("agents")
            if await asyncio.to_thread(self.trust.changed):
                self._tell("trust")

    def _configure_models(self) -> None:
        for root, catalog in self._catalogs.items():
            catalog.configure(*model_terms(self._world.settings_in(root)))

    def _tell(self, what: str) -> None:
        for changed in tuple(self._changed):
            changed(what)


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
