"""The commands of all agents: each in a process group of its own, none left behind."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Literal

from ensign.protocol.errors import ToolError
from ensign.protocol.value import frozen
from ensign.workspace import proctable
from ensign.workspace.child import Child, Spawn
from ensign.workspace.environment import child_environment
from ensign.workspace.output import Captured, Output
from ensign.workspace.peer import Peer
from ensign.workspace.reaper import Reaper
from ensign.workspace.sandbox import Confinement, Sandbox
from ensign.workspace.secrecy import keep_to_ourselves

MARKER = "ENSIGN_COMMAND"
"""Variable that every command carries; its value names the commands it runs in, outermost first."""

KEEP_BYTES = 30_000
FILE_BYTES = 64 << 20
_STOP_GRACE_S = 0.3
_TIMEOUT_GRACE_S = 0.7
_LEFT_GRACE_S = 0.2
_FLOOD_PAUSE_S = 0.02
_PROGRESS_S = 0.5
_GATHER_S = 0.02
_FEW_BYTES = 1 << 15
_WATCH_S = 0.25
_ERROR_BYTES = 8000
PROCESS_LIMIT = 2000
"""More processes and threads than this, started while a command runs and half of them its own, stop the command."""
_SHELL_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin")

Stopped = Literal["time", "processes"]


@frozen
class Command:
    """A command line to run.

    Attributes:
        line: for the shell.
        output: the file for what is too long to return; made only then.
        on_output: told the latest line now and then.
        confinement: what it may do in a sandbox; None runs it outside.
    """

    line: str
    cwd: Path
    agent_id: str
    timeout_s: float
    output: Path
    on_output: Callable[[str], None] | None = None
    confinement: Confinement | None = None


@frozen
class CommandResult:
    """What became of a command.

    Attributes:
        exit_code: of the shell (128 + n when signal n ended it); None when it was stopped.
        stopped: why: its time ran out, or it started too many processes.
        ended: what it had left in the background and was ended with it, as `pid command line`. Of a sandbox nothing is
            left to be seen: its processes end with it.
        sandboxed: whether it ran in a sandbox.
    """

    exit_code: int | None
    stopped: Stopped | None
    output: Captured
    ended: tuple[str, ...] = ()
    sandboxed: bool = False


@frozen
class Program:
    """A program of ours to run, without a shell.

    Attributes:
        stdin: an open file, or None for no input.
        env: its environment; None for that of commands.
    """

    argv: Sequence[str]
    cwd: Path
    agent_id: str
    stdin: BinaryIO | None = None
    env: Mapping[str, str] | None = None


@frozen
class ProgramResult:
    """What became of a program of ours; `exit_code` None when it was stopped because enough was read."""

    exit_code: int | None
    errors: str


class Processes:
    """Runs commands and our own helper programs, and knows which agent's they are."""

    def __init__(
        self, environment: Mapping[str, str], *, shell: Path | None = None, sandbox: Sandbox | None = None
    ) -> None:
        """Take what all commands share.

        Args:
            environment: the server's; children get it without keys.
            shell: which shell reads command lines; by default bash, or sh where there is none.
            sandbox: for commands that are confined; by default one that hides what is secret in the home folder.
        """
        self.sandbox = sandbox or Sandbox(home=Path(environment.get("HOME", "/")))
        self._environment = child_environment(environment)
        self._outer = environment.get(MARKER, "")
        self._token = secrets.token_hex(8)
        self._count = 0
        self._shell = shell or _find_shell()
        self._reaper = Reaper(self._token)
        self._running: dict[str, set[Child]] = {}

    @property
    def running(self) -> int:
        """How many commands and programs run now."""
        return sum(len(children) for children in self._running.values())

    async def run(self, command: Command) -> CommandResult:
        """Run a command line to the end of its shell, and end what it left in the background.

        Raises:
            ToolError: it could not be started, or needs a sandbox that this machine does not have.
            asyncio.CancelledError: after all of it is gone.
        """
        plain = self._argv(command.line)
        argv = await self._confined(plain, command)
        output = Output(command.output, keep_bytes=KEEP_BYTES, file_bytes=FILE_BYTES)
        loop = asyncio.get_running_loop()
        next_told = 0.0

        def take(chunk: bytes) -> None:
            nonlocal next_told
            output.write(chunk)
            if output.full:
                child.pause(_FLOOD_PAUSE_S)
            if command.on_output is not None and loop.time() >= next_told:
                next_told = loop.time() + _PROGRESS_S
                command.on_output(output.last_line())

        child = self._start(command.agent_id, argv, command.cwd, take)
        try:
            stopped = await self._wait(child, command.timeout_s)
            child.drain()
            left = {} if stopped else await child.survivors()
            if left or stopped:
                await child.end(_TIMEOUT_GRACE_S if stopped else _LEFT_GRACE_S)
            code = child.finish()
            ended = tuple(f"{pid} {line}" for pid, line in sorted(left.items()))
            return CommandResult(
                exit_code=None if stopped else code,
                stopped=stopped,
                output=output.finish(),
                ended=ended,
                sandboxed=argv is not plain,
            )
        except asyncio.CancelledError:
            await child.end(_STOP_GRACE_S)
            raise
        finally:
            child.kill()
            output.discard()
            self._forget(command.agent_id, child)

    async def capture(self, program: Program, on_output: Callable[[bytes], bool]) -> ProgramResult:
        """Run a program of ours and hand on what it writes, until it ends or `on_output` says False (enough).

        Raises:
            ToolError: it could not be started.
            asyncio.CancelledError: after it is gone.
        """
        enough = asyncio.Event()

        def take(chunk: bytes) -> None:
            # Programs that write line by line would wake us for each; the pipe holds what comes meanwhile.
            if len(chunk) < _FEW_BYTES:
                child.pause(_GATHER_S)
            if not enough.is_set() and not on_output(chunk):
                enough.set()
                child.stop_listening()
                child.ask_to_end()

        # A file and not a pipe: nobody need read it for the program to go on.
        with TemporaryFile() as errors:
            child = self._start(
                program.agent_id,
                program.argv,
                program.cwd,
                take,
                stdin=program.stdin,
                errors=errors,
                env=program.env,
            )
            try:
                await child.wait(None)
                while child.drain():
                    pass
                code = child.finish()
                errors.seek(0)
                words = errors.read(_ERROR_BYTES).decode("utf-8", "replace").strip()
                return ProgramResult(exit_code=None if enough.is_set() else code, errors=words)
            finally:
                child.kill()
                self._forget(program.agent_id, child)

    def open(self, program: Program, on_output: Callable[[bytes], None]) -> Peer:
        """Start a program that is spoken with; what it writes is handed to `on_output`.

        Raises:
            ToolError: it could not be started.
        """
        stdin, to_stdin = os.pipe()
        from_errors, errors = os.pipe()
        try:
            with os.fdopen(stdin, "rb") as reading, os.fdopen(errors, "wb") as writing:
                child = self._start(
                    program.agent_id,
                    program.argv,
                    program.cwd,
                    on_output,
                    stdin=reading,
                    errors=writing,
                    env=program.env,
                )
        except BaseException:
            os.close(to_stdin)
            os.close(from_errors)
            raise
        return Peer(child, to_stdin, from_errors, lambda: self._forget(program.agent_id, child))

    async def kill_all(self, agent_id: str) -> None:
        """End everything an agent runs; returns when it is gone."""
        children = list(self._running.get(agent_id, ()))
        await asyncio.gather(*(child.end(_STOP_GRACE_S) for child in children))

    async def close(self) -> None:
        """End everything."""
        await asyncio.gather(*(self.kill_all(agent_id) for agent_id in list(self._running)))
        self._reaper.close()

    def kill_now(self) -> None:
        """End everything without waiting, for the last moment of the server."""
        for children in list(self._running.values()):
            for child in list(children):
                child.kill()
        self._reaper.close()

    def _argv(self, line: str) -> list[str]:
        quiet = ["--noprofile", "--norc"] if self._shell.name == "bash" else []
        return [str(self._shell), *quiet, "-c", line]

    async def _confined(self, argv: list[str], command: Command) -> list[str]:
        """Return what runs a command in its sandbox; itself where it needs none, or has none and may do without."""
        confinement = command.confinement
        if confinement is None:
            return argv
        problem = await self.sandbox.problem()
        if problem is None:
            return self.sandbox.wrap(argv, command.cwd, confinement)
        if confinement.required:
            raise ToolError(f"the command did not run: this agent's commands need a sandbox, and {problem}")
        return argv

    async def _wait(self, child: Child, timeout_s: float) -> Stopped | None:
        """Wait for the shell, and watch that it does not fill the machine with processes."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        crowd = proctable.task_count() + PROCESS_LIMIT
        while (left := deadline - loop.time()) > 0:
            if await child.wait(min(left, _WATCH_S)):
                return None
            if proctable.task_count() > crowd and await child.count() > PROCESS_LIMIT // 2:
                return "processes"
        return "time"

    def _start(
        self,
        agent_id: str,
        argv: Sequence[str],
        cwd: Path,
        take: Callable[[bytes], None],
        *,
        stdin: BinaryIO | None = None,
        errors: BinaryIO | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Child:
        if self._count == 0:
            keep_to_ourselves()
        self._count += 1
        marker = f"{self._token}.{self._count}."
        own = {MARKER: f"{self._outer} {marker}".strip(), "PWD": str(cwd)}
        self._reaper.begin()
        spawn = Spawn(
            argv=argv,
            cwd=cwd,
            env={**(self._environment if env is None else env), **own},
            marker=marker,
            stdin=stdin,
            errors=errors,
        )
        try:
            child = Child(spawn, take)
        except FileNotFoundError as error:
            missing = argv[0] if cwd.is_dir() else f"the folder {cwd}"
            raise ToolError(f"cannot run the command: {missing!r} does not exist") from error
        except OSError as error:
            raise ToolError(f"cannot run the command: {error.strerror or error}") from error
        except ValueError as error:  # a null character, or half of one
            raise ToolError(f"the command cannot be given to a program: {error}") from error
        self._running.setdefault(agent_id, set()).add(child)
        self._reaper.watch(child.pid)
        return child

    def _forget(self, agent_id: str, child: Child) -> None:
        self._reaper.forget(child.pid)
        children = self._running.get(agent_id, set())
        children.discard(child)
        if not children:
            self._running.pop(agent_id, None)


def _find_shell() -> Path:
    found = (Path(folder, name) for name in ("bash", "sh") for folder in _SHELL_FOLDERS)
    return next((path for path in found if os.access(path, os.X_OK)), Path("/bin/sh"))
