"""Owns every subagent's asyncio task from birth to death: start, queue, detach, stop, wrap up, message, resume."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from ensign.protocol import events
from ensign.protocol.errors import ToolError, UserError
from ensign.protocol.messages import UserMessage
from ensign.protocol.settings import Settings
from ensign.protocol.tasks import Envelope, TaskRecord, TaskState
from ensign.runtime.agent import Agent
from ensign.tasks.colors import Colors
from ensign.tasks.death import Step, die
from ensign.tasks.envelope import envelope_of
from ensign.tasks.order import Order
from ensign.tasks.places import Places
from ensign.tasks.record import first_record, spec_of
from ensign.tasks.run import Birth, Conditions, end_of, live
from ensign.tasks.task import BY_PERSON, Stop, Task, TaskEnd

PERSON = "a person"
GO_ON = "This comes from the Ensign runtime: you were interrupted and go on now. Check what was left half done first."


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the manager needs of the session it works for.

    Attributes:
        born: builds the agent of a task (definition, tools, model, context).
        reborn: the same from its transcript, with the message it goes on with (B4).
        release: what a run held, as named steps in the order of letting go (L2).
        finish: makes the end durable and tells the parent; `closed` lets go of the transcript after the last event.
        clock: Unix seconds.
    """

    settings: Callable[[], Settings]
    emit: Callable[[events.Event], None]
    born: Callable[[Task, Order, Agent], Awaitable[Birth]]
    reborn: Callable[[Task, UserMessage], Awaitable[Birth]]
    release: Callable[[Task], list[Step]]
    finish: Callable[[Task, TaskState, Envelope], None]
    closed: Callable[[Task], None]
    output_file: Callable[[str], str]
    session_left: Callable[[], int | None]
    clock: Callable[[], float]


