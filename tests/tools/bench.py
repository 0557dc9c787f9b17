"""The one place in these tests that knows how a tool is called."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ensign.protocol.access import Access
from ensign.protocol.errors import DeniedError
from ensign.tools import BUILTIN
from ensign.tools.base import TodoList, ToolContext, ToolOutput
from ensign.tools.check import check
from ensign.workspace.processes import Processes
from ensign.workspace.registry import FileRegistry
from ensign.workspace.sandbox import Confinement
from ensign.workspace.view import FileView
from tests.workspace.editor import FakeEditor

TOOLS = {tool.name: tool for tool in BUILTIN}


class Bench:
    """A workspace folder, an editor, and agents that call tools in it as the gate does: check, accesses, run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.registry = FileRegistry(home=root / "home")
        self.editor = FakeEditor(self.registry.documents)
        self.registry.editor = self.editor
        self.processes = Processes({"PATH": os.defpath, "HOME": str(root / "home")})
        self.views: dict[str, FileView] = {}
        self.denied: set[Path] = set()
        self.confinement: Confinement | None = None
        self.allowed: set[str] = set()
        self.asked: list[Access] = []
        self.progress: list[str] = []
        self.calls = 0

    def view(self, agent: str) -> FileView:
        if agent not in self.views:
            self.views[agent] = FileView(agent_id=f"id-{agent}", agent_name=agent, registry=self.registry)
        return self.views[agent]

    def context(self, agent: str = "main", cwd: Path | None = None) -> ToolContext:
        self.calls += 1
        return ToolContext(
            session_id="s1",
            agent_id=f"id-{agent}",
            task_id=None,
            call_id=f"call/{self.calls}",
            agent_name=agent,
            cwd=cwd or self.root,
            roots=(self.root,),
            files=self.view(agent),
            processes=self.processes,
            todos=TodoList(),
            output_dir=self.root / "out",
            progress=self.progress.append,
            require=self.require,
            confinement=self.confinement,
            allows=self.allows,
        )

    async def require(self, accesses: Sequence[Access]) -> None:
        self.asked += accesses
        for access in accesses:
            if access.path in self.denied:
                raise DeniedError("a rule denies it", by="rule", target=access.target)

    def allows(self, accesses: Sequence[Access]) -> bool:
        return all(access.target in self.allowed for access in accesses)

    async def call(self, name: str, agent: str = "main", **arguments: Any) -> ToolOutput:
        return await self.call_in(self.context(agent), name, arguments)

    async def call_in(self, ctx: ToolContext, name: str, arguments: dict[str, Any]) -> ToolOutput:
        tool = TOOLS[name]
        check(tool, arguments)
        tool.accesses(ctx, arguments)
        return await tool.run(ctx, arguments)

    async def text(self, name: str, agent: str = "main", **arguments: Any) -> str:
        return (await self.call(name, agent, **arguments)).text

    async def close(self) -> None:
        await self.processes.close()
        assert self.processes.running == 0
