"""The `TodoWrite` tool: an agent's own list of what is to do."""

from __future__ import annotations

from ensign.protocol.access import Effect
from ensign.protocol.errors import ToolError
from ensign.protocol.events import Todo
from ensign.tools.base import Arguments, Tool, ToolContext, ToolOutput, no_accesses
from ensign.tools.words import count, words_of


async def run(ctx: ToolContext, arguments: Arguments) -> ToolOutput:
    """Replace the list whole."""
    todos = tuple(
        Todo(content=todo["content"], status=todo["status"], active_form=todo["activeForm"])
        for todo in arguments["todos"]
    )
    working = [todo.content for todo in todos if todo.status == "in_progress"]
    if len(working) > 1:
        raise ToolError(f"only one entry may be in_progress at a time; these are: {', '.join(map(repr, working))}")
    ctx.todos.todos = todos
    done = sum(todo.status == "completed" for todo in todos)
    return ToolOutput(text=f"The list has {count(len(todos), 'entry').replace('entrys', 'entries')}, {done} completed.")


def activity(arguments: Arguments) -> str:
    working = next((todo["activeForm"] for todo in arguments["todos"] if todo["status"] == "in_progress"), "")
    return working or "updating the to-do list"


TODO_WRITE = Tool(
    name="TodoWrite",
    description=words_of(__file__),
    parameters={
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "description": "The whole list; it replaces the one before",
                "items": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string", "minLength": 1, "description": "What to do: Run the tests"},
                        "status": {"enum": ["pending", "in_progress", "completed"]},
                        "activeForm": {
                            "type": "string",
                            "minLength": 1,
                            "description": "While done: Running the tests",
                        },
                    },
                    "required": ["content", "status", "activeForm"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["todos"],
        "additionalProperties": False,
    },
    effect=Effect.SESSION,
    parallel=False,
    subagent=True,
    background=True,
    run=run,
    accesses=no_accesses,
    activity=activity,
)
