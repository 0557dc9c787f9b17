"""What a transcript comes to: the conversation, ready to be sent, and where the run stood. Same bytes, same answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, get_args

from ensign.protocol import events
from ensign.protocol.approvals import ApprovalRequest
from ensign.protocol.codec import decode
from ensign.protocol.errors import UserError
from ensign.protocol.messages import Message, ToolCall, ToolResult, Usage
from ensign.protocol.run import LeftOpen
from ensign.protocol.tasks import Envelope, TaskRecord, TaskState
from ensign.protocol.value import frozen
from ensign.store.head import Head
from ensign.store.inbox import Inbox, Letter
from ensign.store.messages import decode_message
from ensign.store.records import Loaded, Record
from ensign.store.repair import Step, left_open, open_calls, sendable, unknown_calls

Json = Mapping[str, Any]
T = TypeVar("T")


@frozen
class Replay:
    """An agent as its transcript has it.

    Attributes:
        history: sendable as it stands (every call has exactly one result).
        begun: what the agent was started with has joined its conversation.
        todos, usage, steps, tool_calls, tool_failures: over all runs.
        inbox: what was accepted and is not in the conversation, and which ids are known.
        state: a terminal state, or RUNNING when no end was recorded after the last run began.
        ended_at: Unix seconds of that end.
        notify: the id under which the parent is told of that end.
        envelope: what that end handed back.
        record: the last whole record of the task, as the panel showed it; its state may be behind `state`.
        partial: what the broken step had said; empty once another message was added.
        open_turn: the turn that began and did not end.
        open_calls: calls at the end that nothing has answered; `history` says so of each.
        unknown: calls with effects whose outcome nobody knows.
        left_open: calls at the end that can go on as if nothing had happened, since a person was still being asked;
            the last message of `history` then is what stands for their results.
        approvals: questions of the last run that nobody answered.
        turn_reason, turn_ended_at: of the last turn that ended, and when, in Unix seconds.
        hidden: tasks that a person wants to see no more, by id.
        last_seq: the highest event number.
        notices: what was wrong with the file, in words for people.
    """

    head: Head
    history: list[Message]
    begun: bool
    todos: tuple[events.Todo, ...]
    usage: Usage
    steps: int
    tool_calls: int
    tool_failures: int
    inbox: Inbox
    state: TaskState
    ended_at: float | None
    notify: str | None
    envelope: Envelope | None
    record: TaskRecord | None
    partial: str
    open_turn: str | None
    open_calls: tuple[ToolCall, ...]
    unknown: tuple[ToolCall, ...]
    left_open: LeftOpen | None
    approvals: tuple[ApprovalRequest, ...]
    turn_reason: str
    turn_ended_at: float | None
    title: str
    hidden: frozenset[str]
    last_seq: int
    notices: tuple[str, ...]


def replay(head: Head, loaded: Loaded, inherited: Sequence[Record] = ()) -> Replay:
    """Fold a transcript's records; `inherited` are the parent's, for a fork's conversation alone."""
    fold = _Fold(head)
    fold.inherit(inherited)
    for record in loaded.records:
        fold.take(record)
    return fold.result(loaded.notices)


@cache
def _event_classes() -> Mapping[str, type[events.Event]]:
    return {cls.kind: cls for cls in get_args(events.Event)}


def decode_event(value: Json) -> events.Event | None:
    """Return a recorded event; None for one that this version does not know."""
    cls = _event_classes().get(str(value.get("kind")))
    if cls is None:
        return None
    try:
        return decode(cls, value, what="event")
    except UserError:
        return None


