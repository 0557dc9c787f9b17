"""Disk: what writing a message costs, and opening a session of 2,000 messages again."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from ensign.protocol import wire
from ensign.protocol.codec import to_wire
from ensign.protocol.messages import AssistantMessage, Text
from tests.bench.figures import Row, paired
from tests.bench.model import Model, Plan
from tests.bench.product import product, quiet

_MESSAGES = 2_000


async def records(folder: Path, model: Model, pairs: int) -> list[Row]:
    """A turn of 1,000 steps is written by the real loop; then it is opened again and again."""
    model.plan(Plan(main_steps=_MESSAGES // 2))
    async with product(folder, model.base_url) as ours:
        await ours.turn()
        session_id = ours.session_id
    (path,) = (path for path in folder.rglob("*.jsonl") if session_id in str(path))
    opening: list[tuple[float, float]] = []
    for number in range(pairs + 1):
        async with product(folder, model.base_url) as again:
            began = time.perf_counter()
            await again.api.session_open(wire.SessionOpen(cwd=str(folder / "workspace"), id=session_id))
            own = time.perf_counter() - began
        await quiet()
        began = time.perf_counter()
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        theirs = time.perf_counter() - began
        assert len(lines) > _MESSAGES
        if number:
            opening.append((own, theirs))
    note = "bare: read the same file and parse each line"
    resumed = paired(f"open a session of {_MESSAGES:,} messages again", opening, target=None, note=note)
    return [await _writing(folder, model, pairs), resumed]


async def _writing(folder: Path, model: Model, pairs: int) -> Row:
    message = AssistantMessage(parts=(Text(text="words of a message of ordinary length. " * 20),))
    measured: list[tuple[float, float]] = []
    async with product(folder / "writing", model.base_url) as ours:
        transcript = ours.app.api.sessions.get(ours.session_id).records.main
        fd = os.open(folder / "bare.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for _ in range(pairs):
            began = time.perf_counter()
            for _ in range(1000):
                transcript.append_message(message)
            own = time.perf_counter() - began
            began = time.perf_counter()
            for number in range(1000):
                record = {"n": number, "kind": "message", "body": {"message": to_wire(message)}}
                os.write(fd, json.dumps(record).encode() + b"\n")
            measured.append((own / 1000, (time.perf_counter() - began) / 1000))
        os.close(fd)
    note = "bare: json.dumps and one write"
    return paired("write a message to a transcript", measured, target=None, note=note, unit="us")
