"""`python -m tests.editor FOLDER`: a real VS Code with the extension on loopback, for trying it by hand."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

from tests.editor.server import running_editor
from tests.editor.settings import EditorOptions

# The person's own models and keys count here, as they would in their editor.
PASSED_ON = (
    "ENSIGN_MODEL",
    "ENSIGN_HOME",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
)


async def main(folder: Path) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    async with running_editor(EditorOptions(env=env)) as editor:
        sys.stdout.write(f"{editor.url(folder)}\nCtrl+C ends it.\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(Path(sys.argv[1]).resolve()))
