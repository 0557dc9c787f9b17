"""A task's changes are taken back as a whole: bytes, modes and absence; also by another process, never over others."""

from __future__ import annotations

from pathlib import Path

import pytest

from ensign.protocol import wire
from ensign.protocol.errors import UserError
from ensign.protocol.tasks import TaskState
from ensign.protocol.undo import FileBefore, NotUndone, TaskBefore, TaskUndone
from ensign.testing.replies import Reply, calls
from tests.session.bench import CHILD, Bench, bench, delegate

FREE = {"mode": "acceptEdits"}


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, object]]:
    return ("Edit", {"file_path": path, "old_string": old, "new_string": new})


def change(path: str, old: str, new: str) -> tuple[Reply, ...]:
    return calls(("Read", {"file_path": path})), calls(edit(path, old, new)), Reply(text="changed")


async def one_task(built: Bench, *script: Reply) -> str:
    built.server.route(CHILD, *script)
    await built.turn("go")
    return (await built.tasks())[-1].id


async def undo(built: Bench, task_id: str) -> TaskUndone:
    return await built.api.task_undo(wire.TaskRef(id=task_id))


async def test_an_undo_after_a_restart_brings_back_every_byte_and_mode_and_removes_what_was_made(
    tmp_path: Path,
) -> None:
    root = tmp_path / "w"
    root.mkdir()
    script = root / "run.sh"
    script.write_bytes(b"\xef\xbb\xbfone\r\ntwo \xa9\nthree\r\n")
    script.chmod(0o751)
    before = script.read_bytes()
    async with bench(root, calls(delegate("general-purpose")), Reply(text="ok"), command_line=FREE) as built:
        reads = calls(("Read", {"file_path": "run.sh"}))
        edits = calls(edit("run.sh", "one", "1"), edit("run.sh", "three", "3"), edit("new/made.txt", "", "x\n"))
        task_id = await one_task(built, reads, edits, Reply(text="done"))
        session_id = built.session_id
        assert script.read_bytes() == b"\xef\xbb\xbf1\r\ntwo \xa9\n3\r\n"
    async with bench(root, open_session=False) as built:
        await built.open(session_id)
        shown = await built.api.task_before(TaskBefore(id=task_id, path=str(script)))
        assert shown == FileBefore(text="one\r\ntwo \ufffd\nthree\r\n")
        assert await built.api.task_before(TaskBefore(id=task_id, path=str(root / "new/made.txt"))) == FileBefore(
            text=None
        )
        done = await undo(built, task_id)
        made = str(root / "new" / "made.txt")
        assert done == TaskUndone(undone=(made, str(script)), refused=(), commands=0)
        assert script.read_bytes() == before
        assert script.stat().st_mode & 0o777 == 0o751
        assert not Path(made).exists()
        assert await undo(built, task_id) == TaskUndone(undone=(), refused=(), commands=0)


async def test_what_others_changed_since_is_left_as_it_is_and_named(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (root / name).write_text("one\n")
    two = (calls(delegate("general-purpose", "first")), calls(delegate("general-purpose", "second")))
    async with bench(root, *two, Reply(text="ok"), command_line=FREE) as built:
        first = calls(*(("Read", {"file_path": name}) for name in ("a.txt", "b.txt", "c.txt")))
        edits = calls(*(edit(name, "one", "two") for name in ("a.txt", "b.txt", "c.txt")))
        built.server.route(CHILD, first, edits, Reply(text="done"), *change("b.txt", "two", "three"))
        await built.turn("go")
        task, other = await built.tasks()
        (root / "c.txt").unlink()
        assert await undo(built, task.id) == TaskUndone(
            undone=(str(root / "a.txt"),),
            refused=(
                NotUndone(
                    path=str(root / "c.txt"), reason=f"{str(root / 'c.txt')!r} was deleted since; nothing was changed"
                ),
                NotUndone(
                    path=str(root / "b.txt"),
                    reason=f"{str(root / 'b.txt')!r} was changed by subagent 'general-purpose' since; "
                    "nothing was changed",
                ),
            ),
            commands=0,
        )
        assert [(root / name).read_text() for name in ("a.txt", "b.txt")] == ["one\n", "three\n"]
        # Once the later change is taken back as well, the first can be.
        assert (await undo(built, other.id)).undone == (str(root / "b.txt"),)
        assert (await undo(built, task.id)).undone == (str(root / "b.txt"),)
        assert (root / "b.txt").read_text() == "one\n"


async def test_a_task_that_runs_or_changed_nothing_is_not_undone(tmp_path: Path) -> None:
    async with bench(tmp_path / "w", calls(delegate("general-purpose")), Reply(text="ok")) as built:
        built.server.route(CHILD, Reply(text="nothing to do", gate="held"))
        await built.say("go")
        task = await built.task_in(TaskState.RUNNING)
        with pytest.raises(UserError, match="is running; stop it first"):
            await undo(built, task.id)
        built.server.release("held")
        await built.settle()
        with pytest.raises(UserError, match="has changed no files"):
            await undo(built, task.id)
