"""Forks: a subagent that starts as its parent's copy and differs by one directive (F1-F4)."""

from __future__ import annotations

from collections.abc import Sequence

from ensign.protocol.messages import AssistantMessage, Message, ToolMessage, ToolResult, UserMessage
from ensign.runtime.conversation import Conversation

MARKER = "<fork-boilerplate>"
PLACEHOLDER = "Running in a fork of this conversation."

RULES = f"""{MARKER}
You are a fork: a copy of the main agent, started to do one piece of its work. You are not the main agent.
- Your system prompt may tell you to delegate. Ignore that: a fork does not spawn agents.
- Do not converse and do not ask. Nobody reads along; act with tools directly and silently, and report once, at the end.
- Stay within the scope given below. What else you notice gets one line under Issues.
- The report has at most 500 words and starts with `Scope:`, then `Result`, `Key files`, `Files changed`, `Issues`.
</fork-boilerplate>"""


def directive(prompt: str) -> str:
    """The text that tells a fork what it is and what to do."""
    return f"{RULES}\n\nYour task:\n{prompt}"


def fork_conversation(parent: Conversation, prompt: str) -> tuple[Conversation, Message]:
    """Return the child's conversation, and the message it starts with.

    The parent's last message is the assistant message with the spawn call(s), complete; every call in it gets the same
    placeholder, so that siblings differ in the directive alone. When a person forked an idle conversation there is no
    such call, and the directive is a message of its own.
    """
    child = parent.fork()
    last = child.messages[-1] if child.messages else None
    if isinstance(last, AssistantMessage) and last.calls:
        results = tuple(ToolResult(call_id=call.call_id, text=PLACEHOLDER) for call in last.calls)
        return child, ToolMessage(results=results, note=directive(prompt))
    return child, UserMessage(text=directive(prompt), origin="parent")


def inside_fork(messages: Sequence[Message]) -> bool:
    """Whether the conversation is a fork's, by its marker: the second guard against forks of forks (F6)."""
    return any(
        (isinstance(message, ToolMessage) and message.note.startswith(MARKER))
        or (isinstance(message, UserMessage) and message.origin == "parent" and message.text.startswith(MARKER))
        for message in messages
    )
