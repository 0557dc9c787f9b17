"""What ends `ensign run` early: signals, a reader that leaves, a reader that pauses."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from pathlib import Path

import pytest

from ensign.testing.replies import Reply, calls
from tests.cli.shell import Shell, ended, shell

pytestmark = pytest.mark.slow

SLEEP = ("Bash", {"command": "sh sleep.sh"})
SCRIPT = "echo $$ > pid; sleep 300 & echo $! >> pid; wait"


async def sleeping(sh: Shell, *arguments: str) -> tuple[Process, list[int]]:
    """Start a run, and return it with its command's processes once they are there."""
    (sh.root / "sleep.sh").write_text(SCRIPT)
    process = await sh.start("run", "x", "--allow", "Bash", *arguments)
    path = sh.root / "pid"
    async with asyncio.timeout(30):
        while not path.exists() or len(path.read_text().split()) < 2:
            await asyncio.sleep(0.01)
    return process, [int(pid) for pid in path.read_text().split()]


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
async def test_a_signal_stops_everything_prints_what_there_is_and_is_130(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with shell(tmp_path, calls(SLEEP, text="I build it now.")) as sh:
        process, pids = await sleeping(sh)
        process.send_signal(number)
        done = await ended(process)
        assert (done.code, done.out, [gone(pid) for pid in pids]) == (130, "I build it now.\n", [True, True])
        assert done.err.endswith("ensign: interrupted\n")
        assert "Traceback" not in done.err


async def test_an_interrupted_run_still_ends_its_json_with_the_end(tmp_path: Path) -> None:
    agent = ("Agent", {"prompt": "look", "description": "look", "subagent_type": "general-purpose"})
    async with shell(tmp_path, calls(agent)) as sh:
        sh.server.route("You are a subagent", calls(SLEEP, text="Halfway."))
        process, pids = await sleeping(sh, "--json")
        process.send_signal(signal.SIGINT)
        done = await ended(process)
    assert (done.code, done.last["kind"], done.last["status"]) == (130, "run_ended", "interrupted")
    assert [(task["state"], task["envelope"]["report"]) for task in done.last["tasks"]] == [("interrupted", "Halfway.")]
    assert [gone(pid) for pid in pids] == [True, True]


async def test_text_that_was_on_its_way_is_part_of_what_there_is(tmp_path: Path) -> None:
    async with shell(tmp_path, Reply(text="one two three", gate="rest", gate_at=3)) as sh:
        process = await sh.start("run", "x", "--json")
        assert process.stdout is not None
        async with asyncio.timeout(30):
            while b'"text": " two"' not in await process.stdout.readline():
                pass
        process.send_signal(signal.SIGINT)
        done = await ended(process)
    assert (done.code, done.last["report"]) == (130, "one two")


async def test_a_reader_that_leaves_ends_the_run_quietly(tmp_path: Path) -> None:
    async with shell(tmp_path, Reply(text="word " * 50, gate="never", gate_at=20)) as sh:
        process = await sh.start("run", "x", "--json")
        assert process.stdout is not None
        await process.stdout.readline()
        process.stdout._transport.close()  # type: ignore[attr-defined] # noqa: SLF001 - as `head -1` does
        sh.server.release("never")
        async with asyncio.timeout(30):
            assert process.stderr is not None
            err = await process.stderr.read()
            assert (await process.wait(), err) == (130, b"ensign: interrupted\n")


async def test_a_reader_that_pauses_delays_nothing_and_a_signal_still_ends_the_run(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        async with shell(tmp_path, Reply(text="x" * 300_000), Reply(text="never")) as sh:
            process = await sh.start("run", "x", stdout=writer)
            await (await sh.server.request(0)).answered.wait()
            process.send_signal(signal.SIGINT)
            assert (await ended(process)).code == 130
    finally:
        os.close(reader)
        os.close(writer)


async def test_a_stream_that_cannot_write_every_character_breaks_nothing(tmp_path: Path) -> None:
    async with shell(tmp_path, calls(("Glob", {"pattern": "é*"})), Reply(text="→ ok")) as sh:
        sh.environment["PYTHONIOENCODING"] = "ascii"
        done = await sh.run("run", "x")
        assert (done.code, done.out) == (0, "\\u2192 ok\n")


async def test_closed_streams_break_nothing(tmp_path: Path) -> None:
    async with shell(tmp_path, Reply(text="ok")) as sh:
        process = await asyncio.create_subprocess_shell(
            'exec "$PYTHON" -m ensign run x <&- >&- 2>&-',
            cwd=sh.root,
            env={**sh.environment, "PYTHON": sys.executable},
        )
        assert await process.wait() == 0
