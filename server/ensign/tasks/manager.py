"""Owns every subagent's asyncio task from birth to death: start, queue, detach, stop, wrap up, message, resume."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from ensign.protocol import events
from ensign.protocol.errors import ToolError, UserError
from ensign.protocol.messages import UserMessage
from ensign.protocol.settings import Settings
from ensign.protocol.tasks import Envelope, TaskRecord, TaskState
from ensign.protocol.value import frozen
from ensign.runtime.agent import Agent
from ensign.tasks.colors import Colors
from ensign.tasks.death import Step, die
from ensign.tasks.envelope import envelope_of
from ensign.tasks.names import Names
from ensign.tasks.order import Order
from ensign.tasks.places import Places
from ensign.tasks.record import first_record, spec_of
from ensign.tasks.run import Birth, Conditions, end_of, live
from ensign.tasks.task import BY_PERSON, Stop, Task, TaskEnd

PERSON = "a person"
KEPT = 100
KEPT_S = 3600.0
"""Ended tasks that stay in memory: so many, and so long (B9)."""

log = logging.getLogger(__name__)


@frozen
class Surroundings:
    """What the manager needs of the session it works for.

    Attributes:
        born: takes what must be taken at once (a fork copies its parent's conversation as it is now), and returns what
            builds the task's agent and its transcript.
        reborn: the same from the transcript (B4), which goes on with what waits there and with the message.
        release: what a run held, as named steps in the order of letting go (L2).
        finish: makes the end durable and tells the parent.
        tell: tells the parent of an end that was recorded without.
        closed: lets go of the transcript, after the last event.
        accept: makes a message to a task durable; returns it as it is to be delivered.
        unannounced: whether the parent has yet to hear of the task's end.
        clock: Unix seconds.
    """

    settings: Callable[[], Settings]
    emit: Callable[[events.Event], None]
    born: Callable[[Task, Order, Agent], Callable[[], Awaitable[Birth]]]
    reborn: Callable[[Task, UserMessage | None], Awaitable[Birth]]
    release: Callable[[Task], Sequence[Step]]
    finish: Callable[[Task, TaskState, Envelope], None]
    tell: Callable[[Task, Envelope], None]
    closed: Callable[[Task], None]
    accept: Callable[[Task, UserMessage], UserMessage]
    unannounced: Callable[[Task], bool]
    output_file: Callable[[str], str]
    session_left: Callable[[], int | None]
    clock: Callable[[], float]


class TaskManager:
    """All tasks of one session."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._tasks: dict[str, Task] = {}
        self._names = Names(lambda: list(self._tasks.values()))
        self._owners: set[asyncio.Task[None]] = set()
        self._colors = Colors()
        self._spawned = 0
        self.places = Places(lambda: around.settings().subagents.max_running)

    @property
    def tasks(self) -> Mapping[str, Task]:
        """Every task in memory by id, oldest first."""
        self._sweep()
        return self._tasks

    def records(self) -> tuple[TaskRecord, ...]:
        """Every such task's record, oldest first."""
        return tuple(task.record for task in self.tasks.values())

    def active(self) -> list[Task]:
        """The tasks that have not ended."""
        return [task for task in self._tasks.values() if not task.state.terminal]

    def find(self, identifier: str) -> Task | None:
        """Return the task with this id, name or short id."""
        task = self._tasks.get(self._names.holder(identifier) or identifier)
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
        self._names.refuse_taken(order.name)
        spec = spec_of(order, parent, settings)
        record = first_record(
            spec,
            color=self._colors.of(order.definition),
            output_file=self._around.output_file(spec.task_id),
            taken={one.record.short_id for one in self._tasks.values()},
            now=self._around.clock(),
        )
        task = Task(record, spec, order.definition, emit=self._around.emit, clock=self._around.clock)
        for note in order.notes:
            task.facts.note(note)
        if order.background:
            task.detached.set()
        birth = self._around.born(task, order, parent)
        self._spawned += 1
        self._tasks[task.id] = task
        task.tell()
        self._start(task, birth)
        return task

    def _start(self, task: Task, born: Callable[[], Awaitable[Birth]]) -> None:
        async def birth() -> Birth:
            birth = await born()
            self._names.give(task)
            return birth

        conditions = Conditions(
            places=self.places,
            born=birth,
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
        state, reason = end_of(task, run)
        if text := "".join(task.partial).strip():
            task.report = text
        for fault in await die(self._around.release(task)):
            task.facts.error(fault)
        # From here to `ended` nothing waits: a message is either in the inbox now, or finds a task that has ended.
        undelivered = task.inbox.close()
        stop = task.told_to_stop
        if undelivered and stop is not None and stop.state is TaskState.STOPPED:
            task.facts.note(f"{len(undelivered)} message(s) to it came too late to be read before it was stopped")
        try:
            self._end(task, state, reason)
            self._around.closed(task)
        except Exception:  # nobody awaits this; whoever waits for the end must not wait for ever
            log.exception("the end of task %s went wrong", task.record.short_id)
        finally:
            task.let_go()
            self._sweep()
        if undelivered and stop is None and task.born:
            self._go_on(task, None)

    def _end(self, task: Task, state: TaskState, reason: str) -> None:
        envelope = envelope_of(task, state, reason, self._around.settings().subagents.report_chars)
        task.last = envelope
        try:
            self._around.finish(task, state, envelope)
        except Exception as error:  # whatever is wrong with the disk, the task still reaches its state
            log.exception("the end of task %s was not recorded", task.record.short_id)
            task.facts.error(f"its end was not recorded: {error}")
        task.move(
            state,
            reason=reason,
            ended_at=self._around.clock(),
            activity="",
            waiting_for=None,
            waiting_since=None,
            resumable=task.born,
            report_tokens=envelope.report_tokens,
            envelope=envelope,
        )

    async def stop(self, task: Task, by: str) -> bool:
        """Stop a task and return once its run is dead; False when it had ended already."""
        if task.state.terminal:
            return False
        task.cancel(Stop(state=TaskState.STOPPED, reason=f"stopped by {by}"))
        await task.ended.wait()
        return True

    def interrupt_all(self, reason: str) -> list[Task]:
        """Begin to end every run because what they run in goes away; return those whose end is to be awaited."""
        active = self.active()
        for task in active:
            task.cancel(Stop(state=TaskState.INTERRUPTED, reason=reason))
        return active

    def wrap_up(self, task: Task) -> None:
        """Have a task report now, with tools off.

        Raises:
            UserError: it does not run.
        """
        if task.state.terminal:
            raise UserError(f"task {task.record.short_id} has ended ({task.state.value})")
        task.interrupt.request("a person asked it to wrap up")

    async def send(self, task: Task, message: UserMessage) -> str:
        """Deliver a message: at a running task's next step, else by resuming it; return what was done, in words.

        Raises:
            ToolError: a person stopped the task, and only a person may start it again (B3).
        """
        stop = task.told_to_stop
        if stop is not None and stop.reason == BY_PERSON and message.origin != "person":
            raise ToolError(f"task {task.record.short_id} was stopped by a person; only a person can resume it")
        await task.ready.wait()
        if not task.state.terminal and task.inbox.put(self._around.accept(task, message)):
            return f"delivered to {task.record.short_id} at its next step"
        ended = task.record.state.value
        self.resume(task, message)
        await task.ready.wait()
        return f"{task.record.short_id} had ended ({ended}) and was resumed with the message"

    def resume(self, task: Task, message: UserMessage | None) -> None:
        """Start another run of an ended task from its transcript, with fresh limits (B4).

        Raises:
            UserError: it runs, never began, or has completed and there is nothing to go on with.
        """
        if not task.state.terminal:
            raise UserError(f"task {task.record.short_id} has not ended ({task.state.value})")
        if not task.born:
            raise UserError(
                f"task {task.record.short_id} never came to its first step ({task.record.reason}); start it anew"
            )
        if message is None and task.state is TaskState.COMPLETED:
            raise UserError(f"task {task.record.short_id} has completed; resuming it needs a message")
        self._go_on(task, message)

    def _go_on(self, task: Task, message: UserMessage | None) -> None:
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
        self._start(task, lambda: self._around.reborn(task, message))

    def background(self, task: Task, by: str) -> None:
        """Move a foreground run to the background.

        Raises:
            UserError: background work is switched off, or the run is over.
        """
        if not self._around.settings().subagents.background:
            raise UserError("background work is switched off (subagents.background)")
        if task.state.terminal:
            raise UserError(f"task {task.record.short_id} has ended ({task.state.value})")
        task.detach(by)

    async def abandon(self, task: Task, over: asyncio.Event, by: str) -> None:
        """The call that waited for a run (until `over`) is gone: stop the run, unless it was let go.

        A notification tells the parent of its end, be it past or to come: the call's result will not say it.
        """
        if over.is_set():
            if task.last is not None and not task.notification:
                self._around.tell(task, task.last)
        elif not task.detached.is_set():
            task.detached.set()
            await self.stop(task, by)

    def adopt(self, task: Task) -> None:
        """Take in a task of an earlier process, ended or interrupted."""
        self._tasks[task.id] = task
        self._names.give(task)
        self._colors.keep(task.record.agent, task.record.color)

    def count(self, spawned: int) -> None:
        """Count subagents that earlier processes started in this session."""
        self._spawned += spawned

    def named(self, name: str, meant: Task) -> str:
        """Say whom a name does not mean any more; empty where nothing can be mistaken."""
        return self._names.note(name, meant)

    def rename(self, task: Task, name: str) -> None:
        """Give a task another name.

        Raises:
            ToolError: a running task has it.
        """
        if name != task.record.name:
            self._names.refuse_taken(name)
            self._names.free(task)
            task.change(name=name)
            self._names.give(task)

    def clear(self, hide: Callable[[Sequence[Task]], None]) -> None:
        """Drop every ended task from memory, once `hide` has made that last."""
        ended = [task for task in self._tasks.values() if task.state.terminal]
        hide(ended)
        for task in ended:
            self._forget(task)

    def _forget(self, task: Task) -> None:
        """Drop an ended task from memory; disk keeps it."""
        self._tasks.pop(task.id, None)
        self._names.free(task)

    def _sweep(self) -> None:
        """Forget what ended long ago, or too many ends ago, and was announced (B9)."""
        ended = [one for one in self._tasks.values() if one.state.terminal and not self._around.unannounced(one)]
        ended.sort(key=lambda one: one.record.ended_at or 0.0)
        oldest = self._around.clock() - KEPT_S
        surplus = len(ended) - KEPT
        for at, task in enumerate(ended):
            if at < surplus or (task.record.ended_at or 0.0) < oldest:
                self._forget(task)
