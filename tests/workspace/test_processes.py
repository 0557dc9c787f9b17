"""Commands end when their shell does, when their time is up, when they are stopped; nothing of them is left."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ensign.protocol.errors import ToolError
from ensign.workspace.processes import KEEP_BYTES, Command, CommandResult, Processes, Program

BASE = {"PATH": os.defpath, "HOME": "/nowhere", "LANG": "C.UTF-8"}


@pytest.fixture
async def processes() -> AsyncIterator[Processes]:
    owner = Processes(BASE)
    yield owner
    await owner.close()
    assert owner.running == 0


def command(line: str, folder: Path, *, timeout_s: float = 20, agent_id: str = "a1") -> Command:
    return Command(line=line, cwd=folder, agent_id=agent_id, timeout_s=timeout_s, output=folder / "spill" / "out.txt")


async def run(processes: Processes, line: str, folder: Path, *, timeout_s: float = 20) -> CommandResult:
    return await processes.run(command(line, folder, timeout_s=timeout_s))


def gone(pid: int) -> bool:
    """Whether a process is not there or only its tombstone is."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith(("Z", "X"))
    except FileNotFoundError:
        return True


async def line_of(path: Path) -> str:
    """Wait until a command has written a whole line to a file, then return it."""
    async with asyncio.timeout(10):
        while not path.exists() or not path.read_text().endswith("\n"):
            await asyncio.sleep(0.005)
    return path.read_text().strip()


async def test_output_and_exit_code_come_back(processes: Processes, tmp_path: Path) -> None:
    result = await run(processes, "echo one; echo two >&2; exit 3", tmp_path)
    assert (result.exit_code, result.stopped, result.output.text, result.ended) == (3, None, "one\ntwo\n", ())
    assert result.output.path is None


async def test_a_signal_is_told_as_a_shell_would(processes: Processes, tmp_path: Path) -> None:
    assert (await run(processes, "kill -9 $$", tmp_path)).exit_code == 128 + signal.SIGKILL


async def test_a_silent_background_child_does_not_keep_the_command(processes: Processes, tmp_path: Path) -> None:
    result = await run(processes, "sleep 60 & until grep -q sleep /proc/$!/comm; do :; done; echo $! done", tmp_path)
    pid, _, rest = result.output.text.partition(" ")
    assert (result.exit_code, rest, result.ended) == (0, "done\n", (f"{pid} sleep 60",))
    assert gone(int(pid))


async def test_a_chatty_background_child_does_not_keep_the_command(processes: Processes, tmp_path: Path) -> None:
    result = await run(processes, "(while :; do echo x; done) & echo ready", tmp_path)
    assert result.exit_code == 0
    assert "ready\n" in result.output.text
    assert len(result.ended) == 1


@pytest.mark.parametrize("escape", ["setsid sleep 60 &", "nohup setsid sh -c 'sleep 60' >/dev/null 2>&1 &"])
async def test_leaving_the_group_hides_nothing(processes: Processes, tmp_path: Path, escape: str) -> None:
    result = await run(processes, f"{escape} wait_for=$!; sleep 0.05; true", tmp_path)
    assert result.exit_code == 0
    assert "sleep 60" in [line.split(" ", 1)[1] for line in result.ended]
    assert all(gone(int(line.split(" ", 1)[0])) for line in result.ended)


