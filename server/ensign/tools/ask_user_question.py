"""The `AskUserQuestion` tool: puts a choice to the person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ensign.protocol.access import Effect
from ensign.protocol.approvals import Answer, Choice
from ensign.protocol.errors import DeniedError, ToolError
from ensign.protocol.value import frozen
from ensign.tools.base import Arguments, Tool, ToolContext, ToolOutput, no_accesses
from ensign.tools.words import words_of

MAX_QUESTIONS = 4
MAX_CHOICES = 6

_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "questions": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_QUESTIONS,
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string", "minLength": 1, "description": "The whole question"},
                    "header": {"type": "string", "description": "What it is about, in one or two words"},
                    "options": {
                        "type": "array",
                        "minItems": 2,
                        "maxItems": MAX_CHOICES,
                        "items": {
                            "type": "object",
                            "properties": {
                                "label": {"type": "string", "minLength": 1, "description": "In 1 to 5 words"},
                                "description": {"type": "string", "description": "What it would mean"},
                            },
                            "required": ["label"],
                            "additionalProperties": False,
                        },
                    },
                },
                "required": ["question", "options"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["questions"],
    "additionalProperties": False,
}


@frozen
class Inquiry:
    """One question to the person."""

    call_id: str
    question: str
    header: str
    choices: tuple[Choice, ...]


def ask_user_question_tool(ask: Callable[[Inquiry], Awaitable[Answer]]) -> Tool:
    """Return the tool; `ask` puts one question and returns the person's answer, or raises `DeniedError`."""

    async def run(ctx: ToolContext, arguments: Arguments) -> ToolOutput:
        lines: list[str] = []
        for inquiry in [_inquiry(ctx.call_id, question) for question in arguments["questions"]]:
            try:
                answer = await ask(inquiry)
            except DeniedError as error:
                # Nobody forbade anything: there is just no answer.
                raise ToolError(
                    f"there is no answer to {inquiry.question!r}: {error}. Decide by yourself what is most likely "
                    "meant, and say in your answer what you assumed"
                ) from error
            said = answer.message.strip()
            if answer.outcome.allows:
                lines.append(f"{inquiry.question} {said}")
            else:
                lines.append(f"{inquiry.question} [the person did not choose{f', and said: {said}' if said else ''}]")
        return ToolOutput(text="\n".join(lines))

    return Tool(
        name="AskUserQuestion",
        description=words_of(__file__),
        parameters=_PARAMETERS,
        effect=Effect.SESSION,
        parallel=False,
        subagent=False,
        background=False,
        run=run,
        accesses=no_accesses,
        activity=lambda arguments: f"asking: {arguments['questions'][0]['question']}",
    )


def _inquiry(call_id: str, question: Mapping[str, Any]) -> Inquiry:
    choices = tuple(Choice(label=one["label"], description=one.get("description", "")) for one in question["options"])
    if len({choice.label for choice in choices}) < len(choices):
        raise ToolError(f"two options of {question['question']!r} have the same label")
    header = question.get("header", "")
    return Inquiry(call_id=call_id, question=question["question"], header=header, choices=choices)
