"""Many agents: starting one, stopping, forks and the prefix they share, a thousand in one session."""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import threading
import time
from pathlib import Path

from ensign.protocol import wire
from tests.bench.figures import Row, latencies, shown
from tests.bench.memory import private_bytes
from tests.bench.model import Model, Plan
from tests.bench.product import Product, product, quiet

_MB = 1_000_000


async def spawning(folder: Path, model: Model, spawns: int) -> list[Row]:
    """One subagent after the other: from the last byte of the answer with the call to the subagent's first request."""
    model.plan(Plan(main_steps=spawns + 1, spawn=1, child_steps=1))
    async with product(folder, model.base_url) as ours:
        await ours.turn()
    seen = model.seen()
    pairs = itertools.pairwise(seen)
    times = [after.came - before.answered for before, after in pairs if after.child and not before.child]
    note = "from the last byte of the answer that calls `Agent` to the subagent's first request; one after the other"
    return [latencies("spawn to first model request", times, note=note)]


async def stopping(folder: Path, model: Model) -> list[Row]:
    """64 subagents wait for the model; each is stopped by a request of its own."""
    model.plan(Plan(hold=0))
    times: list[float] = []
    async with product(folder, model.base_url) as ours:
        ids = [await ours.start_agent() for _ in range(64)]
        session = ours.app.api.sessions.get(ours.session_id)
        while any(task.record.steps == 0 for task in session.manager.active()):
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        for task_id in ids:
            began = time.perf_counter()
            stopped = await ours.api.task_stop(wire.TaskStop(ids=(task_id,)))
            times.append(time.perf_counter() - began)
            assert stopped.stopped == (task_id,)
        model.release()
    return [
        latencies("stop with 64 running", times, note="until the run is dead, its processes gone and its end on disk")
    ]


async def forks(folder: Path, model: Model) -> list[Row]:
    """Five siblings from one message, ten steps each: bytes of their requests that a request before began with."""
    model.plan(Plan(main_steps=2, spawn=5, child_steps=10, kind=""), keep=True)
    async with product(folder, model.base_url) as ours:
        await ours.turn()
    before = [model.first_body(child=False)]
    shared = whole = 0
    for body in model.bodies():
        shared += max(common(body, other) for other in before)
        whole += len(body)
        before.append(body)
    share = 100 * shared / whole
    note = f"{len(before) - 1} requests of 5 forks, {whole / 1000:.0f} kB, against all requests before"
    return [Row(name="bytes of forks that a prefix cache serves", ours=f"{share:.1f} %", note=note)]


def common(one: bytes, other: bytes) -> int:
    """The length of the prefix that two bodies share."""
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


async def thousand(folder: Path, model: Model, count: int) -> list[Row]:
    """A thousand subagents of two steps, 32 at a time (L3)."""
    model.plan(Plan(child_steps=2))
    each: list[float] = []
    memory: list[int] = []
    async with product(folder, model.base_url, maxRunning=32) as ours:
        # The pool of threads is full then, connections are warm, and the watch of agent files has begun.
        await _hundred(ours, 64)
        await asyncio.sleep(2)
        await quiet()
        before = _held()
        for _ in range(count // 100):
            began = time.process_time()
            await _hundred(ours, 100)
            each.append((time.process_time() - began) / 100)
            await quiet()
            memory.append(private_bytes())
        after = _held()
    grown = (memory[-1] - memory[0]) / _MB
    rise = statistics.mean(each[-3:]) / statistics.mean(each[:3])
    leaked = {name: after[name] - before[name] for name in before if after[name] > before[name]}
    return [
        Row(
            name=f"{count:,} subagents, 32 at a time: left over",
            ours=", ".join(f"{value} {name}" for name, value in leaked.items()) or "nothing",
            value=sum(leaked.values()),
            target=0,
            note=f"descriptors beyond warm connections, threads, asyncio tasks, child processes; before: {before}",
        ),
        Row(
            name="  memory after the last over that after 100, MB",
            ours=f"{grown:.1f} MB",
            value=grown,
            target=10,
            note=f"private memory after each hundred, MB: {', '.join(f'{one / _MB:.0f}' for one in memory)}",
        ),
        Row(
            name="  time of the last 300 over the first 300",
            ours=shown(statistics.mean(each), "ms"),
            value=rise,
            target=1.2,
            note=f"processor time a subagent by hundred, ms: {', '.join(f'{one * 1000:.1f}' for one in each)}",
        ),
    ]


async def _hundred(ours: Product, count: int) -> None:
    for _ in range(count):
        await ours.start_agent()
    await ours.settle()


def _held() -> dict[str, int]:
    """What must be as before. Connections that are kept warm do not count: they are capped and closed when idle."""
    kinds = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return {
        "descriptors": sum(not kind.startswith("socket:") for kind in kinds),
        "threads": threading.active_count(),
        "asyncio tasks": len(asyncio.all_tasks()),
        "child processes": len(children),
    }
