"""The person's say on the workspace folders of this process: show what they ask for, trust it, take that back (P9)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from ensign.config.asks import SKILLS, Look, review
from ensign.config.load import MCP_FILE
from ensign.config.local_rules import add_rule, local_file, rewritten, shared_file
from ensign.config.paths import StatePaths
from ensign.config.trust import read_trusted, save_trusted
from ensign.protocol import trust, wire
from ensign.protocol.definition import AgentDefinition, Source
from ensign.protocol.errors import UserError
from ensign.protocol.trusted import Trusted, content_hash
from ensign.workspace import git_settings


class Trusts:
    """What is trusted, and what asks to be.

    Attributes:
        restricted: the editor does not trust the workspace: nothing of it counts here either.
        reread: lets what was changed hold; set by whoever can.
    """

    def __init__(self, paths: StatePaths, roots: tuple[Path, ...], look: Callable[[Path], Look]) -> None:
        self._paths = paths
        self._roots = roots
        self._look = look
        self._shown: trust.TrustListed | None = None
        self.restricted = False
        self.reread: Callable[[], Awaitable[None]] | None = None
        self._now: dict[Path, Trusted] = {}
        self.read()

    # ---- what counts -------------------------------------------------------------------------------------------------

    def read(self) -> None:
        """Read the record again. Blocks."""
        self._now = {
            root: Trusted(root=root) if self.restricted else read_trusted(self._paths, root) for root in self._roots
        }

    def of(self, root: Path) -> Trusted:
        """What is trusted of a workspace folder; of any other folder nothing is."""
        return self._now.get(root) or Trusted(root=root)

    def believes(self, definition: AgentDefinition) -> bool:
        """Whether the file of a definition counts as trusted as things are now."""
        path = definition.path
        if path is None or definition.source not in (Source.PROJECT, Source.PROJECT_CLAUDE):
            return True
        return any(trusted.allows_hash(path, definition.digest) for trusted in self._now.values())

    def git_runs(self) -> tuple[str, ...]:
        """What git would run in the workspace folders by settings that nobody has trusted. Blocks."""
        return tuple(
            line
            for root, trusted in self._now.items()
            for found in git_settings.git_programs(root)
            if not trusted.allows(found.path, found.data)
            for line in found.runs
        )

    def watched(self) -> list[Path]:
        """The files and folders, beside those of agents, whose change matters."""
        found = [self._paths.trusted]
        for root in self._roots:
            found += [shared_file(root), local_file(root), root / MCP_FILE, *(root / place for place in SKILLS)]
            found += git_settings.watched(root)
        return found

    # ---- what a person does ------------------------------------------------------------------------------------------

    async def get(self, _: wire.Empty) -> trust.TrustListed:
        """Say what the workspace folders ask for, and what of it is trusted."""
        self._shown = await asyncio.to_thread(self._review)
        return self._shown

    async def set(self, params: trust.TrustSet) -> trust.TrustListed:
        """Trust what was shown of a folder, or nothing of it any more; it holds at once.

        Raises:
            UserError: no such folder, the editor does not trust it, or it cannot be remembered.
        """
        root = next((one for one in self._roots if str(one) == params.path), None)
        if root is None:
            raise UserError(f"params.path: {params.path!r} is none of the workspace folders")
        if params.trusted and self.restricted:
            raise UserError(f"the editor does not trust {params.path!r}; trust the workspace there first")
        await asyncio.to_thread(self._save, root, params)
        if self.reread is not None:
            await self.reread()
        return await self.get(wire.Empty())

    def changed(self) -> bool:
        """Whether the list is another one than that which was last shown to anybody. Blocks."""
        if self._shown is None:
            return False
        before, self._shown = self._shown, self._review()
        return before != self._shown

    def save_rule(self, root: Path, rule: str) -> None:
        """Save an "always" answer; the file that it is written to stays as trusted as it was. Blocks.

        Raises:
            UserError: it cannot be saved.
        """
        path = local_file(root)
        before = path.read_bytes() if path.is_file() else b""
        add_rule(self._paths, root, rule)
        known = self.of(root)
        after = path.read_bytes()
        # Only what this answer has changed: a rule that somebody else put in meanwhile is nobody's answer.
        if known.allows(path, before) and after == rewritten(before, rule.strip()):
            save_trusted(self._paths, root, {known.name(path): content_hash(after)})

    def _review(self) -> trust.TrustListed:
        folders = (review(self.of(root), self._look(root), restricted=self.restricted) for root in self._roots)
        return trust.TrustListed(folders=tuple(folders))

    def _save(self, root: Path, params: trust.TrustSet) -> None:
        if not params.trusted:
            save_trusted(self._paths, root, None)
            return
        known = self.of(root)
        listed = review(known, self._look(root), restricted=False).files
        hashes = {known.name(Path(one.path)): one.hash for one in listed if params.hashes.get(one.path) == one.hash}
        save_trusted(self._paths, root, hashes)