async def test_a_process_that_clears_its_environment_is_found_by_its_parent(
    processes: Processes, tmp_path: Path
) -> None:
    line = "env -i setsid sh -c 'echo $$ > pid; sleep 60; :' & wait"
    task = asyncio.create_task(run(processes, line, tmp_path))
    pid = int(await line_of(tmp_path / "pid"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone(pid)


async def test_time_out_ends_the_whole_group(processes: Processes, tmp_path: Path) -> None:
    result = await run(processes, "echo before; sh -c 'sleep 300 & echo $! > pid; wait'", tmp_path, timeout_s=0.1)
    assert (result.exit_code, result.stopped, result.output.text) == (None, "time", "before\n")
    assert gone(int((tmp_path / "pid").read_text()))


@pytest.mark.slow
async def test_time_out_ends_what_ignores_the_polite_signal(processes: Processes, tmp_path: Path) -> None:
    line = "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done"
    result = await run(processes, line, tmp_path, timeout_s=0.1)
    assert result.stopped == "time"
    assert gone(int((tmp_path / "pid").read_text()))


async def test_a_cancelled_command_is_gone_before_the_cancellation_goes_on(
    processes: Processes, tmp_path: Path
) -> None:
    line = "sh -c 'echo $$ > pid; sleep 2; touch canary' & wait"
    task = asyncio.create_task(run(processes, line, tmp_path))
    pid = int(await line_of(tmp_path / "pid"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone(pid)
    assert processes.running == 0


async def test_a_second_cancellation_still_leaves_nothing(processes: Processes, tmp_path: Path) -> None:
    task = asyncio.create_task(run(processes, "trap '' TERM; echo $$ > pid; while :; do sleep 1; done", tmp_path))
    pid = int(await line_of(tmp_path / "pid"))
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone(pid)


async def test_killing_an_agents_commands_leaves_the_others(processes: Processes, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    mine = asyncio.create_task(processes.run(command("echo $$ > pid; sleep 60", tmp_path)))
    other = asyncio.create_task(processes.run(command("echo $$ > pid; sleep 60", tmp_path / "b", agent_id="a2")))
    pids = [int(await line_of(folder / "pid")) for folder in (tmp_path, tmp_path / "b")]
    await processes.kill_all("a1")
    assert [gone(pid) for pid in pids] == [True, False]
    assert (await mine).exit_code == 128 + signal.SIGTERM
    await processes.kill_all("a2")
    await other


async def test_bytes_that_are_no_text_are_shown_as_such_and_kept(processes: Processes, tmp_path: Path) -> None:
    result = await run(processes, r"printf 'ok\n\344\nmore\n\360'", tmp_path)
    assert result.output.text == "ok\n\ufffd\nmore\n\ufffd"
    assert result.output.path is not None
    assert result.output.path.read_bytes() == b"ok\n\xe4\nmore\n\xf0"


async def test_a_long_line_comes_whole_into_the_file_and_cut_to_the_model(processes: Processes, tmp_path: Path) -> None:
    result = await run(processes, "printf 'x%.0s' $(seq 70000); echo; echo end", tmp_path)
    assert result.output.size_bytes == 70_005
    assert result.output.path is not None
    assert result.output.path.read_bytes() == b"x" * 70_000 + b"\nend\n"
    assert "bytes cut here; all of it is in" in result.output.text
    assert result.output.text.endswith("end\n")
    assert len(result.output.text) < KEEP_BYTES + 500


@pytest.mark.slow
async def test_endless_output_is_bounded_in_memory_and_on_disk(processes: Processes, tmp_path: Path) -> None:
    result = await run(processes, "yes", tmp_path, timeout_s=0.5)
    assert result.stopped == "time"
    assert len(result.output.text) < KEEP_BYTES + 500
    assert result.output.path is not None
    assert result.output.path.stat().st_size <= 64 << 20


async def test_a_command_has_no_input_no_terminal_and_no_keys(tmp_path: Path) -> None:
    keys = {
        "OPENAI_API_KEY": "sk-secret-one",
        "GITHUB_TOKEN": "ghp-secret-two",
        "db_password": "secret-three",
        "URL": "https://user:ghp-secret-two@host/",
        "BASH_ENV": "/tmp/evil",
        "SSH_AUTH_SOCK": "/run/agent",
    }
    processes = Processes(BASE | keys)
    result = await run(
        processes, "cat; tty; (: < /dev/tty) 2>/dev/null || echo none; env; cat /proc/self/environ", tmp_path
    )
    await processes.close()
    assert result.output.text.startswith("not a tty\nnone\n")
    assert [word for word in ("secret", "evil") if word in result.output.text] == []
    assert "SSH_AUTH_SOCK=/run/agent\n" in result.output.text


async def test_a_missing_folder_is_not_called_a_missing_shell(processes: Processes, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"'the folder .*gone' does not exist"):
        await run(processes, "echo x", tmp_path / "gone")
    assert processes.running == 0


async def test_a_full_disk_for_spilled_output_loses_the_file_and_not_the_result(
    processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "spill").write_text("a file where the folder should be")
    result = await run(processes, "seq 20000", tmp_path)
    assert result.output.path is None
    assert "the rest could not be kept" in result.output.text
    assert result.output.text.endswith("\n20000\n")


async def test_a_program_of_ours_is_stopped_when_enough_was_read(processes: Processes, tmp_path: Path) -> None:
    chunks: list[bytes] = []

    def take(chunk: bytes) -> bool:
        chunks.append(chunk)
        return False

    result = await processes.capture(Program(argv=["yes"], cwd=tmp_path, agent_id="a1"), take)
    assert (result.exit_code, len(chunks)) == (None, 1)


async def test_commands_end_when_the_server_is_killed(tmp_path: Path) -> None:
    script = f"""
import asyncio
from pathlib import Path
from ensign.workspace.processes import Command, Processes
folder = Path({str(tmp_path)!r})
processes = Processes({BASE!r})
line = "echo $$ > shell; setsid sh -c 'echo $$ > escaped; sleep 60' & wait"
asyncio.run(processes.run(Command(line=line, cwd=folder, agent_id="a", timeout_s=60, output=folder / "o")))
"""
    env = {**BASE, "PYTHONPATH": os.pathsep.join(sys.path)}
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", script, env=env)
    pids = [int(await line_of(tmp_path / name)) for name in ("shell", "escaped")]
    server.kill()
    await server.wait()
    async with asyncio.timeout(5):
        while not all(gone(pid) for pid in pids):
            await asyncio.sleep(0.01)
