"""Keeps this process's memory and environment, keys among them, from the commands that it starts."""

from __future__ import annotations

import sys

_PR_SET_DUMPABLE = 4


def keep_to_ourselves() -> None:
    """Close `/proc/<us>/environ`, `mem` and debuggers to the user's other processes; root cannot be kept out.

    Linux only: elsewhere a process's environment is not a file. Programs that we start are as open as ever.
    """
    if sys.platform != "linux":
        return
    # Imported here: it costs start time, and nobody needs it before there is a command.
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
