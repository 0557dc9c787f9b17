"""Trying again: what is worth it, when, and how often."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import field
from random import Random

from ensign.models.base import Chunk, Restarted
from ensign.models.clock import Clock, sleep
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.value import frozen

_log = logging.getLogger(__name__)


@frozen
class RetryPolicy:
    """How often and how long.

    Attributes:
        retries: after the first attempt, at most.
        fewer: for kinds where more would not help; a stall is retried once (A11).
        base_s, cap_s: the first wait, doubled each time up to the cap.
        asked_cap_s: at most so long, whatever `Retry-After` asks for.
        random: jitter; between half and all of a computed wait, up to a tenth more of one asked for.
    """

    retries: int = 5
    fewer: dict[ModelErrorKind, int] = field(
        default_factory=lambda: {ModelErrorKind.STALLED: 1, ModelErrorKind.CONNECTION: 2}
    )
    base_s: float = 0.5
    cap_s: float = 30.0
    asked_cap_s: float = 120.0
    random: Random = field(default_factory=Random)

    def wait(self, error: ModelError, failures: dict[ModelErrorKind, int]) -> float | None:
        """Return the seconds before the next attempt, None when there is none. `failures` counts, with this one."""
        total = sum(failures.values())
        if not error.retryable or total > self.retries or failures[error.kind] > self.fewer.get(error.kind, total):
            return None
        if error.retry_after_s is not None:
            return min(error.retry_after_s, self.asked_cap_s) * (1 + self.random.random() / 10)
        return min(self.cap_s, self.base_s * 2.0 ** (total - 1)) * (0.5 + self.random.random() / 2)


async def retried(
    attempt: Callable[[], AsyncGenerator[Chunk, None]], policy: RetryPolicy, clock: Clock
) -> AsyncGenerator[Chunk, None]:
    """Yield what the attempt that succeeds yields, with a `Restarted` before each further attempt.

    Raises:
        ModelError: of the last attempt.
    """
    failures: dict[ModelErrorKind, int] = {}
    while True:
        try:
            async with aclosing(attempt()) as chunks:
                async for chunk in chunks:
                    yield chunk
            return
        except ModelError as error:
            failures[error.kind] = failures.get(error.kind, 0) + 1
            wait_s = policy.wait(error, failures)
            if wait_s is None:
                raise
            reason = str(error)
        _log.info("trying again in %.1f s: %s", wait_s, reason)
        yield Restarted(f"{reason}; trying again in {wait_s:.1f} s" if wait_s >= 1 else f"{reason}; trying again")
        await sleep(clock, wait_s)
