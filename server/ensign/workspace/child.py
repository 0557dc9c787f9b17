"""One child process in a session of its own: started, listened to, and ended with all that it started."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM, Signals
from typing import BinaryIO

from ensign.protocol.value import frozen
from ensign.workspace import proctable

_CHUNK = 1 << 18
_PIPE_BYTES = 1 << 20
_DRAIN_READS = 16
_POLL_S = 0.01
_KILL_S = 1.0


@frozen
class Spawn:
    """What to start. `marker` is found in the environment of whatever the child starts, wherever that hides."""

    argv: Sequence[str]
    cwd: Path | str
    env: Mapping[str, str]
    marker: str
    stdin: BinaryIO | None = None
    errors: BinaryIO | None = None
    """Where standard error goes; None: with the output."""


class Child:
    """A running child process. Whoever makes it must await `finish` or call `kill`."""

    def __init__(self, spawn: Spawn, on_output: Callable[[bytes], None]) -> None:
        """Start it.

        Raises:
            OSError: the program or the folder is missing.
        """
        self._loop = asyncio.get_running_loop()
        self._on_output = on_output
        self._marker = spawn.marker.encode()
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._paused: asyncio.TimerHandle | None = None
        self._pipe, write_end = os.pipe()
        try:
            self._popen = subprocess.Popen(
                spawn.argv,
                stdin=spawn.stdin or subprocess.DEVNULL,
                stdout=write_end,
                stderr=spawn.errors or subprocess.STDOUT,
                cwd=spawn.cwd,
                env=spawn.env,
                # A session of its own: no terminal to read from, and a group that can be signalled as one.
                start_new_session=True,
            )
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(write_end)
        self.pid = self._popen.pid
        self._sessions = {self.pid}
        os.set_blocking(self._pipe, False)
        with suppress(OSError, AttributeError):  # Linux has it; there an unprivileged user's share may be used up
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._listening = True
        self._released = False
        self._loop.add_reader(self._pipe, self._readable)
        self._pidfd = self._watch()

    async def wait(self, timeout_s: float | None) -> bool:
        """Wait for the child itself, not for what it left behind; False when the time ran out first."""
        await asyncio.wait({self._exited}, timeout=timeout_s)
        return self._exited.done()

    def pause(self, seconds: float) -> None:
        """Stop reading for a moment, so that who writes endlessly must wait, and not everybody else."""
        if self._listening and self._paused is None:
            self._loop.remove_reader(self._pipe)
            self._paused = self._loop.call_later(seconds, self._resume)

    def drain(self) -> bool:
        """Take what is in the pipe now; True when there may be more, as from a background child that writes on."""
        return all(self._listening and self._readable() for _ in range(_DRAIN_READS))

    def ask_to_end(self) -> None:
        """Send it the polite signal."""
        self._signal_group(SIGTERM)

    async def count(self) -> int:
        """Return how many processes it has."""
        return len(await asyncio.to_thread(self._members))

    async def survivors(self) -> dict[int, str]:
        """Return what still runs of it, with command lines."""
        found = await asyncio.to_thread(self._members)
        return {pid: proctable.command_line(pid) or process.name for pid, process in found.items()}

    async def end(self, grace_s: float) -> None:
        """Ask all of it to end, then make it; returns when nothing is left, also when cancelled meanwhile."""
        try:
            # Held still while we look: nothing can start or lose its parent before we know who belongs to it.
            self._signal_group(SIGSTOP)
            found = await asyncio.to_thread(self._members)
            for number in (SIGTERM, SIGCONT):
                self._signal_group(number)
                proctable.send(found, number)
            deadline = self._loop.time() + grace_s
            while self._loop.time() < deadline and await self._alive():  # noqa: ASYNC110 - nobody tells us of the others
                await asyncio.sleep(_POLL_S)
            self._signal_group(SIGKILL)
            while self._loop.time() < deadline + _KILL_S and (found := await asyncio.to_thread(self._members)):
                proctable.send(found, SIGKILL)
                await asyncio.sleep(_POLL_S)
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill all of it and let go of it; never waits, so that it holds where nothing may be awaited any more."""
        if self._released:
            return
        self._signal_group(SIGSTOP)
        found = self._members()
        self._signal_group(SIGKILL)
        proctable.send(found, SIGKILL)
        self._release()

    def finish(self) -> int:
        """Let go of a child that has exited and left nothing, and return its exit code (128 + n for signal n)."""
        self._release()
        code = self._popen.returncode
        return code if code >= 0 else 128 - code

    def _watch(self) -> int | None:
        if hasattr(os, "pidfd_open"):
            with suppress(OSError):
                pidfd = os.pidfd_open(self.pid)
                self._loop.add_reader(pidfd, self._on_exit)
                return pidfd
        # A thread of its own, as the shared pool has few and a command may take long.
        threading.Thread(target=self._wait_in_thread, daemon=True).start()
        return None

    def _wait_in_thread(self) -> None:
        with suppress(ChildProcessError):
            # WNOWAIT: the number stays ours until the group is gone, so that no stranger is signalled.
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._on_exit)

    def _on_exit(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
        if not self._exited.done():
            self._exited.set_result(None)

    def _readable(self) -> bool:
        """Read once; False when there is nothing more for now."""
        try:
            chunk = os.read(self._pipe, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self.stop_listening()
            return False
        self._on_output(chunk)
        return True

    def _resume(self) -> None:
        self._paused = None
        if self._listening:
            self._loop.add_reader(self._pipe, self._readable)

    def stop_listening(self) -> None:
        """Close our end of the pipe; who writes on gets a broken pipe."""
        if self._listening:
            self._listening = False
            if self._paused is not None:
                self._paused.cancel()
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)

    async def _alive(self) -> bool:
        if not proctable.HAS_PROC:
            return not self._exited.done()
        return bool(await asyncio.to_thread(self._members))

    def _members(self) -> dict[int, proctable.Process]:
        return proctable.members(self._sessions, self._marker)

    def _signal_group(self, number: Signals) -> None:
        # Never after the child was reaped: the number could be another's by then.
        if self._popen.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _release(self) -> None:
        if self._released:
            return
        self._released = True
        self._popen.wait()
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        self.stop_listening()
        if not self._exited.done():
            self._exited.set_result(None)
