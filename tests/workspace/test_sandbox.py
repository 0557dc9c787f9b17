"""Confined commands reach no network, write where they may, see no secrets, and leave nothing; or do not run.

Where this machine has no sandbox that works, the tests that need one see the honest refusal instead.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ensign.protocol.errors import ToolError
from ensign.testing.http_server import HttpServer
from ensign.workspace.processes import Command, CommandResult, Processes
from ensign.workspace.sandbox import Confinement, Sandbox


@dataclass
class Machine:
    """A home with secrets, Ensign's own folder in it, and a workspace below."""

    home: Path
    root: Path
    ensign: Path
    processes: Processes

    def confinement(self, *, writable: bool = False, required: bool = True) -> Confinement:
        kept = (self.root / ".vscode", self.root / ".nothing")
        return Confinement(folders=(self.root,), writable=writable, kept=kept, required=required)

    async def run(self, line: str, confinement: Confinement | None, cwd: Path | None = None) -> CommandResult:
        return await self.processes.run(
            Command(
                line=line,
                cwd=cwd or self.root,
                agent_id="a1",
                timeout_s=20,
                output=self.home / "out.txt",
                confinement=confinement,
            )
        )

    async def confined(self, line: str, confinement: Confinement | None = None, cwd: Path | None = None) -> str | None:
        """The output of a line in the sandbox; None where this machine has none and refuses for that reason."""
        confinement = confinement or self.confinement()
        if problem := await self.processes.sandbox.problem():
            with pytest.raises(ToolError) as caught:
                await self.run(line, confinement, cwd)
            assert str(caught.value) == f"the command did not run: this agent's commands need a sandbox, and {problem}"
            return None
        result = await self.run(line, confinement, cwd)
        assert result.sandboxed
        return result.output.text


def machine_in(folder: Path, programs: Sequence[Path] | None = None) -> Machine:
    home = folder.resolve() / "home"
    root, ensign = home / "work", home / ".ensign-home"
    for path in (root / ".vscode", ensign, home / ".ssh", home / ".config" / "gh"):
        path.mkdir(parents=True)
    for path in (home / ".ssh" / "id_rsa", home / ".netrc", home / ".config" / "gh" / "hosts.yml", ensign / "keys"):
        path.write_text("SECRET")
    (root / "file.txt").write_text("text\n")
    (root / ".vscode" / "tasks.json").write_text("{}")
    found = Sandbox(home=home, hidden=(ensign,)) if programs is None else Sandbox(home=home, programs=programs)
    return Machine(home, root, ensign, Processes({"PATH": os.defpath, "HOME": str(home)}, sandbox=found))


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    made = machine_in(tmp_path)
    yield made
    await made.processes.close()
    assert made.processes.running == 0


def program(folder: Path, body: str) -> Path:
    path = folder / "bwrap"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


async def test_the_workspace_is_read_and_nothing_is_written(machine: Machine) -> None:
    outside = Path(__file__).parent / "CANARY"  # not below /tmp, which is empty in there anyway
    line = f"cat file.txt; for f in new.txt file.txt ../new.txt ~/new.txt {outside}; do echo x > $f; done; pwd"
    before = sorted(machine.home.rglob("*"))
    text = await machine.confined(f"exec 2>/dev/null; {line}")
    assert text in {None, f"text\n{machine.root}\n"}
    written = outside.exists()
    outside.unlink(missing_ok=True)
    assert not written
    assert sorted(machine.home.rglob("*")) == before
    assert (machine.root / "file.txt").read_text() == "text\n"


async def test_a_command_that_may_write_does_so_in_the_workspace_alone(machine: Machine) -> None:
    sub = machine.root / "sub"
    sub.mkdir()
    line = "exec 2>/dev/null; echo x > new.txt; echo x > ../.vscode/tasks.json; echo x > ../../out; echo done"
    text = await machine.confined(line, machine.confinement(writable=True), sub)
    assert text in {None, "done\n"}
    assert (sub / "new.txt").exists() is (text is not None)
    assert (machine.root / ".vscode" / "tasks.json").read_text() == "{}"
    assert not (machine.home / "out").exists()
    assert not (machine.root / ".nothing").exists()


async def test_what_is_kept_cannot_be_moved_away(machine: Machine) -> None:
    hooks = machine.root / ".git" / "hooks"
    hooks.mkdir(parents=True)
    keep = replace(machine.confinement(writable=True), kept=(hooks,))
    line = (
        "exec 2>/dev/null; mv .git git2; mv .git/hooks .git/h2; mkdir -p .git/hooks; echo x > .git/hooks/post-checkout"
    )
    text = await machine.confined(f"{line}; rm -rf .git; echo x > .git/index && echo done", keep)
    assert text in {None, "done\n"}
    assert list(hooks.iterdir()) == []
    assert sorted(path.name for path in machine.root.iterdir()) == [".git", ".vscode", "file.txt"]


