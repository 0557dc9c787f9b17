"""Entries of `mcpServers`: what is understood, what is refused, and what a project's server does not get."""

from __future__ import annotations

from typing import Any

import pytest

from ensign.mcp.entry import EntryError, expanded, identity, server_of
from ensign.protocol.settings import McpServer


def test_programs_and_addresses_are_understood() -> None:
    program = {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"A": "1"}, "cwd": "sub"}
    assert server_of("a", program, own=True) == McpServer(command="npx", args=("-y", "x"), env={"A": "1"}, cwd="sub")
    address = {"type": "http", "url": "https://example.org/mcp", "headers": {"X": "y"}, "timeoutSeconds": 5}
    assert server_of("a", address, own=False) == McpServer(
        url="https://example.org/mcp", headers={"X": "y"}, timeout_seconds=5.0, own=False
    )
    assert server_of("a", {"command": "x", "disabled": True}, own=True).disabled


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("x", "an object"),
        ({}, "either"),
        ({"command": "x", "url": "http://x"}, "either"),
        ({"type": "sse", "url": "http://x"}, "'sse' is not spoken"),
        ({"type": "http", "command": "x"}, "either"),
        ({"url": "file:///etc/passwd"}, "http or https"),
        ({"command": "x", "args": "y"}, "'args' must be a list"),
        ({"command": "x", "env": {"A": 1}}, "'env' must be"),
        ({"command": "x", "timeoutSeconds": 0}, "'timeoutSeconds'"),
        ({"command": 1}, "'command' must be text"),
    ],
)
def test_what_is_no_server_is_refused_with_the_reason(entry: Any, words: str) -> None:
    with pytest.raises(EntryError, match=words):
        server_of("a", entry, own=True)


def test_variables_are_put_in() -> None:
    server = McpServer(
        command="${TOOL}", args=("--key=${KEY:-none}", "$PLAIN"), env={"TOKEN": "${TOKEN}"}, headers={"A": "B ${TOKEN}"}
    )
    put = expanded(server, {"TOOL": "t", "TOKEN": "secret"})
    assert (put.command, put.args, put.env, put.headers) == (
        "t", ("--key=none", "$PLAIN"), {"TOKEN": "secret"}, {"A": "B secret"},
    )  # fmt: skip
    with pytest.raises(EntryError, match="TOKEN is not set"):
        expanded(server, {"TOOL": "t"})


def test_a_project_s_server_gets_no_key_of_ours() -> None:
    entry = {"command": "x", "env": {"K": "${ANTHROPIC_API_KEY}"}}
    environment = {"ANTHROPIC_API_KEY": "secret"}
    assert expanded(server_of("a", entry, own=True), environment).env == {"K": "secret"}
    with pytest.raises(EntryError, match="ANTHROPIC_API_KEY"):
        expanded(server_of("a", entry, own=False), environment)


def test_the_identity_is_the_whole_command_with_arguments_and_variables() -> None:
    base = {"command": "x", "args": ["a"], "env": {"A": "1"}}
    others = [{**base, "args": ["b"]}, {**base, "env": {"A": "2"}}, {**base, "env": {"B": "1"}}, {**base, "cwd": "/"}]
    digests = {identity(server_of("a", one, own=True)) for one in (base, *others)}
    assert len(digests) == 5
    assert identity(server_of("a", {**base, "timeoutSeconds": 9}, own=True)) in digests
