"""The machine's processes, as far as `/proc` tells: who belongs to a command, even after leaving its group."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ensign.protocol.value import frozen

_PROC = "/proc"
HAS_PROC = Path(_PROC, "self", "stat").exists()


@frozen(kw_only=False)
class Process:
    """A running process; zombies do not count."""

    pid: int
    parent: int
    group: int
    session: int
    name: str


def members(sessions: set[int], marker: bytes) -> dict[int, Process]:
    """Return what belongs to a command; nothing where there is no `/proc`.

    That is what is in its sessions, what carries its marker in the environment (so that `setsid` and `nohup` hide
    nothing), and whatever these started. Sessions that are found so are added to `sessions`: their processes are known
    again when nothing else leads to them any more.
    """
    table = {process.pid: process for process in _running()}
    found = {
        pid
        for pid, process in table.items()
        if process.session in sessions or process.group in sessions or marker in _environment(pid)
    }
    found.discard(os.getpid())
    grown = True
    while grown:
        below = {pid for pid, process in table.items() if process.parent in found and pid not in found}
        found |= below
        grown = bool(below)
    sessions.update(table[pid].session for pid in found)
    return {pid: table[pid] for pid in found}


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal processes; those that are gone or not ours are skipped."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def task_count() -> int:
    """Return how many processes and threads the whole machine has; one small read. 0 where that cannot be told."""
    fields = _read(f"{_PROC}/loadavg").split()
    return int(fields[3].partition(b"/")[2]) if len(fields) > 3 else 0


def command_line(pid: int) -> str:
    """Return what a process runs, for people, or an empty string when it is gone."""
    return _read(f"{_PROC}/{pid}/cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip()


def _running() -> Iterable[Process]:
    if not HAS_PROC:
        return
    for entry in os.listdir(_PROC):  # noqa: PTH208 - hundreds of names, each needed as text
        if not entry.isdigit():
            continue
        # "pid (name) state parent group session ..."; the name may hold spaces and brackets.
        before, _, after = _read(f"{_PROC}/{entry}/stat").rpartition(b") ")
        fields = after.split(None, 4)
        if len(fields) < 5 or fields[0] in {b"Z", b"X"}:
            continue
        name = before.partition(b"(")[2].decode("utf-8", "replace")
        yield Process(int(entry), int(fields[1]), int(fields[2]), int(fields[3]), name)


def _environment(pid: int) -> bytes:
    return _read(f"{_PROC}/{pid}/environ")


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        chunks: list[bytes] = []
        while chunk := os.read(fd, 1 << 16):
            chunks.append(chunk)
        return b"".join(chunks)
    except OSError:
        return b""
    finally:
        os.close(fd)
