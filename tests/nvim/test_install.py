"""The second real client is there; what it sees of the server is tested beside this file."""

import subprocess

import pytest

pytestmark = pytest.mark.nvim


def test_neovim_starts_headless_and_has_an_lsp_client() -> None:
    command = ["nvim", "--headless", "--clean", "-c", "lua io.stdout:write(type(vim.lsp.start_client))", "-c", "qa"]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout == "function"
