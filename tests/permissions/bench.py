"""The profile P1 of the case files, the throw-away folder they speak of, and what running a line there does."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ensign.permissions.engine import PermissionEngine
from ensign.permissions.policy import Policy, Question
from ensign.protocol.access import Access, Decision, Effect, Mode, Verdict
from ensign.protocol.definition import Rules
from ensign.protocol.settings import Layer

CASES = Path(__file__).with_name("cases")
_PROGRAMS = (
    "ls",
    "cat",
    "echo",
    "head",
    "grep",
    "rg",
    "find",
    "sed",
    "sort",
    "uniq",
    "cut",
    "true",
    "cd",
    "printf",
    "test",
)
P1 = Rules(
    allow=(
        *(f"Bash({program}:*)" for program in _PROGRAMS),
        "Bash(git status:*)",
        "Bash(git diff:*)",
        "Bash(git log:*)",
        "Read(./**)",
    ),
    deny=("Bash(rm:*)", "Read(./.env)", "Read(~/.ssh/**)", "Edit(./.git/**)"),
)
WEIGHT = {Decision.ALLOW: 0, Decision.ASK: 1, Decision.DENY: 2}


@dataclass(frozen=True, slots=True)
class ShellCase:
    id: str
    line: str
    want: tuple[str, ...]


def shell_cases() -> Iterator[ShellCase]:
    for text in (CASES / "shell.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(text)
        yield ShellCase(case["id"], case["line"], tuple(case["want"]))


def bash(line: str) -> tuple[Access, ...]:
    return (Access(effect=Effect.EXECUTE, target=line),)


@dataclass(slots=True)
class Bench:
    """An engine, a folder to work in and a home folder, both thrown away."""

    work: Path
    home: Path
    engine: PermissionEngine
    policy: Policy

    def judge(self, line: str, policy: Policy | None = None) -> Verdict:
        question = Question(tool="Bash", effect=Effect.EXECUTE, accesses=bash(line), cwd=self.work)
        return self.engine.judge(question, policy or self.policy)

    def file(self, tool: str, path: str, policy: Policy | None = None) -> Verdict:
        effect = Effect.READ if tool in ("Read", "Glob", "Grep") else Effect.WRITE
        question = Question(tool=tool, effect=effect, accesses=(Access(effect=effect, target=path),), cwd=self.work)
        return self.engine.judge(question, policy or self.policy)

    def with_rules(
        self,
        *,
        allow: tuple[str, ...] = (),
        ask: tuple[str, ...] = (),
        deny: tuple[str, ...] = (),
        mode: Mode = Mode.DEFAULT,
    ) -> Policy:
        layer = Layer(name="project", rules=Rules(allow=allow, ask=ask, deny=deny))
        return Policy(layers=(layer,), roots=(self.work,), home=self.home, mode=mode)

    def run(self, line: str) -> list[str]:
        """Run a line with bash for real and say what it did that nobody allowed."""
        with subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-c", line],
            cwd=self.work,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                process.wait(5)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        seen = [name for name in ("CANARY", "src/CANARY") if (self.work / name).exists()]
        if not (self.work / "victim" / "kept").exists():
            seen.append("victim is gone")
        if seen:
            self.reset()
        return seen

    def reset(self) -> None:
        for entry in self.work.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        _fill(self.work)


def make_bench(folder: Path) -> Bench:
    work, home = folder / "w", folder / "home"
    work.mkdir()
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_rsa").write_text("key\n")
    _fill(work)
    policy = Policy(layers=(Layer(name="project", rules=P1),), roots=(work,), home=home)
    return Bench(work=work, home=home, engine=PermissionEngine(), policy=policy)


def _fill(work: Path) -> None:
    for name, text in {
        "f.txt": "hi\nhello\n",
        "a b.txt": "x\n",
        "a;b.txt": "x\n",
        "list": "victim\n",
        ".env": "KEY=1\n",
        "p.sh": "touch CANARY\n",
        "src/a.py": "foo\n",
        "victim/kept": "x\n",
        ".git/config": "[core]\n",
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/hooks/x": "",
        ".git/objects/x": "",
        ".git/refs/x": "",
        ".claude/x": "",
        ".vscode/x": "",
    }.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (work / "p.sh").chmod(0o755)
