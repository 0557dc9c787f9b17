"""`Grep` over 50,000 files, against ripgrep run by hand with the same flags."""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path

from ensign.tools.ripgrep import FLAGS, executable
from ensign.tools.search import Query
from tests.bench.figures import Row, paired
from tests.tools.bench import Bench

FILES = 50_000


async def search(folder: Path, pairs: int) -> list[Row]:
    """A word that is in few files, and content around it."""
    root = folder / "tree"
    _grow(root)
    bench = Bench(root)
    measured: list[tuple[float, float]] = []
    query = Query(
        pattern="needle_[0-9]+",
        mode="content",
        glob=None,
        type=None,
        before=0,
        after=0,
        ignore_case=False,
        multiline=False,
    )
    argv = [str(executable()), *FLAGS, *query.flags, "--", "./"]
    try:
        for number in range(pairs + 1):
            began = time.monotonic()
            text = await bench.text("Grep", pattern=query.pattern, output_mode="content")
            own = time.monotonic() - began
            began = time.monotonic()
            done = await asyncio.to_thread(
                subprocess.run, argv, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
            theirs = time.monotonic() - began
            assert text.count("needle_") == done.stdout.count(b'{"type":"match"') > 0
            if number:
                measured.append((own, theirs))
    finally:
        await bench.close()
    note = f"bare: {' '.join(['rg', *argv[1:]])}"
    return [paired(f"Grep over {FILES:,} files", measured, target=1.15, note=note)]


def _grow(root: Path) -> None:
    """A tree of source files; one in 500 holds a match."""
    filler = "".join(f"    value_{number} = compute(value_{number - 1}, {number})\n" for number in range(60))
    for number in range(FILES):
        place = root / f"package{number % 100:02}" / f"part{number // 100 % 20:02}"
        if number < 2000:
            place.mkdir(parents=True, exist_ok=True)
        text = f"def function_{number}():\n{filler}" + (f"    return needle_{number}\n" if number % 500 == 0 else "")
        (place / f"module{number}.py").write_text(text)
