"""Memory: a server at rest, and what each further running subagent costs beyond the bytes of its conversation."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.figures import Row
from tests.bench.model import Model, Plan
from tests.bench.product import ENSIGN, Product, environment_of, product, quiet, server_process, workspace_of

_KIB, _MB = 1024, 1_000_000
_FEW, _MANY = 32, 232


def private_bytes() -> int:
    """Memory that this process has to itself."""
    text = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    return sum(int(line.split()[1]) * _KIB for line in text.splitlines() if line.startswith("Private_"))


def resident_bytes(pid: int) -> int:
    """Memory of a process, with what it shares."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * _KIB for line in text.splitlines() if line.startswith("VmRSS"))


def memory(folder: Path, model: Model, pairs: int) -> list[Row]:
    """Both figures; each measurement has a process of its own, since memory once taken is used again."""
    costs: list[float] = []
    own: list[float] = []
    for number in range(max(3, pairs // 3)):
        command = [sys.executable, "-m", "tests.bench.memory", model.base_url, str(folder / str(number))]
        text = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        before, after = json.loads(text)
        each = (after[1] - before[1]) / (_MANY - _FEW)
        costs.append(((after[0] - before[0]) / (_MANY - _FEW) - each) / _KIB)
        own.append(each / _KIB)
    further = Row(
        name="memory for a further running subagent, KiB",
        ours=f"{statistics.median(costs):.0f} KiB",
        value=statistics.median(costs),
        spread=f"{min(costs):.0f}-{max(costs):.0f} n={len(costs)}",
        target=200,
        note=f"beyond its conversation's own {statistics.median(own):.0f} KiB; private memory, 232 running over 32",
    )
    return [further, _at_rest(folder, model)]


def _at_rest(folder: Path, model: Model) -> Row:
    """`ensign serve` after a session was opened, and after a turn with a subagent."""
    root = workspace_of(folder)
    model.plan(Plan(main_steps=2, spawn=1))
    with server_process([str(ENSIGN), "serve"], environment_of(folder, model.base_url), root) as server:
        server.initialize(root)
        session = server.request("ensign/session/open", {"cwd": str(root)})["sessionId"]
        time.sleep(1)
        opened = resident_bytes(server.process.pid) / _MB
        server.turn(session)
        time.sleep(1)
        worked = resident_bytes(server.process.pid) / _MB
    return Row(
        name="server at rest, MB",
        ours=f"{worked:.0f} MB",
        value=worked,
        target=70,
        note=f"resident, after a turn with a subagent; {opened:.0f} MB after only opening a session",
    )


async def _subagents(folder: Path, model: Model) -> list[tuple[int, int]]:
    """Memory, and the bytes of conversations, with subagents that wait for the model in their fourth step."""
    model.plan(Plan(child_steps=5, hold=3))
    async with product(folder, model.base_url) as ours:
        measured = [await _running(ours, model, count) for count in (_FEW, _MANY)]
        model.release()
    return measured


async def _running(ours: Product, model: Model, count: int) -> tuple[int, int]:
    manager = ours.app.api.sessions.get(ours.session_id).manager
    while len(manager.active()) < count:
        await ours.start_agent()
    while sum(one.child and one.step == 2 for one in await asyncio.to_thread(model.seen)) < count:
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.3)
    await quiet()
    agents = [task.agent for task in manager.active() if task.agent is not None]
    assert len(agents) == count
    return private_bytes(), sum(agent.conversation.size_bytes for agent in agents)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(_subagents(Path(sys.argv[2]), Model(sys.argv[1])))))
