"""What a session puts on disk, and what it finds there: the store as the session uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ensign.protocol.codec import to_wire
from ensign.protocol.events import Event
from ensign.protocol.ids import new_id
from ensign.protocol.messages import Message, ToolCall, UserMessage
from ensign.protocol.tasks import Envelope, TaskState
from ensign.runtime.agent import Agent
from ensign.store.head import Head, Inherits
from ensign.store.inbox import Letter
from ensign.store.replay import Replay
from ensign.store.session import SessionStore
from ensign.store.transcript import Transcript
from ensign.tasks.task import Task
from ensign.workspace.history import History


class Records:
    """The transcripts of one session by agent; the main agent's first.

    Attributes:
        output_dir: where reports and spilled outputs go; the fallback is used when the home cannot be written.
    """

    def __init__(self, store: SessionStore, fallback: Path, main: tuple[Transcript, Replay] | None) -> None:
        self.session_id = store.session_id
        self.output_dir = store.output_dir or fallback
        self._before_dir = store.output_dir.parent / "before" if store.output_dir is not None else None
        self._store = store
        self._transcripts: dict[str, Transcript] = {}
        self._main_id = ""
        self.past = main[1] if main is not None else None
        if main is not None:
            self._main_id = main[1].head.agent_id
            self._transcripts[self._main_id] = main[0]

    @property
    def store(self) -> SessionStore:
        """The store below."""
        return self._store

    @property
    def main(self) -> Transcript:
        """The main agent's transcript."""
        return self._transcripts[self._main_id]

    def history(self, agent_id: str) -> History | None:
        """What the files were before this agent changed them; None when nothing can be written."""
        return None if self._before_dir is None else History(self._before_dir / agent_id)

    def keep(self, seq: int, event: Event) -> None:
        """Make an event durable: in its agent's transcript or, while it has none, in the main agent's."""
        self._store.append_event(seq, event)

    def begin_main(self, agent: Agent) -> None:
        """Begin the main agent's transcript, unless it has one."""
        self._main_id = agent.context.agent_id
        if self._main_id not in self._transcripts:
            self._transcripts[self._main_id] = self._store.create(head_of(agent, None, None))

    def renewed(self, agent: Agent) -> None:
        """Record that the main agent's prompt and tools were rendered anew, before anything was sent."""
        self.main.append_head(head_of(agent, None, None))

    def begin_task(self, task: Task, agent: Agent, *, fork_of: Agent | None) -> None:
        """Begin a subagent's transcript; a fork's refers to its parent's up to now instead of copying it."""
        inherits = None
        if fork_of is not None:
            inherits = Inherits(agent_id=fork_of.context.agent_id, n=self.main.position)
        self._transcripts[agent.context.agent_id] = self._store.create(head_of(agent, task, inherits))

    async def reopen(self, task: Task) -> Replay:
        """Go on with a subagent's transcript; its next run begins with fresh limits (B4)."""
        opening = asyncio.ensure_future(self._store.reopen(task.record.agent_id))
        try:
            transcript, past = await asyncio.shield(opening)
        except asyncio.CancelledError:
            # The thread goes on to its end, and what it opens must not stay open.
            await asyncio.wait({opening})
            if opening.exception() is None:
                opening.result()[0].close()
            raise
        self._transcripts[task.record.agent_id] = transcript
        transcript.append_run(task.spec)
        return past

    async def at_hand(self, task: Task) -> None:
        """See that a run's end can be written, so that whoever was told of the task can still be told of it (B7).

        A run that was stopped before it went on has its transcript closed; one whose start failed has none yet.
        """
        agent_id = task.record.agent_id
        if agent_id in self._transcripts:
            return
        if agent_id in await asyncio.to_thread(self._store.agents):
            await self.reopen(task)
        else:
            self._transcripts[agent_id] = self._store.create(unborn(task))

    async def intend(self, agent_id: str, call: ToolCall) -> None:
        """Record that a call with effects is about to run; it survives a loss of power once this returns (B7)."""
        transcript = self._transcripts[agent_id]
        transcript.append_intent(call)
        await transcript.sync()

    def rewrite(self, agent_id: str, messages: Sequence[Message]) -> None:
        """Record that compaction put these messages in place of all before."""
        self._transcripts[agent_id].append_history(messages)

    def partial(self, agent_id: str, turn_id: str, text: str) -> None:
        """Keep what a broken step had said."""
        transcript = self._transcripts.get(agent_id)
        if transcript is not None and text:
            transcript.append_partial(turn_id, text)

    def end(self, task: Task, state: TaskState, envelope: Envelope, *, notify: str | None) -> None:
        """Record that a run is over; the task's transcript stays open for its last events."""
        transcript = self._transcripts.get(task.record.agent_id)
        if transcript is not None:
            transcript.append_end(state, envelope, notify=notify)

    def finish(self, task: Task) -> None:
        """Let go of a subagent's transcript."""
        transcript = self._transcripts.pop(task.record.agent_id, None)
        if transcript is not None:
            transcript.close()

    def accept_prompt(self, turn_id: str, text: str) -> None:
        """Make a person's prompt durable before it is acknowledged; the message that delivers it names `turn_id`."""
        self.main.accept(Letter(message_id=turn_id, what="message", body={"text": text}))

    def accept_message(self, task: Task, message: UserMessage) -> UserMessage:
        """Make a message to a subagent durable; what is returned delivers it."""
        letter = Letter(message_id=new_id(), what="message", body={"text": message.text, "origin": message.origin})
        self._transcripts[task.record.agent_id].accept(letter)
        return replace(message, delivers=(letter.message_id,))

    def message_of(self, letter: Letter) -> UserMessage:
        """The message that a letter was, to be delivered."""
        origin = letter.body.get("origin", "person")
        return UserMessage(text=str(letter.body["text"]), origin=origin, delivers=(letter.message_id,))

    def accept_notification(self, notification_id: str, envelope: Envelope) -> bool:
        """Make the news of a task's end durable; False when the main agent knows of it already."""
        return self.main.accept(Letter(message_id=notification_id, what="notification", body=to_wire(envelope)))

    def delivered(self, message_ids: tuple[str, ...]) -> None:
        """These need no delivery any more."""
        self.main.append_delivered(message_ids)

    def title(self, title: str) -> None:
        """Name the session."""
        self.main.append_title(title)

    def hide(self, tasks: Iterable[Task]) -> None:
        """Record that these are shown no more, in this process and later ones."""
        if task_ids := [task.id for task in tasks]:
            self.main.append_hidden(task_ids)

    async def write_report(self, task_id: str, text: str) -> None:
        """Put the whole report where the record says."""
        await self._store.write_report(task_id, text)

    def output_file(self, task_id: str) -> Path:
        """Where a task's report goes."""
        return self.output_dir / f"{task_id}.md"

    def close(self) -> None:
        """Let go of everything."""
        self._transcripts.clear()
        self._store.close()


def unborn(task: Task) -> Head:
    """What a conversation would have been started with, had the start not failed."""
    spec = task.spec
    return Head(
        session_id=spec.session_id,
        agent_id=spec.agent_id,
        cwd=spec.cwd,
        model=spec.model,
        system="",
        tools=(),
        cache_key="",
        spec=spec,
        born=False,
    )


def head_of(agent: Agent, task: Task | None, inherits: Inherits | None) -> Head:
    """What a conversation was started with."""
    return Head(
        session_id=agent.context.session_id,
        agent_id=agent.context.agent_id,
        cwd=str(agent.cwd),
        model=agent.conversation.model.id,
        system=agent.system,
        tools=agent.conversation.head.tools,
        cache_key=agent.conversation.head.cache_key,
        effort=agent.effort,
        spec=task.spec if task is not None else None,
        inherits=inherits,
    )
