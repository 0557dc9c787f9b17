"""Run a command in its own process group and end everything it started when standard input closes.

`python -m tests.editor.guard MARK COMMAND...`, where MARK is a `NAME=VALUE` that the command finds in its environment.
The group alone is not enough: the editor's extension host lingers for seconds, and what it started may have left the
group. A pipe as the life line works even when the test runner is killed and runs no teardown.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path


def processes(mark: str) -> dict[int, str]:
    """Return the command lines of the processes that inherited `mark`, by process id."""
    found: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            pid = int(folder.name)
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found[pid] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return {pid: line for pid, line in found.items() if line}


def end(mark: str) -> None:
    """End all that inherited `mark` but this process; what appears meanwhile as well."""
    while pids := processes(mark).keys() - {os.getpid()}:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def main(mark: str, command: list[str]) -> int:
    name, _, value = mark.partition("=")
    child = subprocess.Popen(command, env=os.environ | {name: value}, stdin=subprocess.DEVNULL, start_new_session=True)

    def watch() -> None:
        sys.stdin.buffer.read()
        child.terminate()

    threading.Thread(target=watch, daemon=True).start()
    # Ctrl+C reaches this process too, where the child has been detached from the terminal.
    with contextlib.suppress(KeyboardInterrupt):
        child.wait()
    end(mark)
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
