"""The journal of one agent: everything that happened to it, on disk as it happens (B7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ensign.protocol.codec import to_wire
from ensign.protocol.events import Event, MessageAdded, TextDelta, ThinkingDelta
from ensign.protocol.messages import AssistantMessage, Message, ToolCall
from ensign.protocol.run import RunSpec
from ensign.protocol.tasks import Envelope, TaskState
from ensign.protocol.value import frozen
from ensign.store.errors import StoreError
from ensign.store.head import Head
from ensign.store.inbox import Inbox, Letter
from ensign.store.journal import Fence, Journal
from ensign.store.records import Kind, Record, encode


@frozen
class Binding:
    """What ties a transcript to its session: the claim, the clock, and who is told of each record and of the close."""

    fence: Fence
    now: Callable[[], float]
    observe: Callable[[Record], None]
    closed: Callable[[], None]


class Transcript:
    """Appends records for one agent.

    An append is one write of a few microseconds and is made on the event loop, so that what was said is on disk
    before anything that follows from it; it survives `kill -9`. `sync` makes it survive a loss of power as well.
    Every method but `close` raises `StoreError` when the disk refuses; earlier records are then whole, and the same
    call may be made again.
    """

    __slots__ = ("_binding", "_journal", "_next", "head", "inbox")

    def __init__(self, journal: Journal, head: Head, binding: Binding, *, position: int, inbox: Inbox) -> None:
        self._journal = journal
        self._binding = binding
        self._next = position + 1
        self.head = head
        self.inbox = inbox

    @property
    def position(self) -> int:
        """The number of the last record; a fork inherits up to it."""
        return self._next - 1

    def append_message(self, message: Message, *, seq: int | None = None) -> None:
        """Record that a message joined the conversation; letters that it delivers are delivered with it, in one write.

        `seq` is the number of its `message_added` event, None where there was none.

        Raises:
            StoreError: also when one of its letters is in the conversation already.
        """
        ids = () if isinstance(message, AssistantMessage) else message.delivers
        if twice := [message_id for message_id in ids if self.inbox.delivered(message_id)]:
            raise StoreError(f"already in the conversation: {twice!r}")
        self._append("message", {"seq": seq, "message": to_wire(message)})
        self.inbox.deliver(ids)

    def append_event(self, seq: int, event: Event) -> None:
        """Record an event: a message as a message, and no deltas."""
        match event:
            case TextDelta() | ThinkingDelta():
                return
            case MessageAdded(message=message):
                self.append_message(message, seq=seq)
            case _:
                self._append("event", {"seq": seq, "event": to_wire(event)})

    def append_history(self, messages: Sequence[Message]) -> None:
        """Record that compaction put these messages in place of all before."""
        self._append("history", {"messages": to_wire(messages)})

    def append_partial(self, turn_id: str, text: str, thinking: str = "") -> None:
        """Record what a step had said when it broke."""
        self._append("partial", {"turnId": turn_id, "text": text, "thinking": thinking})

    def append_intent(self, call: ToolCall) -> None:
        """Record that a call with effects is about to run; `await sync()` before it does, where power may fail."""
        self._append("intent", {"callId": call.call_id, "tool": call.name})

    def append_head(self, head: Head) -> None:
        """Record what stands before the messages from now on."""
        self._append("head", to_wire(head))
        self.head = head

    def append_run(self, spec: RunSpec) -> None:
        """Record that a run that had ended begins anew, with these limits (B4)."""
        self._append("run", {"spec": to_wire(spec)})

    def append_end(self, state: TaskState, envelope: Envelope | None, *, notify: str | None = None) -> None:
        """Record that the run is over. The run has ended when this is written, whatever was said before.

        `notify` is the id under which the parent is to be told; None when it is told otherwise.
        """
        body = {"state": state.value, "envelope": to_wire(envelope), "notify": notify}
        self._append("end", body)

    def append_claim(self) -> None:
        """Record that a new owner goes on from here; what an older one may still append does not count."""
        self._append("claim", {})

    def append_title(self, title: str) -> None:
        """Record the session's name; for a main agent."""
        self._append("title", {"title": title})

    def append_hidden(self, task_ids: Sequence[str]) -> None:
        """Record that a person wants to see these ended tasks no more (B9); for a main agent."""
        self._append("hidden", {"tasks": list(task_ids)})

    def accept(self, letter: Letter) -> bool:
        """Record a message to this agent; False, and nothing written, when its id is known.

        Once it returns, the letter is delivered by a message that names it, in this process or after a restart.
        """
        if self.inbox.knows(letter.message_id):
            return False
        self._append("inbox", to_wire(letter))
        self.inbox.put(letter)
        return True

    def append_delivered(self, message_ids: Iterable[str]) -> None:
        """Record that these need no delivery any more: read otherwise, or withdrawn."""
        ids = [message_id for message_id in message_ids if not self.inbox.delivered(message_id)]
        if ids:
            self._append("delivered", {"ids": ids})
            self.inbox.deliver(ids)

    async def sync(self) -> None:
        """Return when everything recorded would survive a loss of power; about 0.2 ms, in a thread."""
        await self._journal.sync()

    def close(self) -> None:
        """Let go of the file; appending later is an error. Closing twice is nothing."""
        self._journal.close()
        self._binding.closed()

    def _append(self, kind: Kind, body: Mapping[str, Any]) -> None:
        binding = self._binding
        record = Record(self._next, binding.fence.epoch, binding.now(), kind, body)
        self._journal.append(encode(record))
        self._next += 1
        binding.observe(record)
