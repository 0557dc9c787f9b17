"""A command's output, its end and what it left are told; the rules of running are in `workspace`."""

import asyncio
from pathlib import Path

import pytest

from ensign.protocol.access import Access, Effect
from ensign.protocol.errors import ToolError
from ensign.protocol.tasks import CommandRun
from ensign.tools.base import ToolOutput
from ensign.tools.bash import BASH
from tests.tools.bench import Bench


@pytest.mark.parametrize(
    ("line", "text", "code"),
    [
        ("echo hi", "hi\n", 0),
        ("true", "[no output]", 0),
        ("printf x; exit 2", "x\n[exit code 2]", 2),
        ("pwd", "{root}\n", 0),
        ("cd /; false", "[exit code 1]", 1),
    ],
)
async def test_output_and_exit_code_are_told(bench: Bench, line: str, text: str, code: int) -> None:
    assert await bench.call("Bash", command=line) == ToolOutput(
        text=text.format(root=bench.root), command=CommandRun(command=line, exit_code=code)
    )


async def test_what_is_left_in_the_background_is_ended_and_named(bench: Bench) -> None:
    text = await bench.text("Bash", command="sleep 60 & until grep -q sleep /proc/$!/comm; do :; done; echo done")
    assert text.startswith("done\n[ended with the command, as nothing outlives it: ")
    assert text.endswith(" sleep 60]")


async def test_time_running_out_is_an_error_that_says_what_to_do(bench: Bench) -> None:
    output = await bench.call("Bash", command="echo a; sleep 60", timeout=100)
    assert output.is_error
    assert output.text == "a\n[stopped after 0.1 s, with all its processes; a longer timeout can be given]"
    assert output.command == CommandRun(command="echo a; sleep 60", exit_code=None)


async def test_long_output_is_in_a_file_that_the_agent_is_told(bench: Bench) -> None:
    for number in (1, 2):
        text = await bench.text("Bash", command=f"seq {number} 20000")
        path = Path(text.split("all of it is in ")[1].split(" ...]")[0])
        assert path == bench.root / "out" / f"call_{number}.txt"
        assert path.read_text().splitlines()[0] == str(number)


async def test_a_call_id_that_comes_twice_overwrites_nothing(bench: Bench) -> None:
    ctx = bench.context()
    for _ in range(2):
        await bench.call_in(ctx, "Bash", {"command": "seq 20000"})
    assert sorted(path.name for path in (bench.root / "out").iterdir()) == ["call_1-2.txt", "call_1.txt"]


async def test_bytes_that_are_no_text_are_kept_in_a_file(bench: Bench) -> None:
    text = await bench.text("Bash", command=r"printf '\360'")
    assert text.startswith("\ufffd\n[bytes that are no UTF-8 are shown as \ufffd; the output as it was is in ")


async def test_the_whole_line_and_its_folder_are_what_is_judged(bench: Bench) -> None:
    assert BASH.accesses(bench.context(), {"command": "ls\nrm x"}) == (
        Access(effect=Effect.EXECUTE, target="ls\nrm x", path=bench.root),
    )


async def test_a_working_directory_that_is_gone_is_named_and_another_used(bench: Bench) -> None:
    ctx = bench.context(cwd=bench.root / "gone")
    output = await bench.call_in(ctx, "Bash", {"command": "pwd"})
    assert output.text == (
        f"{bench.root}\n[the working directory '{bench.root}/gone' is missing; the command ran in '{bench.root}']"
    )


@pytest.mark.parametrize("line", ["", " \n", "echo a\0b"])
async def test_a_line_that_cannot_run_is_refused(bench: Bench, line: str) -> None:
    with pytest.raises(ToolError, match=r"empty|null"):
        await bench.call("Bash", command=line)


async def test_people_see_the_latest_line(bench: Bench) -> None:
    await bench.call("Bash", command="echo first; echo second")
    assert bench.progress[0] in {"first", "second"}


async def test_a_cancelled_call_leaves_nothing(bench: Bench) -> None:
    task = asyncio.create_task(bench.call("Bash", command="echo started; sleep 60"))
    async with asyncio.timeout(10):
        while not bench.progress:
            await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bench.processes.running == 0
