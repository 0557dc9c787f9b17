"""Notice when agent files, or any other files, change on disk, also in folders that are created later (D7).

The system's events say *when* to look; what has changed is decided by comparing names, times and sizes. So no event can
be lost between two watches, and the many events of a busy workspace folder cost nothing.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import stat
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

from ensign.protocol.value import frozen

POLL_SECONDS = 2.0
"""Where the system gives no events (a limit is reached, a file system has none)."""

_SETTLE_MS = 300  # an editor's save is several events
_MAX_FOLDERS = 500

Signature = frozenset[tuple[str, int, int, int]]


@frozen(kw_only=False)
class _Look:
    """What is there now, and the folders in which a change would be seen."""

    signature: Signature
    folders: frozenset[Path]


async def changes(paths: Sequence[Path]) -> AsyncGenerator[None, None]:
    """Yield once as soon as watching has begun, then after each change at or below one of the paths.

    Load after each: what changes while loading leads to the next one. The paths need not exist. Several changes in a
    row are one. Close the generator, or cancel the task that reads it, to end watching.
    """
    with suppress(ImportError):
        await asyncio.to_thread(importlib.import_module, "watchfiles")  # tens of milliseconds
    seen: Signature | None = None
    look = await asyncio.to_thread(_look, paths)
    while True:
        async with aclosing(_signals(look.folders, paths)) as signals:
            async for _ in signals:
                folders, look = look.folders, await asyncio.to_thread(_look, paths)
                if look.signature != seen:
                    seen = look.signature
                    yield
                if look.folders != folders:
                    break


async def _signals(folders: frozenset[Path], paths: Sequence[Path]) -> AsyncGenerator[None, None]:
    """Yield once when changes in the folders begin to be noticed, then whenever something may have changed."""
    waiting: asyncio.Task[Any] | None = None
    watcher = _watcher(folders, paths)
    try:
        waiting = asyncio.ensure_future(anext(watcher))
        # The first step of that task sets up the watch; only then may the caller look.
        await asyncio.sleep(0)
        yield
        while True:
            await waiting
            yield
            waiting = asyncio.ensure_future(anext(watcher))
    except (ImportError, OSError, RuntimeError, StopAsyncIteration):
        # No events to be had here, or a folder has just gone: look by the clock, until there is another set of folders.
        while True:
            await asyncio.sleep(POLL_SECONDS)
            yield
    finally:
        if waiting is not None:
            waiting.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration, ImportError, OSError, RuntimeError):
                await waiting
        await watcher.aclose()


async def _watcher(folders: frozenset[Path], paths: Sequence[Path]) -> AsyncGenerator[None, None]:
    import watchfiles

    watched = [str(path) for path in paths]

    def concerns_us(_change: object, name: str) -> bool:
        return any(_within(name, path) or _within(path, name) for path in watched)

    # Not below the folders: a workspace may be huge, and little of it matters. The step is how often its thread wakes.
    events: AsyncGenerator[object, None] = watchfiles.awatch(  # pyright: ignore[reportUnknownMemberType]
        *sorted(folders), watch_filter=concerns_us, debounce=_SETTLE_MS, step=_SETTLE_MS, recursive=False
    )
    async with aclosing(events):
        async for _ in events:
            yield


def _within(name: str, folder: str) -> bool:
    return name == folder or name.startswith(folder + os.sep)


def _look(paths: Sequence[Path]) -> _Look:
    entries: set[tuple[str, int, int, int]] = set()
    folders: set[Path] = set()
    for path in paths:
        _walk(path, entries, folders)
        folders.update(_above(path))
    return _Look(frozenset(entries), frozenset(folders))


def _above(path: Path) -> list[Path]:
    """The two folders above a path, or the nearest that exists: there its creation and its renaming are seen.

    Two, since not every system tells a watched folder that it was itself renamed.
    """
    existing = [folder for folder in path.parents if folder.is_dir()]
    near = [folder for folder in existing if folder in path.parents[:2]]
    return near or existing[:1]


def _walk(top: Path, entries: set[tuple[str, int, int, int]], folders: set[Path]) -> None:
    waiting = [top]
    seen: set[tuple[int, int]] = set()
    while waiting:
        path = waiting.pop()
        try:
            info = path.stat()
        except OSError:
            continue
        if not stat.S_ISDIR(info.st_mode):
            entries.add((str(path), info.st_mtime_ns, info.st_size, info.st_ino))
            continue
        if (info.st_dev, info.st_ino) in seen or len(folders) >= _MAX_FOLDERS:
            continue
        seen.add((info.st_dev, info.st_ino))
        folders.add(path)
        with suppress(OSError):
            waiting.extend(entry for entry in path.iterdir() if not entry.name.startswith("."))
