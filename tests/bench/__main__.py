"""`make bench`: print every figure. `--only NAME` runs one group, `--quick` fewer repetitions."""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tests.bench import deltas, judging, loops, memory, records, search, start, tasks, worktrees
from tests.bench.figures import Row, send, table
from tests.bench.model import Model, model_process

Rows = list[Row]
Group = Callable[[Path, Model, int], Rows]


def _run(work: Coroutine[Any, Any, Rows]) -> Rows:
    return asyncio.run(work)


# Each group runs in a process of its own. The last argument is the number of pairs, at least 15 when it counts.
GROUPS: dict[str, Group] = {
    "start": start.starts,
    "steps": lambda folder, model, pairs: _run(loops.steps(folder, model, pairs)),
    "fan-out": lambda folder, model, pairs: _run(loops.fan_out(folder, model, pairs)),
    "memory": memory.memory,
    "deltas": lambda folder, model, _: deltas.deltas(folder, model),
    "search": lambda folder, _, pairs: _run(search.search(folder, pairs)),
    "spawn": lambda folder, model, pairs: _run(tasks.spawning(folder, model, pairs * 10)),
    "stop": lambda folder, model, _: _run(tasks.stopping(folder, model)),
    "forks": lambda folder, model, _: _run(tasks.forks(folder, model)),
    "thousand": lambda folder, model, pairs: _run(tasks.thousand(folder, model, 1000 if pairs >= 15 else 300)),
    "records": lambda folder, model, pairs: _run(records.records(folder, model, pairs)),
    "worktrees": lambda folder, _, pairs: _run(worktrees.worktrees(folder, pairs)),
    "judging": lambda folder, _, __: judging.judging(folder),
}


def main() -> int:
    """Run the groups one after the other and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", metavar="NAME", choices=list(GROUPS), help=f"one of {', '.join(GROUPS)}")
    parser.add_argument("--quick", action="store_true", help="three pairs; says little on a busy machine")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = [arguments.only] if arguments.only else list(GROUPS)
    pairs = 3 if arguments.quick else 15
    if arguments.worker:
        with model_process() as model, tempfile.TemporaryDirectory(prefix="ensign-bench-") as folder:
            send(GROUPS[names[0]](Path(folder), model, pairs))
        return 0
    rows: list[Row] = []
    began = time.monotonic()
    for name in names:
        sys.stderr.write(f"{time.monotonic() - began:4.0f} s  {name} ...\n")
        more = ["--quick"] if arguments.quick else []
        command = [sys.executable, "-m", "tests.bench", "--worker", "--only", name, *more]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True)
        if done.returncode:
            rows.append(Row(name=name, ours="failed", value=1, target=0, note="see the traceback above"))
            continue
        rows += [Row(**json.loads(line)) for line in done.stdout.splitlines()]
    print(table(rows))
    print(f"\n{pairs} interleaved pairs, medians, the middle half of the ratios; {time.monotonic() - began:.0f} s")
    return 1 if any(row.ours == "failed" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
