"""The `SyntheticOutput` tool: text to the person at once, past every model (X2)."""

from __future__ import annotations

from collections.abc import Callable

from ensign.protocol.access import Effect
from ensign.protocol.errors import ToolError
from ensign.tasks.coordinator import SYNTHETIC_OUTPUT
from ensign.tasks.words import text_of
from ensign.tools.base import Arguments, Tool, ToolContext, ToolOutput, no_accesses

TEXT_CHARS = 4000


def synthetic_output(say: Callable[[str | None, str], None]) -> Tool:
    """Build the tool; `say` shows a text of the agent of a task, or of the main agent."""

    async def run(ctx: ToolContext, arguments: Arguments) -> ToolOutput:
        text = arguments["text"].strip()
        if not text:
            raise ToolError("the text is blank")
        say(ctx.task_id, text)
        return ToolOutput(text="The user sees it.")

    return Tool(
        name=SYNTHETIC_OUTPUT,
        description=text_of(SYNTHETIC_OUTPUT),
        parameters={
            "type": "object",
            "properties": {"text": {"type": "string", "minLength": 1, "maxLength": TEXT_CHARS}},
            "required": ["text"],
            "additionalProperties": False,
        },
        effect=Effect.SESSION,
        parallel=False,
        subagent=True,
        background=True,
        run=run,
        accesses=no_accesses,
        activity=lambda arguments: f"saying: {arguments['text'][:60]}",
    )
