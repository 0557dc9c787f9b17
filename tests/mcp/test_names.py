"""No two tools share a name, and a rule never matches more than it says."""

from __future__ import annotations

import pytest

from ensign.mcp.names import MAX_NAME, server_key, server_problem, tool_name
from ensign.permissions.rules import parse_rule
from ensign.tasks.filter import named_by
from ensign.tools.base import Tool, no_accesses
from ensign.tools.todo_write import TODO_WRITE


def test_a_name_that_fits_stays_as_it_is() -> None:
    assert tool_name(server_key("my_server"), "x_y") == "mcp__my_server__x_y"
    assert tool_name("my", "server_x_y") == "mcp__my__server_x_y"
    assert tool_name("s", "a__b") == "mcp__s__a__b"


def test_any_other_name_is_mapped_by_itself_alone() -> None:
    names = {tool_name("s", name) for name in ("a.b", "a_b", "a b", "ä_b", "a/b", "x" * 80, "x" * 81)}
    assert len(names) == 7
    assert all(len(name) <= MAX_NAME for name in names)
    assert tool_name("s", "a.b") == "mcp__s__a_b-2e7336"
    assert server_key("s" * 90) == f"{'s' * 25}-{server_key('s' * 90)[-6:]}"


@pytest.mark.parametrize("name", ["a__b", "_a", "a_", "__", "", " ", "a..b", "ü"])
def test_a_server_cannot_have_a_name_that_reads_like_a_tool_in_a_rule(name: str) -> None:
    assert server_problem(name) is not None


@pytest.mark.parametrize("name", ["a", "a_b", "a-b", "a.b", "Sentry MCP", "x" * 90])
def test_other_names_are_fine(name: str) -> None:
    assert server_problem(name) is None
    assert "__" not in server_key(name)


def test_a_rule_and_a_definition_name_one_server_and_no_other() -> None:
    def tool(name: str) -> Tool:
        return Tool(
            name=name,
            description="",
            parameters={},
            effect=TODO_WRITE.effect,
            parallel=False,
            subagent=True,
            background=True,
            run=TODO_WRITE.run,
            accesses=no_accesses,
            activity=TODO_WRITE.activity,
        )

    ours, other = tool(tool_name("my", "x")), tool(tool_name("my_server", "x"))
    for entry in ("mcp__my", "mcp__my__*", "mcp__my__x"):
        assert named_by(ours, (entry,))
        assert not named_by(other, (entry,))
        assert parse_rule(entry).tool == entry.removesuffix("__*")
