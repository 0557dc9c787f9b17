"""Starts, from the birth of the process: to an editor's first answers, and to the first model request of a run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.bench.figures import Row, paired
from tests.bench.model import Model, Plan
from tests.bench.product import ENSIGN, environment_of, server_process, workspace_of

_PYGLS = """
from pygls.lsp.server import LanguageServer

server = LanguageServer("minimal", "1")


@server.feature("ensign/session/open")
def session_open(params):
    return {"sessionId": "1"}


server.start_io()
"""
# Both read no certificates, since the address is http.
_LOOP = """
import asyncio
import ssl
import sys

import httpx

body = open(sys.argv[2], "rb").read()
headers = {"content-type": "application/json", "authorization": "Bearer sk-bench"}


async def main():
    async with httpx.AsyncClient(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)) as client:
        async with client.stream("POST", sys.argv[1], content=body, headers=headers) as response:
            await response.aread()


asyncio.run(main())
"""
_SCRIPT = """
import ssl
import sys

import httpx

body = open(sys.argv[2], "rb").read()
headers = {"content-type": "application/json", "authorization": "Bearer sk-bench"}
with httpx.Client(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)) as client:
    with client.stream("POST", sys.argv[1], content=body, headers=headers) as response:
        response.read()
"""


def serve_times(command: list[str], environment: dict[str, str], root: Path) -> tuple[float, float]:
    """Seconds from the start of a process to its answers to `initialize` and to `ensign/session/open`."""
    began = time.monotonic()
    with server_process(command, environment, root) as server:
        params: dict[str, object] = {"processId": None, "rootUri": root.as_uri(), "capabilities": {}}
        server.request("initialize", params)
        initialized = time.monotonic() - began
        server.send("initialized", {})
        server.request("ensign/session/open", {"cwd": str(root)})
        opened = time.monotonic() - began
        server.request("shutdown", None)
        server.send("exit", None)
        server.process.wait(30)
    return initialized, opened


def run_time(command: list[str], environment: dict[str, str], root: Path, model: Model) -> float:
    """Seconds from the start of a process to the arrival of its first model request."""
    model.plan(Plan(main_steps=1))
    began = time.monotonic()
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, check=False)
    seen = model.seen()
    if not seen:
        raise RuntimeError(done.stderr.decode())
    return seen[0].came - began


def starts(folder: Path, model: Model, pairs: int) -> list[Row]:
    """Three starts; the first pair only warms caches."""
    environment = environment_of(folder, model.base_url)
    root = workspace_of(folder)
    minimal, loop, script = folder / "minimal.py", folder / "loop.py", folder / "script.py"
    body = folder / "body.json"
    minimal.write_text(_PYGLS)
    loop.write_text(_LOOP)
    script.write_text(_SCRIPT)
    url = f"{model.base_url}/chat/completions"
    initialize: list[tuple[float, float]] = []
    opened: list[tuple[float, float]] = []
    run: list[tuple[float, float]] = []
    by_script: list[tuple[float, float]] = []
    for number in range(pairs + 1):
        ours = serve_times([str(ENSIGN), "serve"], environment, root)
        theirs = serve_times([sys.executable, str(minimal)], environment, root)
        first = run_time([str(ENSIGN), "run", "look"], environment, root, model)
        body.write_bytes(model.first_body(child=False))
        looping, sending = (
            run_time([sys.executable, str(bare), url, str(body)], environment, root, model) for bare in (loop, script)
        )
        if number:
            initialize.append((ours[0], theirs[0]))
            opened.append((ours[1], theirs[1]))
            run.append((first, looping))
            by_script.append((first, sending))
    pygls = "bare: a pygls server with one custom method"
    loops = "bare: a script of asyncio and httpx.AsyncClient, as the loop of the other rows, sends the same bytes"
    sends = "bare: the same without asyncio, by httpx.Client"
    return [
        paired("`ensign serve` to the answer of `initialize`", initialize, target=1.1, note=pygls),
        paired("  to the answer of `ensign/session/open`", opened, target=1.4, note="bare: the same method of its own"),
        paired("`ensign run` to its first model request", run, target=2.0, note=loops),
        paired("  the same, against a script without a loop", by_script, target=2.0, note=sends),
    ]
