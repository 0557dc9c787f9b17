"""An app without an editor: its events become progress, JSON lines and an outcome; it ends with the command."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ensign.app import App, build
from ensign.cli.console import Console
from ensign.cli.outcome import Outcome
from ensign.cli.progress import Progress, progress_for
from ensign.protocol import events
from ensign.protocol.value import frozen

CLOSE_S = 5.0


@frozen
class Headless:
    """A running app, and what has been seen of it."""

    app: App
    outcome: Outcome
    progress: Progress


@asynccontextmanager
async def headless(
    console: Console,
    *,
    command: str,
    json: bool,
    options: Mapping[str, Any],
    flags: Mapping[str, Any],
) -> AsyncIterator[Headless]:
    """Run an app in the console's folder; on the way out everything it runs is ended."""
    app = build(
        options=options,
        roots=(console.cwd,),
        environment=console.environment,
        command_line=flags,
        client_name=command,
        headless=True,
    )
    outcome = Outcome()
    progress = progress_for(console.err, console.environment, tree=not (json and console.out.terminal))
    handler = _Notes(progress)
    logging.getLogger().addHandler(handler)

    def read(_session_id: str, _seq: int, event: events.Event) -> None:
        outcome.read(event)
        progress.read(event)
        if json:
            console.print_json(event)

    app.subscribe(read, lambda _: None)
    try:
        yield Headless(app=app, outcome=outcome, progress=progress)
    finally:
        try:
            async with asyncio.timeout(CLOSE_S):
                await app.close("the command ended")
        except TimeoutError:
            progress.note("warning: something that ran did not end in time")
        logging.getLogger().removeHandler(handler)
        progress.close()
        outcome.end(await asyncio.to_thread(text_of, outcome.output_file))


class _Notes(logging.Handler):
    """Warnings of the runtime go where progress goes, so that they do not land in the middle of it."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(logging.WARNING)
        self._progress = progress
        self._loop = asyncio.get_running_loop()

    def emit(self, record: logging.LogRecord) -> None:
        """Show the record, from whatever thread it comes."""
        text = f"{record.levelname.lower()}: {self.format(record)}"
        self._loop.call_soon_threadsafe(self._progress.note, text)


def text_of(path: str) -> str | None:
    """The text of a report file; None where there is none."""
    try:
        return Path(path).read_text(encoding="utf-8") if path else None
    except OSError:
        # Where the home cannot be written there is no report file; the record has the report, cut.
        return None
