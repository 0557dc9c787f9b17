"""Changes on disk are noticed while running: events of the real file system, no clock."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from ensign.definitions.watch import changes
from tests.definitions.library import Library, agent, write

Next = Callable[[], "asyncio.Future[None]"]


@asynccontextmanager
async def watching(*paths: Path) -> AsyncIterator[Next]:
    """Start watching; each call of the result waits for the next change."""
    async with aclosing(changes(paths)) as generator:
        await anext(generator)
        yield lambda: asyncio.ensure_future(anext(generator))


@pytest.mark.slow
async def test_new_changed_renamed_and_deleted_files_are_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    async with watching(folder) as changed:
        path = write(folder, "a.md", agent())
        await changed()
        path.write_text(agent(description="longer"))
        await changed()
        path.rename(folder / "b.md")
        await changed()
        (folder / "b.md").unlink()
        await changed()


@pytest.mark.slow
async def test_folders_that_are_created_later_are_noticed_and_read(tmp_path: Path) -> None:
    library = Library(tmp_path)
    async with watching(*(folder.path for folder in library.folders())) as changed:
        write(library.project, "sub/a.md", agent("first"))
        await changed()
        assert library.own() == ("first",)
        write(library.project, "sub/deep/b.md", agent("second"))
        await changed()
        assert library.own() == ("first", "second")
        write(library.user_claude, "c.md", agent("third"))
        await changed()
        assert library.own() == ("first", "second", "third")


@pytest.mark.slow
async def test_a_folder_that_goes_and_comes_back_is_still_watched(tmp_path: Path) -> None:
    folder = tmp_path / ".ensign" / "agents"
    write(folder, "a.md", agent())
    async with watching(folder) as changed:
        shutil.move(folder.parent, tmp_path / "aside")
        await changed()
        write(folder, "b.md", agent())
        await changed()
        shutil.rmtree(folder)
        await changed()
        write(folder, "c.md", agent())
        await changed()


@pytest.mark.slow
async def test_other_changes_of_a_busy_folder_are_none(tmp_path: Path) -> None:
    path, last = tmp_path / ".ensign" / "settings.json", tmp_path / "last.txt"
    async with watching(path) as changed, watching(last) as later:
        change = changed()
        for number in range(20):
            (tmp_path / f"{number}.txt").write_text("x")
        last.write_text("x")
        await later()
        assert not change.done()
        write(path.parent, "settings.json", "{}")
        await change


@pytest.mark.slow
async def test_a_change_is_told_once_also_when_it_brings_new_folders_to_watch(tmp_path: Path) -> None:
    folder, other = tmp_path / "agents", tmp_path / "other.txt"
    folder.mkdir()
    async with watching(folder) as changed, watching(other) as later:
        write(folder, "sub/a.md", agent())
        await changed()
        second = changed()
        other.write_text("x")
        await later()
        assert not second.done()
        write(folder, "sub/b.md", agent())
        await second


@pytest.mark.slow
def test_without_events_of_the_system_changes_are_still_noticed(tmp_path: Path) -> None:
    code = """
import asyncio, sys
from pathlib import Path
sys.modules["watchfiles"] = None  # as if it could not be imported

from ensign.definitions.watch import changes

async def main(path):
    generator = changes([path])
    await anext(generator)
    path.write_text("x")
    await anext(generator)
    await generator.aclose()

asyncio.run(main(Path(sys.argv[1])))
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.md")], check=True, timeout=60)


async def test_watching_ends_with_its_reader_and_leaves_nothing_running(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def read() -> None:
        async with aclosing(changes([tmp_path])) as generator:
            async for _ in generator:
                started.set()

    before = asyncio.all_tasks()
    reader = asyncio.create_task(read())
    await started.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert asyncio.all_tasks() == before
