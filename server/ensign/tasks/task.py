"""A live task: its record, and the handles by which its run is steered. Owned by the manager."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, Literal

from ensign.protocol import events
from ensign.protocol.definition import AgentDefinition
from ensign.protocol.messages import AssistantMessage
from ensign.protocol.run import RunSpec
from ensign.protocol.tasks import Envelope, TaskRecord, TaskState
from ensign.protocol.value import frozen
from ensign.runtime.agent import Agent
from ensign.runtime.inbox import Inbox
from ensign.runtime.interrupt import Interrupt
from ensign.runtime.limits import Meter, Stopwatch
from ensign.tasks.facts import FactsCollector
from ensign.tasks.places import Places
from ensign.tasks.states import checked

BY_PERSON = "stopped by a person"
"""Only a person takes such a stop back (B3)."""

FLUSH_S = 0.05
"""How long changes of activity gather before they are told; changes of state are told at once."""


@frozen
class Stop:
    """That a run was told to end: `stopped` by somebody, or `interrupted` because what it runs in goes away."""

    state: Literal[TaskState.STOPPED, TaskState.INTERRUPTED]
    reason: str


class Task:
    """One subagent from birth to death; `record` is what clients see of it.

    `ready` is set once the run has a transcript, or has ended without; `ended` after death is complete (L2);
    `detached` when the run belongs to nobody's call any more.
    """

    def __init__(
        self,
        record: TaskRecord,
        spec: RunSpec,
        definition: AgentDefinition | None,
        *,
        emit: Callable[[events.Event], None],
        clock: Callable[[], float],
    ) -> None:
        self.record = record
        self.spec = spec
        self.definition = definition
        self.facts = FactsCollector()
        self.agent: Agent | None = None
        self.inbox = Inbox()
        self.interrupt = Interrupt()
        self.stopwatch: Stopwatch | None = None
        self.meter: Meter | None = None
        self.run: asyncio.Task[TaskEnd] | None = None
        self.ready = asyncio.Event()
        self.ended = asyncio.Event()
        self.detached = asyncio.Event()
        self.told_to_stop: Stop | None = None
        self.born = False
        """Whether it has a conversation, which another run can go on with."""
        self.notification = ""
        """Under which id its last end is announced to its parent; empty when it is not."""
        self.last: Envelope | None = None
        """What its last end handed back, also once it goes on."""
        self.report = ""
        self.partial: list[str] = []
        self._emit = emit
        self._clock = clock
        self._flush: asyncio.TimerHandle | None = None
        self._waits = 0
        self._door = asyncio.Lock()
        self._pause = AsyncExitStack()

    @property
    def id(self) -> str:
        """The task's id."""
        return self.record.id

    @property
    def state(self) -> TaskState:
        """Where the task stands."""
        return self.record.state

    @property
    def who(self) -> events.Who:
        """Whose events its agent's are."""
        return {"agent_id": self.record.agent_id, "task_id": self.record.id}

    def move(self, state: TaskState, **fields: Any) -> None:
        """Go to another state and tell everybody at once."""
        self.change(state=checked(self.record.state, state), **fields)
        self.tell()

    def change(self, **fields: Any) -> None:
        """Change the record; told within `FLUSH_S`."""
        self.record = replace(self.record, last_event_at=self._clock(), **fields)
        if self._flush is None:
            self._flush = asyncio.get_running_loop().call_later(FLUSH_S, self.tell)

    def tell(self) -> None:
        """Publish the record as it is now."""
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        self._emit(events.TaskChanged(**self.who, record=self.record))

    def revive(self) -> None:
        """Make ready for another run: new handles, the same id, facts and record."""
        self.inbox = Inbox()
        self.interrupt = Interrupt()
        self.ready = asyncio.Event()
        self.ended = asyncio.Event()
        self.told_to_stop = None
        self.report = ""
        self.partial = []

    def cancel(self, stop: Stop) -> None:
        """Tell the run to end. The first to tell is the one that counts, but that a person's word is final (B3)."""
        first = self.told_to_stop is None
        if first or stop.reason == BY_PERSON:
            self.told_to_stop = stop
        if first and self.run is not None:
            self.move(TaskState.STOPPING, activity="stopping")
            self.run.cancel()

    def let_go(self) -> None:
        """The run is dead: keep the record, and nothing that it worked with."""
        self.agent = self.run = self.meter = self.stopwatch = None
        self.report = ""
        self.partial = []
        self.ready.set()
        self.ended.set()

    def detach(self, reason: str) -> None:
        """Let the run go on without the call that started it; owner changes, nothing else does (B2)."""
        if not self.detached.is_set():
            self.change(background=True, reason=reason)
            self.tell()
            self.detached.set()

    @asynccontextmanager
    async def waiting(self, what: str, places: Places) -> AsyncIterator[None]:
        """Be `waiting` for a person while inside; clocks stand still and the place is lent to others (A10, L1).

        Neighbouring calls may ask side by side: the first begins the wait, and whoever is last ends it.
        """
        async with self._door:
            self._waits += 1
            if self._waits == 1:
                if self.state is TaskState.RUNNING:
                    self.move(TaskState.WAITING, waiting_for=what, waiting_since=self._clock())
                if self.stopwatch is not None:
                    self._pause.enter_context(self.stopwatch.paused())
                await self._pause.enter_async_context(places.lent())
        try:
            yield
        finally:
            self._waits -= 1
            async with self._door:
                if self._waits == 0:
                    await self._pause.aclose()
                    if self.state is TaskState.WAITING:
                        self.move(TaskState.RUNNING, waiting_for=None, waiting_since=None)

    def emit(self, event: events.Event) -> None:
        """Pass on an event of the task's agent, and take in what the record says of it."""
        self._emit(event)
        match event:
            case events.StepStarted():
                self.change(steps=self.record.steps + 1, activity="thinking")
            case events.ToolStarted(activity=activity):
                self.change(activity=activity)
            case events.ToolFinished():
                self.facts.read(event)
                self.change(tool_calls=self.facts.calls, files_changed=self.facts.files_changed)
            case events.UsageReported(usage=usage):
                if self.meter is not None:
                    self.meter.add(usage)
                self.change(usage=self.record.usage + usage)
            case events.MessageAdded(message=AssistantMessage() as message) if message.text.strip():
                self.report = message.text.strip()
            case _:
                pass


TaskEnd = tuple[TaskState, str]
"""The terminal state a run came to by itself, and the reason."""
