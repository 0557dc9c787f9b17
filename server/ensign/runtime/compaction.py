"""Keeping a conversation within its model's window (C3): old tool results are cleared, else the model summarizes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from ensign.models.base import Head
from ensign.protocol import events
from ensign.protocol.access import Effect
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.messages import AssistantMessage, Message, ToolCall
from ensign.protocol.value import frozen
from ensign.runtime.agent import Agent
from ensign.runtime.clearing import KEEP_RESULTS, clear
from ensign.runtime.sizes import Room, Ruler, reserve, sized, weight
from ensign.runtime.summarizer import Summarizer
from ensign.runtime.summary import Prompts, Split, as_message, prompt_in, split, views
from ensign.runtime.survivors import MAX_FILES, state_text

MAX_IN_A_ROW = 3
"""Compactions without new output between them that end a run (C3)."""


def no_tasks() -> str:
    """For agents that have none."""
    return ""


def not_recorded(_messages: Sequence[Message]) -> None:
    """For conversations that are on no disk."""


async def same_head() -> Head | None:
    """For conversations whose system prompt and tools stay as they are."""
    return None


@frozen
class Sizes:
    """A conversation that is near its window, measured once.

    Attributes:
        before: tokens of the next request.
        answered: tokens of the last one that was answered.
    """

    before: int
    answered: int
    room: Room
    ruler: Ruler
    messages: Sequence[Message]
    known: dict[int, int]

    def of(self, message: Message) -> int:
        """Tokens of a message of the conversation, or of a new one."""
        size = self.known.get(id(message))
        return self.ruler.of(message) if size is None else size


class Compaction:
    """Shortens one agent's conversation; made with the agent and kept as long as it lives.

    Nothing but the agent's own conversation is changed: not its inbox, its context or its children. A change is made
    at once, after everything that can fail or be cancelled.

    Attributes:
        stuck: why the run must end because shortening does not help any more; None while it does.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        tasks: Callable[[], str] = no_tasks,
        record: Callable[[Sequence[Message]], None] = not_recorded,
        renew: Callable[[], Awaitable[Head | None]] = same_head,
    ) -> None:
        """Watch over `agent.conversation`.

        `tasks` says the ids, names, states and output files of live and unannounced tasks. `record` makes the new
        messages durable, before anything that follows from them. `renew` may render the system prompt and the tools'
        descriptions anew after a summary, when the prefix changes anyway (A4); None keeps them, as a fork must (F2).
        """
        self._agent = agent
        self._tasks = tasks
        self._record = record
        self._renew = renew
        self._summarizer = Summarizer(agent)
        self._in_a_row = 0
        self._length = 0
        self._fewer_than = 0
        self._calls_before: set[int] = set()
        self.stuck: str | None = None

    async def before_step(self) -> None:
        """Shorten the conversation if the next request would come near the window.

        Raises:
            ModelError: what must be sent can never fit.
        """
        self.stuck = None
        conversation = self._agent.conversation
        window = conversation.model.context_window
        if conversation.tokens < window - reserve(window):
            self._fits()
            return
        sizes = self._measure(conversation.tokens)
        if sizes.before < sizes.room.near:
            self._fits()
            return
        if self._progressed(sizes):
            self._in_a_row = 0
        if self._in_a_row >= MAX_IN_A_ROW:
            self.stuck = f"no progress: {self._in_a_row} compactions in a row did not help; {self._described(sizes)}"
            return
        if not await self._compact(sizes) and sizes.before > window:
            raise self._too_large(sizes)

    async def shorten(self) -> bool:
        """Shorten a conversation that the provider refused as too long; False when nothing was gained.

        Raises:
            ModelError: what must be sent can never fit.
        """
        conversation = self._agent.conversation
        if self._in_a_row >= MAX_IN_A_ROW:
            return False
        # The provider's word counts: whatever was estimated, it is more than the window.
        return await self._compact(self._measure(max(conversation.tokens, conversation.model.context_window)))

    def _measure(self, tokens: int) -> Sizes:
        conversation = self._agent.conversation
        request = conversation.request()
        weights = [weight(*pair) for pair in zip(request.history, request.encoded, strict=True)]
        ruler = Ruler.fit(conversation.model, size_bytes=sized(request.head, weights), tokens=tokens)
        messages = list(request.history)
        replied = next((at for at in reversed(range(len(messages))) if isinstance(messages[at], AssistantMessage)), 0)
        fixed = Prompts.of(messages).fixed.values()
        return Sizes(
            before=tokens,
            answered=tokens - conversation.model.estimate_tokens(sum(weights[replied:])),
            room=Room(
                window=conversation.model.context_window,
                fixed=ruler.of_bytes(len(request.head.data)) + ruler.of(*fixed),
            ),
            ruler=ruler,
            messages=messages,
            known={id(message): ruler.of_bytes(size) for message, size in zip(messages, weights, strict=True)},
        )

    async def _compact(self, sizes: Sizes) -> bool:
        """Clear if that is enough, else summarize, else clear what there is. Returns whether anything was gained."""
        if sizes.room.fixed > sizes.room.window:
            raise self._too_large(sizes)
        over = max(1, sizes.before - sizes.room.goal)
        messages, freed = self._cleared(sizes, over, keep=KEEP_RESULTS)
        if freed >= over:
            self._replace(sizes, messages, "cleared", self._agent.conversation.head)
            return True
        parts = split(sizes.messages, size=sizes.of, room=sizes.room, kept_tools=self._is_kept)
        summary = await self._summary(sizes, parts)
        if summary is not None:
            return await self._put_summary(sizes, parts, summary)
        if sizes.before - freed > sizes.room.window:
            messages, freed = self._cleared(sizes, over, keep=0)
        if freed > 0:
            self._replace(sizes, messages, "cleared", self._agent.conversation.head)
        return freed > 0

    def _cleared(self, sizes: Sizes, needed: int, *, keep: int) -> tuple[list[Message], int]:
        return clear(sizes.messages, size=sizes.of, needed=needed, keep=keep, kept_tools=self._is_kept)

    def _is_kept(self, tool: str) -> bool:
        """Results about the session's own records stay: ids of tasks are read from nothing else, reports are short."""
        known = self._agent.tools.get(tool)
        return known is not None and known.effect is Effect.SESSION

    async def _summary(self, sizes: Sizes, parts: Split) -> str | None:
        room = sizes.room
        if parts.replaced(sizes.of, room) < room.reserve // 8:
            # A summary would hardly be shorter than what it stands for.
            return None
        head = sizes.ruler.of_bytes(len(self._agent.conversation.head.data))
        budget = room.window - room.reserve // 2 - head
        return await self._summarizer.ask(views(sizes.messages, size=sizes.of, budget=budget, kept_tools=self._is_kept))

    async def _put_summary(self, sizes: Sizes, parts: Split, summary: str) -> bool:
        state = state_text(
            todos=self._agent.todos.todos, files=self._agent.files.recent(MAX_FILES), tasks=self._tasks()
        )
        messages = parts.rebuilt(as_message(summary, state), size=sizes.of, room=sizes.room)
        if sum(map(sizes.of, messages)) >= sum(map(sizes.of, sizes.messages)):
            # Longer than what it stands for. That counts, or each step would ask for another.
            self._count(sizes, after=sizes.before)
            return False
        head_now = await self._renew() or self._agent.conversation.head
        self._replace(sizes, messages, "summarized", head_now)
        return True

    def _replace(
        self, sizes: Sizes, messages: list[Message], how: Literal["cleared", "summarized"], head: Head
    ) -> None:
        conversation = self._agent.conversation
        conversation.retarget(conversation.model, head, messages)
        self._record(conversation.messages)
        after = sizes.ruler.of_bytes(len(head.data)) + sum(map(sizes.of, messages))
        self._count(sizes, after=after)
        self._agent.emit(events.Compacted(**self._agent.who, before_tokens=sizes.before, after_tokens=after, how=how))

    def _count(self, sizes: Sizes, *, after: int) -> None:
        self._in_a_row += 1
        self._length = len(self._agent.conversation.messages)
        self._calls_before.update(call_key(call) for call in calls_in(sizes.messages))
        # Half of what was to be freed: the provider counts otherwise than we estimate, but not so much otherwise.
        self._fewer_than = (sizes.before + after) // 2

    def _since(self) -> Sequence[Message]:
        """What was added after the last compaction."""
        return self._agent.conversation.messages[self._length :]

    def _fits(self) -> None:
        """A request fits without shortening: if one was answered since the last compaction, that one helped."""
        if self._in_a_row and any(isinstance(message, AssistantMessage) for message in self._since()):
            self._in_a_row = 0

    def _progressed(self, sizes: Sizes) -> bool:
        """Whether the last compaction helped, though the conversation is near the window again.

        It did not when the provider counts the next request as hardly smaller, when what is fixed leaves so little
        room that each step compacts, or when the agent only repeats calls that it has made before, since what was
        taken away is what it needs.
        """
        since = self._since()
        if any(prompt_in(message) is not None for message in since):
            return True
        if not any(isinstance(message, AssistantMessage) for message in since):
            return False
        if sizes.answered >= self._fewer_than or sizes.room.is_tight:
            return False
        calls = calls_in(since)
        return not calls or any(call_key(call) not in self._calls_before for call in calls)

    def _described(self, sizes: Sizes) -> str:
        """Name the sizes, for people who must make something smaller."""
        conversation = self._agent.conversation
        head = sizes.ruler.of_bytes(len(conversation.head.data))
        tools = sum(len(tool.description) + len(str(dict(tool.parameters))) for tool in conversation.head.tools)
        tools_tokens = min(head, sizes.ruler.of_bytes(tools))
        prompts = sizes.room.fixed - head
        return (
            f"the conversation takes about {sizes.before:,} of the {sizes.room.window:,} tokens of "
            f"{conversation.model.id!r}: system prompt {head - tools_tokens:,}, descriptions of "
            f"{len(conversation.head.tools)} tools {tools_tokens:,}, prompts {prompts:,}, "
            f"the rest {max(0, sizes.before - head - prompts):,}"
        )

    def _too_large(self, sizes: Sizes) -> ModelError:
        return ModelError(
            f"the request cannot fit and was not sent: {self._described(sizes)}; shorten the prompt, the project "
            "instructions or the set of tools, or use a model with a larger window",
            kind=ModelErrorKind.OVERFLOW,
            retryable=False,
            prompt_tokens=sizes.before,
            window_tokens=sizes.room.window,
        )


def calls_in(messages: Sequence[Message]) -> list[ToolCall]:
    """Every call in these messages."""
    return [call for message in messages if isinstance(message, AssistantMessage) for call in message.calls]


def call_key(call: ToolCall) -> int:
    """The same for calls of the same tool with the same arguments."""
    return hash((call.name, call.raw))
