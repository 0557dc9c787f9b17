"""The loop: own time a step, whether it stays flat, and many subagents at once."""

from __future__ import annotations

import asyncio
import itertools
import ssl
import statistics
from collections.abc import Sequence
from pathlib import Path

from tests.bench import bare
from tests.bench.figures import Row, paired, quartiles
from tests.bench.model import Model, Plan, Seen
from tests.bench.product import product, quiet

LOOP = (
    "bare: a loop over httpx (a client for each agent), SSE lines parsed, one file read; same bytes, same TLS context"
)
_STEPS, _SOME = 500, 60
_EARLY, _LATE = slice(10, 20), slice(-10, None)


def tls() -> ssl.SSLContext:
    """One context for every client of the bare side; ours makes none for `http`."""
    return ssl.create_default_context()


def own_times(seen: Sequence[Seen]) -> list[float]:
    """For one agent: from the last byte of each answer to the next request."""
    return [after.came - before.answered for before, after in itertools.pairwise(seen)]


def typical(times: Sequence[float]) -> float:
    """The lower quartile."""
    return statistics.quantiles(times, n=4, method="inclusive")[0]


async def steps(folder: Path, model: Model, pairs: int) -> list[Row]:
    """One agent, 500 steps, no model latency."""
    context = tls()
    early: list[tuple[float, float]] = []
    late: list[tuple[float, float]] = []
    all_steps: list[tuple[float, float]] = []
    for number in range(pairs):
        model.plan(Plan(main_steps=_STEPS, keep_step=_STEPS - 13))
        async with product(folder / str(number), model.base_url) as ours:
            await ours.turn()
            own = own_times(model.seen())
        openings = (model.first_body(child=False), _SOME), (model.kept_body(), _STEPS)
        root = folder / str(number) / "workspace"
        first, last = [await _bare_times(model, root, context, *opening) for opening in openings]
        # Others on this machine only add to a time: the lower quartile of a run's steps is nearest to the truth.
        early.append((typical(own[_EARLY]), typical(first[_EARLY])))
        late.append((typical(own[_LATE]), typical(last[_LATE])))
        all_steps.append((typical(own[:_SOME]), typical(first)))
    growth = [(a / b, c / d) for (a, b), (c, d) in zip(late, early, strict=True)]
    grown = [late_ratio / early_ratio for late_ratio, early_ratio in growth]
    flat = Row(
        name="  its ratio over the last ten of 500 steps by that over 11-20",
        ours=f"{statistics.median(ratio for ratio, _ in growth):.2f} late",
        bare=f"{statistics.median(ratio for _, ratio in growth):.2f} early",
        value=statistics.median(grown),
        spread=quartiles(grown, pairs),
        target=1.2,
        note="both columns are ratios of ours to bare; the bare loop begins with the conversation of ours at step 487",
    )
    return [paired("own time a step, no model latency, one Read", all_steps, target=3.0, note=LOOP), flat]


async def _bare_times(model: Model, root: Path, context: ssl.SSLContext, opening: bytes, steps_: int) -> list[float]:
    await quiet()
    model.plan(Plan(main_steps=steps_))
    await bare.agent(bare.Bare(url=f"{model.base_url}/chat/completions", opening=opening, root=root, tls=context))
    return own_times(model.seen())


async def fan_out(folder: Path, model: Model, pairs: int) -> list[Row]:
    """Subagents of five steps side by side: from the answer that starts them to the request after the last report."""
    latencies = ((32, 0.05, 1.4), (256, 0.05, 2.5), (32, 0.0, 4.0))
    context = tls()
    rows: list[Row] = []
    for count, latency_s, target in latencies:
        measured: list[tuple[float, float]] = []
        for number in range(pairs):
            plan = Plan(main_steps=2, spawn=count, child_steps=5, latency_s=latency_s)
            model.plan(plan)
            place = folder / f"{count}-{latency_s}-{number}"
            async with product(place, model.base_url) as ours:
                await ours.turn()
            main = [one for one in model.seen() if not one.child]
            own = main[1].came - main[0].answered
            opening = model.first_body(child=True)
            await quiet()
            model.plan(plan)
            shared = bare.Bare(
                url=f"{model.base_url}/chat/completions", opening=opening, root=place / "workspace", tls=context
            )
            began = asyncio.get_running_loop().time()
            await bare.many(shared, count)
            measured.append((own, asyncio.get_running_loop().time() - began))
            await quiet()
        name = f"{count} subagents of 5 steps, {latency_s * 1000:.0f} ms model latency"
        rows.append(paired(name, measured, target=target, note=LOOP if not rows else ""))
    return rows
