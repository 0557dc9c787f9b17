"""Text at 2,000 deltas a second through `ensign serve`: none lost or out of order, no callback that holds the loop."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.bench.figures import Row
from tests.bench.model import Model, Plan
from tests.bench.product import environment_of, server_process, workspace_of

DELTAS, RATE = 8_000, 2_000

# Times every callback of the event loop, on the wall and on the processor: what others on this machine take is theirs.
_TIMED = """
import asyncio.events, os, sys, time
out = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
run = asyncio.events.Handle._run
def timed(handle):
    began, used = time.monotonic(), time.thread_time()
    run(handle)
    wall, cpu = time.monotonic() - began, time.thread_time() - used
    if wall > 0.001:
        os.write(out, f"{began} {wall} {cpu}\\n".encode())
asyncio.events.Handle._run = timed
from ensign.__main__ import main
sys.exit(main())
"""


def deltas(folder: Path, model: Model) -> list[Row]:
    """One stream of four seconds."""
    root = workspace_of(folder)
    log = folder / "callbacks"
    command = [sys.executable, "-c", _TIMED, str(log), "serve"]
    with server_process(command, environment_of(folder, model.base_url), root) as server:
        server.initialize(root)
        session = server.request("ensign/session/open", {"cwd": str(root)})["sessionId"]
        model.plan(Plan(main_steps=1))
        server.turn(session)
        model.plan(Plan(main_steps=1, deltas=DELTAS, interval_s=1 / RATE))
        began = time.monotonic()
        seen = server.turn(session)
        took_s = time.monotonic() - began
    texts = [params["event"]["text"] for params in seen if params["event"]["kind"] == "text_delta"]
    seqs = [params["seq"] for params in seen]
    lost = DELTAS - len(texts)
    ordered = texts == [f" {number}" for number in range(len(texts))] and seqs == list(range(seqs[0], seqs[-1] + 1))
    lines = [tuple(map(float, line.split())) for line in log.read_text(encoding="ascii").splitlines()]
    during = [(wall, cpu) for at, wall, cpu in lines if at >= began]
    wall = max((wall for wall, _ in during), default=0.0) * 1000
    cpu = max((cpu for _, cpu in during), default=0.0) * 1000
    rate = len(texts) / took_s
    return [
        Row(
            name="deltas lost or out of order, of 8,000",
            ours=f"{lost} lost",
            value=lost + (not ordered),
            target=0,
            note=f"arrived at {rate:,.0f} a second through `ensign serve`; `seq` without gaps: {ordered}",
        ),
        Row(
            name="  longest callback of our own, ms",
            ours=f"{cpu:.1f} ms",
            value=cpu,
            target=20,
            note=f"processor time; {wall:.1f} ms on the wall of this machine, others' work included",
        ),
    ]