class _Fold:
    """The records so far."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self.timeline: list[Step] = []
        self.inbox = Inbox()
        self.notices: list[str] = []
        self.latest: dict[str, Json] = {}
        self.approvals: dict[str, Json] = {}
        self.usage = Usage()
        self.steps = self.tool_calls = self.tool_failures = self.last_seq = 0
        self.end: Record | None = None
        self.partial = self.title = ""
        self.open_turn: str | None = None
        self.turn_reason = ""
        self.turn_ended_at: float | None = None
        self.hidden: set[str] = set()
        self.begun = False

    def take(self, record: Record) -> None:
        """Fold one of the agent's own records."""
        try:
            self.conversation(record)
            self.own(record)
            self.letters(record)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self.notices.append(f"record {record.n} ({record.kind}) cannot be read: {error}")

    def inherit(self, records: Sequence[Record]) -> None:
        """Begin with the parent's conversation."""
        for record in records:
            try:
                self.conversation(record)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                self.notices.append(f"the parent's record {record.n} ({record.kind}) cannot be read: {error}")

    def conversation(self, record: Record) -> None:
        """What bears on the messages: the part of a transcript that a fork inherits."""
        body = record.body
        match record.kind:
            case "message":
                self.timeline.append(Step(decode_message(body["message"])))
            case "history":
                self.timeline = [Step(decode_message(message)) for message in body["messages"]]
            case "intent" if self.timeline:
                self.timeline[-1].intended.add(body["callId"])
            case "event" if self.timeline:
                event = body["event"]
                if event["kind"] == "tool_started":
                    self.timeline[-1].started.add(event["call"]["callId"])
                elif event["kind"] == "tool_finished":
                    result = ToolResult(call_id=event["callId"], text=event["text"], is_error=event["isError"])
                    self.timeline[-1].finished[result.call_id] = result
            case _:
                # The rest says nothing of the conversation, nor do kinds that a newer version adds.
                pass

    def own(self, record: Record) -> None:
        """What the agent itself has, and a fork does not inherit."""
        body = record.body
        if type(seq := body.get("seq")) is int:
            self.last_seq = max(self.last_seq, seq)
        match record.kind:
            case "message":
                self.begun = True
                self.partial = ""
            case "event" if body["event"]["agentId"] == self.head.agent_id:
                self.event(body["event"])
                if body["event"]["kind"] == "turn_ended":
                    self.turn_reason, self.turn_ended_at = body["event"]["reason"], record.at
            case "partial":
                self.partial = body["text"]
            case "head" if record.n:
                self.head = decode(Head, body, what="head")
            case "title":
                self.title = body["title"]
            case "hidden":
                self.hidden.update(body["tasks"])
            case "run":
                self.end = None
                self.approvals.clear()
            case "end":
                self.end = record
                self.open_turn = None
            case _:
                pass

    def letters(self, record: Record) -> None:
        """What was accepted for the agent, and what has joined its conversation."""
        body = record.body
        match record.kind:
            case "inbox":
                self.inbox.put(Letter(message_id=body["messageId"], what=body["what"], body=body["body"]))
            case "delivered":
                self.inbox.deliver(body["ids"])
            case "message":
                self.inbox.deliver(body["message"].get("delivers", ()))
            case _:
                pass

    def event(self, event: Json) -> None:
        """Count, and keep the last of what is told whole."""
        match event["kind"]:
            case "turn_started":
                self.open_turn = event["turnId"]
            case "turn_ended" | "turn_failed":
                self.open_turn = None
                self.partial = event.get("partialText") or self.partial
            case "step_started":
                self.steps += 1
            case "tool_finished":
                self.tool_calls += 1
                self.tool_failures += event["isError"]
            case "usage_reported":
                self.usage += decode_usage(event["usage"])
            case "todo_changed" | "task_changed" as kind:
                self.latest[kind] = event
            case "approval_requested":
                self.approvals[event["request"]["id"]] = event["request"]
            case "approval_resolved":
                self.approvals.pop(event["approvalId"], None)
            case _:
                pass

    def known(self, cls: type[T], values: Iterable[Any]) -> Iterator[T]:
        """Decode what can be; another version may have meant something else by the name."""
        for value in values:
            try:
                yield decode(cls, value, what=cls.__name__)
            except UserError as error:
                self.notices.append(str(error))

    def result(self, notices: Sequence[str]) -> Replay:
        """The fold's values, with the conversation made sendable."""
        asked = {request.get("callId", "") for request in self.approvals.values()}
        end, todos, task = self.end, self.latest.get("todo_changed"), self.latest.get("task_changed")
        envelope = end.body.get("envelope") if end else None
        return Replay(
            head=self.head,
            history=sendable(self.timeline),
            begun=self.begun,
            todos=tuple(self.known(events.Todo, todos["todos"])) if todos else (),
            usage=self.usage,
            steps=self.steps,
            tool_calls=self.tool_calls,
            tool_failures=self.tool_failures,
            inbox=self.inbox,
            state=TaskState(end.body["state"]) if end else TaskState.RUNNING,
            ended_at=end.at if end else None,
            notify=end.body.get("notify") if end else None,
            envelope=next(self.known(Envelope, [envelope]), None) if envelope else None,
            record=next(self.known(TaskRecord, [task["record"]]), None) if task else None,
            partial=self.partial,
            open_turn=self.open_turn,
            open_calls=open_calls(self.timeline),
            unknown=unknown_calls(self.timeline),
            left_open=left_open(self.timeline, asked),
            approvals=tuple(self.known(ApprovalRequest, self.approvals.values())),
            turn_reason=self.turn_reason,
            turn_ended_at=self.turn_ended_at,
            title=self.title,
            hidden=frozenset(self.hidden),
            last_seq=self.last_seq,
            notices=(*notices, *self.notices),
        )


def decode_usage(value: Json) -> Usage:
    """Return what `codec.to_wire` made of a `Usage`."""
    return Usage(
        input=value["input"],
        output=value["output"],
        cache_write=value["cacheWrite"],
        cache_read=value["cacheRead"],
    )