async def test_secrets_are_out_of_sight_even_in_a_workspace_that_is_the_home_folder(machine: Machine) -> None:
    look = "cat ~/.ssh/id_rsa ~/.netrc ~/.config/gh/hosts.yml ~/.ensign-home/keys 2>/dev/null; ls -A ~/.ssh; echo end"
    everything = replace(machine.confinement(), folders=(machine.home,))
    assert await machine.confined(look) in {None, "end\n"}
    assert await machine.confined(look, everything) in {None, "end\n"}


async def test_what_may_be_read_is_seen_within_what_is_hidden(machine: Machine) -> None:
    output = machine.ensign / "output"
    output.mkdir()
    (output / "1.txt").write_text("spilled")
    may_read = replace(machine.confinement(), readable=(output,))
    line = f"cat {output}/1.txt; cat {machine.ensign}/keys 2>/dev/null; cd {output} && echo x 2>/dev/null > 2.txt"
    assert await machine.confined(line, may_read) in {None, "spilled"}
    assert list(output.iterdir()) == [output / "1.txt"]


async def test_no_network_is_reached(machine: Machine) -> None:
    async with HttpServer(lambda _request, _connection: asyncio.sleep(0)) as server:
        line = f"(exec 3<>/dev/tcp/127.0.0.1/{server.port}) 2>/dev/null && echo reached; echo end"
        outside = await machine.run(line, None)
        assert await machine.confined(line) in {None, "end\n"}
    assert outside.output.text == "reached\nend\n"


async def test_sockets_and_files_of_others_in_temporary_folders_are_not_there(machine: Machine) -> None:
    listed = await machine.confined("ls -A /run /var/tmp; echo x > /tmp/mine && ls /tmp; ls /dev/shm")
    names = set(machine.home.parts) | {"/run:", "/var/tmp:", "mine", "", "current-system"}
    assert listed is None or set(listed.splitlines()) <= names


async def test_who_leaves_session_parent_and_environment_ends_with_the_command(machine: Machine) -> None:
    """Outside, this one is found by nothing; in a namespace of processes there is no way out."""
    line = "env -i setsid sh -c 'setsid sh -c \"sleep 61.25 & sleep 61.25\" &' & sleep 0.1; echo $$; ls /proc"
    text = await machine.confined(line)
    if text is not None:
        pids = [name for name in text.split() if name.isdecimal()]
        assert int(pids[0]) < 10, "the shell has a number of its own namespace"
        assert len(pids) < 15, "it sees its own processes only"
    assert [path for path in command_lines() if "61.25" in path] == []


def command_lines() -> list[str]:
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_text())
        except OSError:
            continue
    return found


async def test_a_confined_command_can_be_stopped(machine: Machine) -> None:
    if await machine.confined("true") is None:
        return
    task = asyncio.create_task(machine.run("echo begun > /dev/null; sleep 62.25", machine.confinement()))
    while not any("62.25" in line and "bwrap" not in line for line in command_lines()):
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [line for line in command_lines() if "62.25" in line] == []


async def test_exit_codes_come_through(machine: Machine) -> None:
    if await machine.confined("true") is not None:
        codes = [(await machine.run(line, machine.confinement())).exit_code for line in ("exit 3", "kill -9 $$")]
        assert codes == [3, 137]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (None, "bubblewrap is not installed (on Debian and Ubuntu: apt install bubblewrap)"),
        (
            "echo 'bwrap: No permissions to create new namespace' >&2; exit 1",
            "this machine does not let bubblewrap make namespaces (bwrap: No permissions to create new namespace)",
        ),
        ("exit 7", "this machine does not let bubblewrap make namespaces (exit code 7)"),
    ],
)
async def test_where_none_works_it_is_required_and_refused_or_done_without(
    tmp_path: Path, body: str | None, problem: str
) -> None:
    """ATK-197: never from "sandboxed" to "not" without leave."""
    path = tmp_path / "bwrap" if body is None else program(tmp_path, body)
    machine = machine_in(tmp_path, (path,))
    assert await machine.processes.sandbox.problem() == problem
    assert await machine.confined("touch CANARY") is None
    assert not (machine.root / "CANARY").exists()
    result = await machine.run("touch CANARY", machine.confinement(required=False))
    assert (result.exit_code, result.sandboxed) == (0, False)
    assert (machine.root / "CANARY").exists()
    await machine.processes.close()


async def test_it_is_tried_once_and_runs_the_very_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    body = f'echo "$@" >> {log}\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"'
    machine = machine_in(tmp_path, (tmp_path / "missing", program(tmp_path, body)))
    results = await asyncio.gather(
        *(machine.run(f"echo {word} '$x'", machine.confinement()) for word in ("one", "two")),
    )
    assert [(result.output.text, result.sandboxed) for result in results] == [("one $x\n", True), ("two $x\n", True)]
    assert len(log.read_text().splitlines()) == 3, "the trial, and two commands"
    await machine.processes.close()
