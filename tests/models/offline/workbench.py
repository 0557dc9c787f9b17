"""Runs the offline policy on real files with plain stand-ins for the search tools."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ensign.models.offline.policy import Move, decide
from ensign.protocol.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSchema,
    UserMessage,
)

RG = shutil.which("rg", path=str(Path(sys.executable).parent)) or "rg"
SEARCH = ("Read", "Glob", "Grep")


def schemas(*names: str) -> dict[str, ToolSchema]:
    properties = {"run_in_background": {"type": "boolean"}}
    return {name: ToolSchema(name=name, description="", parameters={"properties": properties}) for name in names}


class Workbench:
    """A conversation with the policy in a folder."""

    def __init__(self, root: Path, *tools: str) -> None:
        self.root = root
        self.tools = schemas(*(tools or SEARCH))
        self.history: list[Message] = []
        self.steps: list[list[tuple[str, Mapping[str, Any]]]] = []

    def ask(self, task: str) -> str:
        """Give a task and return the words that end the turn, running what the policy calls."""
        self.history.append(UserMessage(text=task))
        while not isinstance(move := self.move(), str):
            assert len(self.steps) < 20, "the policy does not come to an end"
            self.steps.append([*move])
            calls = [
                ToolCall(call_id=f"c{number}", name=name, arguments=arguments, raw="")
                for number, (name, arguments) in enumerate(move)
            ]
            self.history.append(AssistantMessage(parts=tuple(calls)))
            self.history.append(ToolMessage(results=tuple(self.run(call) for call in calls)))
        return move

    def move(self, *, tools_off: bool = False) -> Move:
        return decide(self.history, self.tools, tools_off=tools_off)

    def run(self, call: ToolCall) -> ToolResult:
        arguments = dict(call.arguments or {})
        text = {"Grep": self._grep, "Glob": self._glob, "Read": self._read}[call.name](arguments)
        return ToolResult(call_id=call.call_id, text=text)

    def _rg(self, *options: str) -> Sequence[str]:
        command = [RG, "--no-config", "--sort=path", "--color=never", *options]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        assert done.returncode < 2, done.stderr
        return done.stdout.splitlines()

    def _grep(self, arguments: dict[str, Any]) -> str:
        options = ["-n", "--no-heading", *(["-i"] if arguments.get("-i") else [])]
        if glob := arguments.get("glob"):
            options += ["--glob", glob]
        lines = self._rg(*options, "-e", arguments["pattern"], ".")[: arguments["head_limit"]]
        return "\n".join(line.removeprefix("./") for line in lines) or "No matches found"

    def _glob(self, arguments: dict[str, Any]) -> str:
        return "\n".join(self._rg("--files", "--glob", arguments["pattern"])) or "No files found"

    def _read(self, arguments: dict[str, Any]) -> str:
        lines = (self.root / arguments["file_path"]).read_text(encoding="utf-8").splitlines()
        start = arguments.get("offset", 1)
        return "\n".join(
            f"{number}\t{line}" for number, line in enumerate(lines[start - 1 :][: arguments["limit"]], start)
        )
