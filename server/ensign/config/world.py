"""What was read from disk and environment: places, settings, trust, definitions. Reading it again makes a new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ensign.config.asks import Look, names_elsewhere
from ensign.config.load import Flags, Loaded, Start
from ensign.config.load import load as load_settings
from ensign.config.local_rules import granted_rules
from ensign.config.paths import StatePaths, prepare, state_paths
from ensign.config.rules import check_rule
from ensign.config.trusts import Trusts
from ensign.definitions.catalogue import Definitions
from ensign.definitions.load import load as load_definitions
from ensign.definitions.sources import Folder, built_in_folder, fault, folders
from ensign.definitions.vocabulary import Vocabulary
from ensign.models.catalog import Catalog
from ensign.models.http import HttpPool
from ensign.protocol.definition import Diagnostic
from ensign.protocol.errors import UserError
from ensign.protocol.settings import Settings
from ensign.session.model_choice import model_terms
from ensign.tools import BUILTIN
from ensign.tools.web_fetch import WEB_FETCH

SESSION_TOOLS = frozenset(
    (
        *("Agent", "TaskList", "TaskGet", "TaskOutput", "TaskStop", "TaskCreate", "TaskUpdate", "SendMessage"),
        *("TeamCreate", "TeamDelete", "SyntheticOutput", "ToolSearch", "AskUserQuestion"),
        *("EnterWorktree", "ExitWorktree"),
    )
)
"""Tools that each session makes for itself; definitions may name them (T1 says which of them subagents get)."""
LATER_TOOLS = frozenset(("WebSearch", "Skill"))
"""Tools that definitions may name already, though nothing serves them yet."""
UNSERVED = frozenset({"skills", "hooks", "memory"})
VERIFICATION = "Verification"


class World:
    """What was read from disk and environment: paths, settings, definitions. Reading it again makes a new one."""

    def __init__(
        self, paths: StatePaths, start: Start, roots: tuple[Path, ...], *, faults: tuple[Diagnostic, ...]
    ) -> None:
        self.paths = paths
        self.start = start
        self.roots = roots
        self.faults = faults
        self.trust = Trusts(paths, roots, self._look)
        self.refused: tuple[Diagnostic, ...] = ()
        self.loaded = {root: self._load_settings(root, None) for root in roots}
        self.words = self._vocabulary()
        self.definitions = self._load_definitions()

    @property
    def settings(self) -> Settings:
        """The settings in force in the first workspace folder, which stands for what belongs to none."""
        return self.settings_in(self.roots[0])

    def settings_in(self, root: Path) -> Settings:
        """The settings in force in a workspace folder."""
        return self.loaded[root].settings

    def root_of(self, cwd: Path) -> Path:
        """The workspace folder that a directory is in: the innermost, or the first where it is in none."""
        around = [root for root in self.roots if cwd.resolve().is_relative_to(root)]
        return max(around, key=lambda root: len(root.parts), default=self.roots[0])

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong with settings files and places; each once, however many folders read it."""
        found = (fault for loaded in self.loaded.values() for fault in loaded.diagnostics)
        return tuple(dict.fromkeys((*self.faults, *self.refused, *found)))

    def read(self) -> None:
        """Read trust, settings and agent files again; what cannot be read any more stays as it was. Blocks."""
        self.trust.read()
        try:
            self.loaded = {root: self._load_settings(root, self.loaded[root]) for root in self.roots}
            self.words = self._vocabulary()
            self.definitions = self._load_definitions()
            self.refused = ()
        except UserError as error:
            self.refused = (fault(self.paths.settings, "error", "unreadable", str(error)),)

    def watched(self) -> list[Path]:
        """Files and folders whose change matters."""
        agents = (folder.path for folder in self.folders())
        return [*agents, *self.settings_files(), self.paths.policy, *self.trust.watched()]

    def settings_files(self) -> tuple[Path, ...]:
        """The files that settings are read from, existing or not."""
        names = ("settings.json", "settings.local.json")
        user = self.start.flags.settings_file or self.paths.settings
        return (*(root / ".ensign" / name for root in self.roots for name in names), user)

    def folders(self) -> tuple[Folder, ...]:
        """Where agent files are read from, nearest first."""
        return folders(
            roots=self.roots,
            trusted=self.trust.of,
            user=self.paths.agents,
            home=self.paths.user_home,
            built_in=built_in_folder(),
        )

    def _load_settings(self, root: Path, before: Loaded | None) -> Loaded:
        loaded = load_settings(self.paths, self.start, root=root, trust=self.trust.of(root), before=before)
        return replace(loaded, settings=replace(loaded.settings, git_runs=self.trust.git_runs()))

    def _look(self, root: Path) -> Look:
        agents = (one for listed in self.definitions.listed for one in (listed.definition, *listed.definition.shadows))
        return Look(
            root=root,
            folders=tuple(folder for folder in self.folders() if folder.root == root),
            words=self.words,
            taken=names_elsewhere(agents),
            saved=granted_rules(self.paths, root),
        )

    def _vocabulary(self) -> Vocabulary:
        terms, policies = model_terms(self.settings)
        models = Catalog(terms, self.start.environ, HttpPool({}), policies)

        def check_model(name: str) -> str | None:
            try:
                models.target(name)
            except UserError as error:
                return str(error)
            return None

        return Vocabulary(
            tools=frozenset(tool.name for tool in BUILTIN) | {WEB_FETCH} | SESSION_TOOLS,
            later_tools=LATER_TOOLS,
            unserved=UNSERVED,
            check_model=check_model,
            check_rule=check_rule,
        )

    def _load_definitions(self) -> Definitions:
        hidden = () if self.settings.subagents.enable_verification_agent else (VERIFICATION,)
        return load_definitions(self.folders(), self.words, hidden=hidden)


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