class TaskManager:
    """All tasks of one session."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._tasks: dict[str, Task] = {}
        self._names: dict[str, str] = {}
        self._owners: set[asyncio.Task[None]] = set()
        self._colors = Colors()
        self._spawned = 0
        self.places = Places(lambda: around.settings().subagents.max_running)

    @property
    def tasks(self) -> Mapping[str, Task]:
        """Every task by id, oldest first."""
        return self._tasks

    def records(self) -> tuple[TaskRecord, ...]:
        """Every task's record, oldest first."""
        return tuple(task.record for task in self._tasks.values())

    def active(self) -> list[Task]:
        """The tasks that have not ended."""
        return [task for task in self._tasks.values() if not task.state.terminal]

    def find(self, identifier: str) -> Task | None:
        """Return the task with this id, name or short id."""
        task = self._tasks.get(self._names.get(identifier, identifier))
        if task is not None:
            return task
        return next((one for one in self._tasks.values() if one.record.short_id == identifier), None)

    def spawn(self, order: Order, parent: Agent) -> Task:
        """Register a task and start its run, which may have to wait for a place.

        Raises:
            ToolError: the session's limit of spawns is reached, or the name is taken.
        """
        settings = self._around.settings()
        limit = settings.subagents.max_spawns
        if self._spawned >= limit:
            running = ", ".join(f"{one.record.agent} {one.record.short_id}" for one in self.active()) or "none"
            raise ToolError(
                f"this session has started {limit} subagents, its limit (subagents.maxSpawns); running now: {running}. "
                "A new session starts afresh; in this one, do the work yourself"
            )
        self._refuse_taken_name(order.name)
        self._spawned += 1
        spec = spec_of(order, parent, settings)
        taken = {one.record.short_id for one in self._tasks.values()}
        record = first_record(
            spec,
            color=self._colors.of(order.definition),
            output_file=self._around.output_file(spec.task_id),
            taken=taken,
            now=self._around.clock(),
        )
        task = Task(record, spec, order.definition, emit=self._around.emit, clock=self._around.clock)
        for note in order.notes:
            task.facts.note(note)
        if order.background:
            task.detached.set()
        self._tasks[task.id] = task
        if order.name:
            self._names[order.name] = task.id
        task.tell()
        self._start(task, lambda task: self._around.born(task, order, parent))
        return task

    def _refuse_taken_name(self, name: str | None) -> None:
        holder = self._tasks.get(self._names.get(name or "", ""))
        if holder is not None and not holder.state.terminal:
            raise ToolError(f"the name {name!r} belongs to task {holder.record.short_id}, which still runs")

    def _start(self, task: Task, born: Callable[[Task], Awaitable[Birth]]) -> None:
        conditions = Conditions(
            places=self.places,
            born=born,
            settings=self._around.settings().subagents,
            session_left=self._around.session_left,
            clock=self._around.clock,
        )
        task.run = asyncio.create_task(live(task, conditions), name=f"run {task.record.short_id}")
        owner = asyncio.create_task(self._own(task, task.run), name=f"task {task.record.short_id}")
        self._owners.add(owner)
        owner.add_done_callback(self._owners.discard)

    async def _own(self, task: Task, run: asyncio.Task[TaskEnd]) -> None:
        """See a run to its end and through its death; nothing cancels this but the end of the process."""
        await asyncio.wait({run})
        undelivered = task.inbox.close()
        state, reason = end_of(task, run)
        if text := "".join(task.partial).strip():
            task.report = text
        for fault in await die(self._around.release(task)):
            task.facts.error(fault)
        envelope = envelope_of(task, state, reason, self._around.settings().subagents.report_chars)

        async def finish() -> None:
            self._around.finish(task, state, envelope)

        for fault in await die([("end", finish)]):
            task.facts.error(fault)
        task.move(
            state,
            reason=reason,
            ended_at=self._around.clock(),
            activity="",
            waiting_for=None,
            waiting_since=None,
            resumable=True,
            report_tokens=envelope.report_tokens,
            envelope=envelope,
        )
        self._around.closed(task)
        task.agent = None
        task.ended.set()
        if undelivered and task.stopped_by != PERSON:
            text = "\n\n".join(message.text for message in undelivered)
            self.resume(task, replace(undelivered[-1], text=text))

    async def stop(self, task: Task, by: str) -> bool:
        """Stop a task and return once its run is dead; False when it had ended already."""
        if task.state.terminal or task.run is None:
            return False
        _cancel(task, task.run, Stop(state=TaskState.STOPPED, reason=f"stopped by {by}"))
        await task.ended.wait()
        return True

    def interrupt_all(self, reason: str) -> list[Task]:
        """Begin to end every run because what they run in goes away; return those whose end is to be awaited."""
        active = self.active()
        for task in active:
            if task.run is not None:
                _cancel(task, task.run, Stop(state=TaskState.INTERRUPTED, reason=reason))
        return active

    def wrap_up(self, task: Task) -> None:
        """Have a task report now, with tools off.

        Raises:
            UserError: it does not run.
        """
        if task.state.terminal:
            raise UserError(f"task {task.record.short_id} has ended ({task.state.value})")
        task.interrupt.request("a person asked it to wrap up")

    def send(self, task: Task, message: UserMessage) -> str:
        """Deliver a message: at a running task's next step, else by resuming it; return what was done, in words.

        Raises:
            ToolError: a person stopped the task, and only a person may start it again (B3).
        """
        if task.inbox.put(message):
            return f"delivered to {task.record.short_id} at its next step"
        if task.stopped_by == PERSON and message.origin != "person":
            raise ToolError(f"task {task.record.short_id} was stopped by a person; only a person can resume it")
        self.resume(task, message)
        return f"{task.record.short_id} had ended ({task.record.state.value}) and was resumed with the message"

    def resume(self, task: Task, message: UserMessage | None) -> None:
        """Start another run of an ended task from its transcript, with fresh limits (B4).

        Raises:
            UserError: it runs, or has completed and there is nothing to go on with.
        """
        if not task.state.terminal:
            raise UserError(f"task {task.record.short_id} has not ended ({task.state.value})")
        if message is None and task.state is TaskState.COMPLETED:
            raise UserError(f"task {task.record.short_id} has completed; resuming it needs a message")
        go_on = message or UserMessage(text=GO_ON, origin="runtime")
        task.revive()
        task.move(
            TaskState.QUEUED,
            reason="",
            ended_at=None,
            activity="resuming",
            resumable=False,
            background=True,
            envelope=None,
        )
        task.detached.set()
        self._start(task, lambda task: self._around.reborn(task, go_on))

    def background(self, task: Task, by: str) -> None:
        """Move a foreground run to the background.

        Raises:
            UserError: background work is switched off.
        """
        if not self._around.settings().subagents.background:
            raise UserError("background work is switched off (subagents.background)")
        task.detach(by)

    def adopt(self, task: Task) -> None:
        """Take in a task of an earlier process, ended or interrupted."""
        self._tasks[task.id] = task
        if task.record.name:
            self._names[task.record.name] = task.id
        self._spawned += 1

    def rename(self, task: Task, name: str) -> None:
        """Give a task another name.

        Raises:
            ToolError: a running task has it.
        """
        self._refuse_taken_name(name)
        for old in [old for old, holder in self._names.items() if holder == task.id]:
            del self._names[old]
        self._names[name] = task.id
        task.change(name=name)

    def forget(self, task: Task) -> None:
        """Drop an ended task from memory; disk keeps it."""
        if task.state.terminal:
            self._tasks.pop(task.id, None)
            for name in [name for name, holder in self._names.items() if holder == task.id]:
                del self._names[name]

    def clear(self) -> None:
        """Drop every ended task from memory."""
        for task in [task for task in self._tasks.values() if task.state.terminal]:
            self.forget(task)


def _cancel(task: Task, run: asyncio.Task[TaskEnd], stop: Stop) -> None:
    """Tell a run to end; the first to tell is the one that counts."""
    if task.told_to_stop is None:
        task.told_to_stop = stop
        task.move(TaskState.STOPPING, activity="stopping")
        run.cancel()
