"""A small process that outlives us: when the server dies, by whatever signal, it ends the commands that still run."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress

_SCRIPT = r"""
groups=" " pauses="0 0.1 0.5"
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) groups="${groups%% $group *} ${groups#* $group }" ;;
    .) pauses=0 ;;
  esac
done
for group in $groups; do kill -9 -- "-$group"; done
for pause in $pauses; do
  sleep $pause
  for file in $(grep -lsaF -- "$1" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    kill -9 "${pid%/environ}"
  done
done
"""


class Reaper:
    """Learns of each process group; reads the end of the server's life from the closing of a pipe.

    A shell script, because it is there on every POSIX machine, starts in a millisecond and needs one megabyte.
    """

    def __init__(self, token: str) -> None:
        self._token = token
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Be there, before anything is started that may have to be ended.

        What the server was just starting when it died becomes a program, with the token, a moment after its death.
        """
        if self._process is None:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "ensign-reaper", self._token],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": "/usr/bin:/bin"},
                start_new_session=True,
                bufsize=0,
            )

    def watch(self, group: int) -> None:
        """A group has started."""
        self._say(f"+ {group}\n")

    def forget(self, group: int) -> None:
        """A group is gone; its number may soon be another's."""
        self._say(f"- {group}\n")

    def close(self) -> None:
        """End it. What it still watches is ended too."""
        if self._process is not None and self._process.stdin is not None:
            # Nothing is just being started, so it need not look more than once.
            self._say(". .\n")
            with suppress(OSError):
                self._process.stdin.close()
            self._process.wait()
            self._process = None

    def _say(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        # Somebody killed it: commands run on without this last safety.
        with suppress(BrokenPipeError):
            os.write(self._process.stdin.fileno(), line.encode())
