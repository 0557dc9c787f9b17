"""Wrong arguments are answered with the field and what is valid, and never reach a tool."""

from typing import Any

import pytest

from ensign.protocol.errors import ToolError
from ensign.protocol.events import Todo
from ensign.tools import BUILTIN
from ensign.tools.check import check
from tests.tools.bench import TOOLS, Bench


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            "Read",
            {},
            (
                "Read was called with wrong arguments: 'file_path' is required. "
                "Valid: {file_path: string, offset?: integer, limit?: integer}"
            ),
        ),
        ("Read", {"file_path": 1}, "'file_path': 1 is not of type \"string\""),
        ("Read", {"file_path": "a", "offset": 0}, "'offset': 0 is less than the minimum of 1"),
        ("Read", {"file_path": "a", "limit": "5"}, '\'limit\': "5" is not of type "integer"'),
        ("Read", {"path": "a"}, "'file_path' is required; there is no 'path'"),
        ("Grep", {"pattern": "a", "output_mode": "x"}, '"content" | "files_with_matches" | "count"'),
        ("Bash", {"command": "a", "timeout": 600_001}, "'timeout': 600001 is greater than the maximum"),
        ("TodoWrite", {"todos": [{"content": "a", "status": "pending"}]}, "'todos.0.activeForm' is required"),
        ("TodoWrite", {"todos": "a"}, 'todos: [{content: string, status: "pending" |'),
        ("Write", {"file_path": "a", "content": None}, "'content': null is not of type"),
    ],
)
def test_the_wrong_field_is_named_with_what_is_valid(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError) as caught:
        check(TOOLS[name], arguments)
    assert message in str(caught.value)


def test_a_huge_value_is_not_repeated_whole() -> None:
    with pytest.raises(ToolError) as caught:
        check(TOOLS["Read"], {"file_path": "a", "limit": "x" * 100_000})
    assert len(str(caught.value)) < 500


def test_every_tool_names_its_fields_as_agreed() -> None:
    assert {tool.name: list(tool.parameters["properties"]) for tool in BUILTIN} == {
        "Read": ["file_path", "offset", "limit"],
        "Write": ["file_path", "content"],
        "Edit": ["file_path", "old_string", "new_string", "replace_all"],
        "NotebookEdit": ["notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"],
        "Glob": ["pattern", "path"],
        "Grep": ["pattern", "path", "glob", "type", "output_mode", "-i", "-A", "-B", "-C", "head_limit", "multiline"],
        "Bash": ["command", "timeout", "description"],
        "TodoWrite": ["todos"],
    }


async def test_a_todo_list_is_replaced_whole(bench: Bench) -> None:
    ctx = bench.context()
    todos = [
        {"content": "Run the tests", "status": "in_progress", "activeForm": "Running the tests"},
        {"content": "Fix it", "status": "completed", "activeForm": "Fixing it"},
    ]
    output = await bench.call_in(ctx, "TodoWrite", {"todos": todos})
    assert output.text == "The list has 2 entries, 1 completed."
    assert ctx.todos.todos == (
        Todo(content="Run the tests", status="in_progress", active_form="Running the tests"),
        Todo(content="Fix it", status="completed", active_form="Fixing it"),
    )
    assert TOOLS["TodoWrite"].activity({"todos": todos}) == "Running the tests"
    with pytest.raises(ToolError, match="only one entry"):
        await bench.call_in(ctx, "TodoWrite", {"todos": [todos[0], todos[0]]})
