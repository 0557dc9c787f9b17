"""What the judgement of a shell line and of a path costs, over a year of ordinary commands."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ensign.permissions.engine import PermissionEngine
from ensign.permissions.policy import Policy, Question
from ensign.protocol.access import Access, Effect
from ensign.protocol.settings import Layer
from tests.bench.figures import Row, latencies
from tests.permissions.test_ordinary import PROFILE, ordinary


def judging(folder: Path) -> list[Row]:
    """Each line and each path once to warm, then ten times."""
    folder.mkdir(parents=True, exist_ok=True)
    engine = PermissionEngine()
    policy = Policy(layers=(Layer(name="project", rules=PROFILE),), roots=(folder,), home=folder)

    def judge(tool: str, effect: Effect, target: str, path: Path | None) -> Callable[[], object]:
        access = Access(effect=effect, target=target, path=path)
        question = Question(tool=tool, effect=effect, accesses=(access,), cwd=folder)
        return lambda: engine.judge(question, policy)

    lines = [judge("Bash", Effect.EXECUTE, line, None) for _, line in ordinary()]
    names = [f"src/package{number}/module.py" for number in range(300)]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    paths = [judge("Read", Effect.READ, name, folder / name) for name in names]
    note = f"{len(lines)} ordinary lines under a developer's profile, warm"
    return [
        latencies("judgement of a shell line, ms", _timed(lines), target=1.0, note=note),
        latencies("judgement of a path to read, ms", _timed(paths), target=1.0, note="300 files, each resolved"),
    ]


def _timed(calls: list[Callable[[], object]]) -> list[float]:
    times: list[float] = []
    for number in range(11):
        for call in calls:
            began = time.perf_counter()
            call()
            if number:
                times.append(time.perf_counter() - began)
    return times
