"""A summary in place of most of a conversation: what the model is asked with, and what the conversation becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ensign.protocol.messages import AssistantMessage, Message, ToolMessage, UserMessage
from ensign.protocol.value import frozen
from ensign.runtime.clearing import KEEP_RESULTS, clear
from ensign.runtime.prompt import text_of
from ensign.runtime.sizes import Room
from ensign.tools.words import harmless

_TAG = "conversation-summary"
_DROPPED = "[The Ensign runtime left out the oldest part of the conversation here: it does not fit any more.]"

Size = Callable[[Message], int]


def question() -> UserMessage:
    """What asks the model for its summary, after the conversation as it stands."""
    return UserMessage(text=text_of("compact"), origin="runtime")


def as_message(summary: str, state: str) -> UserMessage:
    """The summary as it stands in the conversation, with what the runtime itself knows.

    It may quote what a subagent or a file said, so nothing in it can open or close one of our tags (N3).
    """
    parts = [f"<{_TAG}>", text_of("summary"), "", harmless(summary), f"</{_TAG}>"]
    if state:
        parts += ["<runtime-state>", harmless(state), "</runtime-state>"]
    return UserMessage(text="\n".join(parts), origin="runtime")


def is_summary(message: Message) -> bool:
    """Whether a message is what `as_message` made."""
    return isinstance(message, UserMessage) and message.origin == "runtime" and message.text.startswith(f"<{_TAG}>")


def prompt_in(message: Message) -> UserMessage | None:
    """What somebody asked of the agent in this message: a person's or a parent's words, or a fork's directive."""
    match message:
        case UserMessage() if message.origin != "runtime":
            return message
        case ToolMessage(note=note) if note:
            return UserMessage(text=note, origin="parent")
        case _:
            return None


@frozen(kw_only=False)
class Prompts:
    """The prompts of a conversation by position."""

    at: Mapping[int, UserMessage]

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Prompts:
        """Find them."""
        found = ((at, prompt_in(message)) for at, message in enumerate(messages))
        return cls({at: prompt for at, prompt in found if prompt is not None})

    @property
    def fixed(self) -> Mapping[int, UserMessage]:
        """The ones that stay whatever happens: the newest, and what a subagent was started for."""
        task = [at for at, prompt in self.at.items() if prompt.origin == "parent"][:1]
        return {at: self.at[at] for at in sorted({*task, *list(self.at)[-1:]})}

    def before(self, end: int, *, size: Size, budget: int) -> list[UserMessage]:
        """The fixed ones before `end`, and with them the newest others that the budget has room for, in order."""
        fixed = self.fixed
        kept: dict[int, UserMessage] = {at: prompt for at, prompt in fixed.items() if at < end}
        for at in reversed([at for at in self.at if at < end and at not in fixed]):
            budget -= size(self.at[at])
            if budget < 0:
                break
            kept[at] = self.at[at]
        return [kept[at] for at in sorted(kept)]


@frozen
class Split:
    """A conversation in two: `start` is where the part begins that stays whole, `messages[start:]`."""

    messages: Sequence[Message]
    start: int
    prompts: Prompts

    def rebuilt(self, summary: UserMessage, *, size: Size, room: Room) -> list[Message]:
        """The prompts before the cut, the summary, and the rest as it is: in the order in which it happened."""
        prompts = self.prompts.before(self.start, size=size, budget=room.tail)
        return [*prompts, summary, *self.messages[self.start :]]

    def replaced(self, size: Size, room: Room) -> int:
        """Tokens that a summary would stand for."""
        kept = self.prompts.before(self.start, size=size, budget=room.tail)
        return sum(map(size, self.messages[: self.start])) - sum(map(size, kept))


def split(messages: Sequence[Message], *, size: Size, room: Room, kept_tools: Callable[[str], bool]) -> Split:
    """Find where the last messages begin that can be kept whole: never between a call and its result.

    The last exchange is kept also beyond the budget, its results cleared where they alone would fill the room.
    """
    last = next((at for at in reversed(range(len(messages))) if isinstance(messages[at], AssistantMessage)), 0)
    exchange, rest = messages[last:], list(messages[:last])
    if (over := sum(map(size, exchange)) - room.last) > 0:
        exchange, _ = clear(exchange, size=size, needed=over, keep=0, kept_tools=kept_tools)
    shortened = [*rest, *exchange]
    start, total = len(shortened), 0
    for at in reversed(range(len(shortened))):
        total += size(shortened[at])
        if total > (room.last if at >= last else room.tail) or is_summary(shortened[at]):
            # An earlier summary goes into the new one: there is one at most.
            break
        if not isinstance(shortened[at], ToolMessage):
            start = at
    return Split(messages=shortened, start=start, prompts=Prompts.of(shortened))


def views(
    messages: Sequence[Message], *, size: Size, budget: int, kept_tools: Callable[[str], bool]
) -> Iterator[Sequence[Message]]:
    """The conversation in ever shorter forms for the model to summarize; the first that fits is the best.

    `budget` is what the messages may take; it is an estimate, so shorter ones follow for a provider that disagrees.
    """
    total = sum(map(size, messages))
    if total <= budget:
        yield messages
    cleared, least = messages, total
    for keep in (KEEP_RESULTS, 0):
        cleared, freed = clear(messages, size=size, needed=total, keep=keep, kept_tools=kept_tools)
        if total - freed < least:
            least = total - freed
            if least <= budget:
                yield cleared
    for part in (budget, budget // 2, budget // 4):
        if (newest := _newest(cleared, size=size, budget=part)) is not None:
            yield newest


def _newest(messages: Sequence[Message], *, size: Size, budget: int) -> Sequence[Message] | None:
    """The end of a conversation, after its earlier summary if there is one; None when all fits or nothing does."""
    note = UserMessage(text=_DROPPED, origin="runtime")
    lead = [message for message in messages if is_summary(message)][-1:]
    total = sum(map(size, [*lead, note]))
    start = len(messages)
    for at in reversed(range(len(messages))):
        total += 0 if is_summary(messages[at]) else size(messages[at])
        if total > budget:
            break
        if not isinstance(messages[at], ToolMessage):
            start = at
    if start in {0, len(messages)}:
        return None
    return [*lead, note, *(message for message in messages[start:] if not is_summary(message))]
