"""The server through the library of VS Code's client, which sends what pytest-lsp never does (`lsp-notes` 1.1, 1.5)."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

import pytest

from tests.lsp.conftest import ROOT

pytestmark = pytest.mark.slow

DONE = {"result": {"turnId": "1"}}


async def test_all_that_vs_codes_library_sends_is_answered() -> None:
    modules = ROOT / "extension" / "node_modules"
    assert (modules / "vscode-jsonrpc").is_dir(), "npm ci in extension/ first; `make test-python` does"
    script = str(ROOT / "tests" / "lsp" / "vscode_client.mjs")
    child = await asyncio.create_subprocess_exec(
        "node", script, str(modules), sys.executable, "-m", "tests.lsp.serve",
        cwd=ROOT, env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'server'}"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(60):
            output, errors = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()  # and with it goes the pipe that the server reads
            await child.wait()
    assert child.returncode == 0, errors.decode()
    assert json.loads(output) == {
        "without": {"result": {"sessions": []}},
        "withNull": {"result": {"sessions": []}},
        "withUndefined": {"result": {"sessions": []}},
        "withText": {"code": -32602, "message": "params: must be an object"},
        "nested": DONE,
        "printed": DONE,
        "child": DONE,
        "deltas": DONE,
        "cancelled": {"code": -32800, "message": "'ensign/turn/start' was cancelled"},
        "shutdown": {"result": None},
        "late": -32600,
        "events": 2000,
        "errors": [],
        "code": 0,
    }
