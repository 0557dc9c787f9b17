"""Asking the agent's own model for a summary of its conversation, and giving up when that keeps failing (C3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import aclosing

from ensign.models.base import Head, Model, Reply, Request
from ensign.protocol import events
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.messages import Message
from ensign.runtime.agent import Agent
from ensign.runtime.billing import usage_reported
from ensign.runtime.summary import question

MAX_FAILURES = 3
"""Failures in a row after which a summary is not tried again (C3)."""


class Summarizer:
    """Writes summaries with the conversation's own prefix, so that the provider's cache serves it (C2, C4).

    For that the tools stay in the request. A model that calls one anyway is asked again with tools off.
    """

    __slots__ = ("_agent", "_failures", "_model")

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._model: Model | None = None
        self._failures = 0

    async def ask(self, views: Iterable[Sequence[Message]]) -> str | None:
        """Return a summary of the first view that the model takes; None when there is none to be had."""
        model = self._agent.conversation.model
        if model is not self._model:
            self._model, self._failures = model, 0
        if self._failures >= MAX_FAILURES:
            return None
        why = "it fits in no shortened form"
        for messages in views:
            try:
                text = await self._written(messages)
            except ModelError as error:
                why = str(error)
                if error.kind is ModelErrorKind.OVERFLOW:
                    continue
                break
            if text:
                self._failures = 0
                return text
            why = "the answer had no text"
            break
        self._failed(why)
        return None

    async def _written(self, messages: Sequence[Message]) -> str:
        reply = await self._reply(messages, self._agent.conversation.head)
        if reply.message.calls:
            reply = await self._reply(messages, self._agent.head(tools_off=True))
        return reply.message.text.strip()

    async def _reply(self, messages: Sequence[Message], head: Head) -> Reply:
        conversation = self._agent.conversation
        ask = question()
        own = conversation.request()
        # A message is serialized once (C2); a shortened view has few that are not the conversation's own.
        known = {id(message): data for message, data in zip(own.history, own.encoded, strict=True)}
        history = [*messages, ask]
        encoded = [known.get(id(message)) or conversation.model.encode(message) for message in history]
        request = Request(head=head, history=history, encoded=encoded)
        async with aclosing(conversation.model.stream(request)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Reply):
                    self._report(chunk)
                    return chunk
        raise AssertionError("a model stream must end with a Reply")

    def _report(self, reply: Reply) -> None:
        agent = self._agent
        agent.emit(usage_reported(agent.who, agent.conversation.model.id, reply, "compaction"))

    def _failed(self, why: str) -> None:
        self._failures += 1
        if self._failures < MAX_FAILURES:
            return
        self._agent.emit(
            events.Notice(
                **self._agent.who,
                level="warning",
                text=f"The conversation could not be summarized {MAX_FAILURES} times in a row ({why}). It will not be "
                "tried again; only old tool results are cleared from now on. Start a new session or choose another "
                "model before the window is full.",
            )
        )
