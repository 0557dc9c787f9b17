"""The end of a run: everything it held is let go, in one place and one order (L2)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

STEP_S = 2.0
"""Each step's share of time; a step that takes longer is left behind so that the later ones still run."""

Step = tuple[str, Callable[[], Awaitable[None]]]

log = logging.getLogger(__name__)


async def die(steps: Sequence[Step]) -> list[str]:
    """Run every step, whatever the others do, and return what went wrong, by step."""
    faults: list[str] = []
    for name, step in steps:
        try:
            async with asyncio.timeout(STEP_S):
                await step()
        except TimeoutError:
            faults.append(f"{name}: not finished within {STEP_S:g} s")
        except Exception as error:  # one step's fault, of whatever kind, must not keep the later ones from running
            log.exception("a run could not let go of its %s", name)
            faults.append(f"{name}: {error}")
    return faults
