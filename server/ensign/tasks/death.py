"""The end of a run: everything it held is let go, in one place and one order (L2)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

STEP_S = 2.0
"""Each step's share of time; a step that takes longer is left behind so that the later ones still run."""

Step = tuple[str, Callable[[], Awaitable[None]]]

log = logging.getLogger(__name__)


async def die(steps: Sequence[Step], *, step_s: float = STEP_S) -> list[str]:
    """Run every step, whatever the others do, and return what went wrong, by step."""
    faults: list[str] = []
    for name, step in steps:
        # A task of its own: a step that does not even let itself be cancelled is left behind as well.
        running = asyncio.create_task(_run(step), name=f"let go of {name}")
        done, _ = await asyncio.wait({running}, timeout=step_s)
        if not done:
            running.cancel()
            running.add_done_callback(_forget)
            faults.append(f"{name}: not finished within {step_s:g} s")
        elif running.cancelled():
            faults.append(f"{name}: cancelled")
        elif error := running.exception():
            log.error("a run could not let go of its %s", name, exc_info=error)
            faults.append(f"{name}: {error}")
    return faults


async def _run(step: Callable[[], Awaitable[None]]) -> None:
    await step()


def _forget(late: asyncio.Task[None]) -> None:
    """Nobody waits for it any more; what it still says is for the log."""
    if not late.cancelled() and (error := late.exception()):
        log.error("a step that was left behind failed", exc_info=error)
