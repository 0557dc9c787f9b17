"""One VS Code server: a private home, the extensions installed, started, awaited, and ended whatever happens."""

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import socket
import tempfile
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.editor.guard import processes
from tests.editor.settings import CODE_SERVER, CODE_SERVER_FLAGS, NODE, PYTHON, REPOSITORY, SETTINGS, EditorOptions

START_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorServer:
    """A running VS Code server; `run` is its private folder, gone when it ends."""

    run: Path
    port: int
    mark: str
    options: EditorOptions

    def url(self, folder: Path) -> str:
        return f"http://127.0.0.1:{self.port}/?folder={quote(str(folder))}"

    def write_settings(self, **changes: object) -> None:
        """Write the user's settings anew, with `changes` over the options'; windows loaded from now on have them."""
        trust = {"security.workspace.trust.enabled": self.options.trust_prompts}
        settings = json.dumps({**SETTINGS, **trust, **self.options.settings, **changes})
        # In a window on a server, settings of scope `machine` count only where the server itself keeps them.
        for place in ("User", "Machine"):
            path = self.run / "user" / place / "settings.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(settings, encoding="utf-8")

    def processes(self) -> dict[int, str]:
        """Return the command lines of all that the editor started and that still runs, by process id."""
        return processes(self.mark)

    def logs(self) -> str:
        """Return the logs of server, windows and extensions, for a failed test's report."""
        paths = [self.run / "server.log", *sorted(self.run.glob("user/logs/**/*.log"))]
        return "\n".join(f"== {path.relative_to(self.run)}\n{path.read_text(errors='replace')}" for path in paths)


@asynccontextmanager
async def running_editor(options: EditorOptions) -> AsyncIterator[EditorServer]:
    """Start a VS Code server and end it, with all it started, on leaving."""
    if missing := [path for path in (NODE, CODE_SERVER, *options.extensions) if not path.exists()]:
        raise FileNotFoundError(f"not set up: {missing}; `make test-editor` does that")
    # Short, because unix sockets live below it.
    run = Path(tempfile.mkdtemp(prefix="ens", dir="/tmp"))
    editor = EditorServer(run=run, port=free_port(), mark=f"ENSIGN_EDITOR_RUN={secrets.token_hex(8)}", options=options)
    try:
        editor.write_settings()
        for extension in options.extensions:
            await install(editor, extension)
        async with started(editor):
            await healthy(editor)
            yield editor
    finally:
        shutil.rmtree(run, ignore_errors=True)


def command_line(editor: EditorServer, *arguments: str) -> list[str]:
    folders = (f"--user-data-dir={editor.run}/user", f"--extensions-dir={editor.run}/ext")
    # An empty file, or it writes one into the user's home.
    config = f"--config={editor.run}/config.yaml"
    (editor.run / "config.yaml").touch()
    return [str(NODE), str(CODE_SERVER), *folders, config, *arguments]


def environment(editor: EditorServer) -> dict[str, str]:
    for name in ("home", "tmp"):
        (editor.run / name).mkdir(exist_ok=True)
    # A developer's own keys, endpoints and editor settings are no part of a test.
    inherited = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ") if name in os.environ}
    return {
        **inherited,
        "HOME": f"{editor.run}/home",
        "TMPDIR": f"{editor.run}/tmp",
        "ENSIGN_HOME": f"{editor.run}/ensign",
        "EXTENSIONS_GALLERY": "{}",
        # The extension host inherits PATH instead of asking a login shell for it.
        "VSCODE_CLI": "1",
        **editor.options.env,
    }


async def install(editor: EditorServer, extension: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *command_line(editor, f"--install-extension={extension}"),
        env=environment(editor),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"cannot install {extension}: {output.decode(errors='replace')}")


@asynccontextmanager
async def started(editor: EditorServer) -> AsyncIterator[None]:
    trust = () if editor.options.trust_prompts else ("--disable-workspace-trust",)
    arguments = (f"--bind-addr=127.0.0.1:{editor.port}", *CODE_SERVER_FLAGS, *trust)
    with (editor.run / "server.log").open("wb") as log:
        guard = await asyncio.create_subprocess_exec(
            str(PYTHON),
            "-m",
            "tests.editor.guard",
            editor.mark,
            *command_line(editor, *arguments),
            cwd=REPOSITORY,
            env=environment(editor),
            stdin=asyncio.subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    assert guard.stdin is not None
    try:
        yield
    finally:
        guard.stdin.close()
        await guard.wait()


async def healthy(editor: EditorServer) -> None:
    def ask() -> bool:
        with (
            contextlib.suppress(OSError, urllib.error.URLError),
            urllib.request.urlopen(f"http://127.0.0.1:{editor.port}/healthz", timeout=5) as answer,
        ):
            return bool(answer.status == 200)
        return False

    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while not await asyncio.to_thread(ask):
                await asyncio.sleep(0.1)
    except TimeoutError as error:
        error.add_note(editor.logs())
        raise


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
