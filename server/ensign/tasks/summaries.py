"""What a background task is at, in a sentence: asked of its own model from its own prefix, while one looks (X4)."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing

from ensign.models.base import Reply, Request
from ensign.protocol.errors import ModelError
from ensign.protocol.messages import AssistantMessage, Message, ToolMessage, ToolResult, UserMessage
from ensign.runtime.agent import Agent
from ensign.runtime.billing import usage_reported
from ensign.tasks.task import Task

QUESTION = (
    "This comes from the Ensign runtime, for the person who looks on; it is not part of your task. Do not call a tool. "
    "Say in one sentence of at most 15 words what you have found so far and what you are doing now."
)
PENDING = "Still running."
SUMMARY_CHARS = 200

log = logging.getLogger(__name__)


async def keep_summarizing(task: Task, interval_s: float) -> None:
    """Renew a task's summary every `interval_s` until it ends or this is cancelled; never two requests at once."""
    while not task.state.terminal:
        await asyncio.sleep(interval_s)
        agent = task.agent
        if agent is None or not task.record.background or not agent.conversation.messages:
            continue
        try:
            summary = await ask(task, agent)
        except ModelError as error:
            log.info("no summary of task %s: %s", task.record.short_id, error)
            continue
        if summary and not task.state.terminal:
            task.change(summary=summary)


async def ask(task: Task, agent: Agent) -> str:
    """One request: the child's conversation as it stands, and the question, which never enters it."""
    conversation = agent.conversation
    question = question_after(conversation.messages[-1])
    request = conversation.request()
    extended = Request(
        head=request.head,
        history=[*request.history, question],
        encoded=[*request.encoded, conversation.model.encode(question)],
    )
    async with aclosing(conversation.model.stream(extended)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, Reply):
                task.emit(usage_reported(task.who, conversation.model.id, chunk, "summary"))
                return " ".join(chunk.message.text.split())[:SUMMARY_CHARS]
    return ""


def question_after(last: Message) -> Message:
    """The question as the conversation can take it: calls that still run get a result that says so."""
    if isinstance(last, AssistantMessage) and last.calls:
        results = tuple(ToolResult(call_id=call.call_id, text=PENDING) for call in last.calls)
        return ToolMessage(results=results, note=QUESTION)
    return UserMessage(text=QUESTION, origin="runtime")
