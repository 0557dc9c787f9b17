"""The commands of `contract.md`, one method each: values in, values out. Faces decode, call, encode."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from ensign.definitions.catalogue import Definitions, to_listing
from ensign.models.catalog import Catalog
from ensign.models.local import find_models
from ensign.protocol import wire
from ensign.protocol.approvals import Answer
from ensign.protocol.errors import UserError
from ensign.protocol.setup import AgentCreate, AgentCreated, DoctorPage, ModelList, SecretSet
from ensign.protocol.tasks import TaskRecord
from ensign.protocol.undo import FileBefore, TaskBefore, TaskUndone
from ensign.protocol.usage import UsageGet, UsageListed
from ensign.protocol.value import frozen
from ensign.protocol.worktree import WorktreeDiscarded, WorktreeMerged
from ensign.session import worktrees
from ensign.session.context import with_context, with_place
from ensign.session.doctor import page
from ensign.session.new_agents import NewAgents
from ensign.session.session import Session
from ensign.session.sessions import Sessions, go_on
from ensign.session.snapshot import snapshot_of
from ensign.session.undo import text_before, undo_task
from ensign.store.ledger import summed
from ensign.store.store import Store
from ensign.tasks.manager import PERSON
from ensign.tasks.order import Order, unknown_agent
from ensign.tasks.task import Task


@frozen
class Api:
    """What a client may ask for. Every method raises `UserError` for what the client must mend."""

    sessions: Sessions
    store: Store
    definitions: Callable[[], Definitions]
    models: Catalog
    default_cwd: Path
    new_agents: NewAgents
    diagnose: Callable[[], Awaitable[list[wire.Check]]]

    async def session_open(self, params: wire.SessionOpen) -> wire.SessionOpened:
        """Open a new or stored session."""
        return _opened(await self.sessions.open(Path(params.cwd), params.id))

    async def session_list(self, _: wire.Empty) -> wire.SessionListed:
        """List all sessions, the latest first."""
        return wire.SessionListed(sessions=await self.sessions.list())

    async def session_rename(self, params: wire.SessionRename) -> wire.Empty:
        """Name a session."""
        await self.sessions.rename(params.session_id, params.title)
        return wire.Empty()

    async def session_delete(self, params: wire.SessionRef) -> wire.Empty:
        """Remove a session for good."""
        await self.sessions.delete(params.session_id)
        return wire.Empty()

    async def session_close(self, params: wire.SessionRef) -> wire.Empty:
        """Close a session; what runs in it is interrupted."""
        self.sessions.get(params.session_id)
        await self.sessions.close(params.session_id, "session closed")
        return wire.Empty()

    async def session_snapshot(self, params: wire.SessionRef) -> wire.SessionOpened:
        """Show an open session as it is now."""
        return _opened(self.sessions.get(params.session_id))

    async def session_set(self, params: wire.SessionSet) -> wire.Empty:
        """Change mode or model."""
        session = self.sessions.get(params.session_id)
        if params.model is not None:
            session.set_model(params.model)
        if params.mode is not None:
            session.set_mode(params.mode)
        return wire.Empty()

    async def turn_start(self, params: wire.TurnStart) -> wire.TurnAccepted:
        """Start a turn, or queue it while one runs."""
        session = self.sessions.get(params.session_id)
        if not params.text.strip() and not params.context:
            raise UserError("params.text: is blank")
        return wire.TurnAccepted(turn_id=session.prompt(with_context(params.text, params.context)))

    async def turn_cancel(self, params: wire.SessionRef) -> wire.Empty:
        """Cancel the running turn, if there is one, with its foreground subagents."""
        await self.sessions.get(params.session_id).turns.cancel()
        return wire.Empty()

    async def session_settle(self, params: wire.SessionRef) -> wire.Empty:
        """Return once no turn and no task of the session runs, and no notification waits (B8)."""
        await self.sessions.get(params.session_id).settled()
        return wire.Empty()

    async def session_wrap_up(self, session_id: str, reason: str) -> None:
        """Have everything in a session report now; returns once it has, or the time for that is over."""
        await self.sessions.get(session_id).wrap_up(reason)

    async def agent_list(self, _: wire.AgentList) -> wire.AgentsListed:
        """List every definition with its faults."""
        return to_listing(self.definitions())

    async def agent_run(self, params: wire.AgentRun) -> wire.TaskStarted:
        """Start a subagent for a person."""
        definition = self.definitions().get(params.agent)
        if definition is None:
            raise UserError(f"params.agent: {unknown_agent(params.agent, self.definitions())}")
        if not params.prompt.strip():
            raise UserError("params.prompt: is blank")
        session = await self._session(params.session_id)
        prompt = with_place(params.prompt.strip(), params.uri, params.range)
        order = Order(
            definition=definition,
            prompt=prompt,
            description=" ".join(params.prompt.split())[:80],
            background=True,
            starter="person",
        )
        task = session.run_agent(order)
        return wire.TaskStarted(task_id=task.id, session_id=session.id)

    async def task_list(self, params: wire.TaskList) -> wire.TasksListed:
        """List tasks of one session, or of all open ones."""
        chosen = self.sessions.all() if params.session_id is None else (self.sessions.get(params.session_id),)
        return wire.TasksListed(tasks=tuple(record for session in chosen for record in session.manager.records()))

    async def task_get(self, params: wire.TaskRef) -> TaskRecord:
        """Return a task's whole record."""
        return self.sessions.task(params.id)[1].record

    async def task_wait(self, params: wire.TaskRef) -> TaskRecord:
        """Return a task's record once it has ended."""
        _, task = self.sessions.task(params.id)
        await task.ended.wait()
        return task.record

    async def task_stop(self, params: wire.TaskStop) -> wire.TasksStopped:
        """Stop tasks, side by side; returns once their runs are dead."""
        found: dict[str, tuple[Session, Task]] = {}
        for identifier in params.ids:
            try:
                found[identifier] = self.sessions.task(identifier)
            except UserError:
                continue
        for session in {id(session): session for session, _ in found.values()}.values():
            session.hush_if_all([task for owner, task in found.values() if owner is session])
        ends = await asyncio.gather(*(session.manager.stop(task, PERSON) for session, task in found.values()))
        stopped = [identifier for identifier, ended in zip(found, ends, strict=True) if ended]
        return wire.TasksStopped(
            stopped=tuple(stopped), not_found=tuple(one for one in params.ids if one not in stopped)
        )

    async def task_wrap_up(self, params: wire.TaskRef) -> wire.Empty:
        """Have a task report now."""
        session, task = self.sessions.task(params.id)
        session.manager.wrap_up(task)
        return wire.Empty()

    async def task_resume(self, params: wire.TaskSend) -> wire.Empty:
        """Go on with an ended task."""
        session, task = self.sessions.task(params.id)
        await session.resume(task, go_on(params.message or ""))
        return wire.Empty()

    async def task_send(self, params: wire.TaskSend) -> wire.Empty:
        """Send a person's message to a task."""
        session, task = self.sessions.task(params.id)
        message = go_on(params.message or "")
        if message is None:
            raise UserError("params.message: is blank")
        session.turns.hush(quiet=False)
        await session.manager.send(task, message)
        return wire.Empty()

    async def task_background(self, params: wire.TaskRef) -> wire.Empty:
        """Move a foreground task to the background."""
        session, task = self.sessions.task(params.id)
        session.manager.background(task, "moved to the background by a person")
        return wire.Empty()

    async def task_clear(self, params: wire.SessionRef) -> wire.Empty:
        """Hide the ended tasks of a session; disk keeps them."""
        self.sessions.get(params.session_id).clear()
        return wire.Empty()

    async def task_transcript(self, params: wire.TaskRef) -> wire.Transcript:
        """Return a task's transcript for people."""
        session, task = self.sessions.task(params.id)
        text = await self.store.export(session.id, task.record.agent_id)
        return wire.Transcript(task_id=task.id, markdown=text, path=task.record.output_file)

    async def worktree_merge(self, params: wire.TaskRef) -> WorktreeMerged:
        """Merge the worktree of an ended task into its main checkout."""
        return await worktrees.merge(*self.sessions.task(params.id))

    async def worktree_discard(self, params: wire.TaskRef) -> WorktreeDiscarded:
        """Throw the worktree of an ended task away."""
        return await worktrees.discard(*self.sessions.task(params.id))

    async def task_undo(self, params: wire.TaskRef) -> TaskUndone:
        """Put the files that a task changed back as they were."""
        return await undo_task(*self.sessions.task(params.id))

    async def task_before(self, params: TaskBefore) -> FileBefore:
        """Return what a file held before a task changed it."""
        return await text_before(*self.sessions.task(params.id), params.path)

    async def approval_list(self, _: wire.Empty) -> wire.ApprovalsListed:
        """List every open question."""
        return wire.ApprovalsListed(
            approvals=tuple(one for session in self.sessions.all() for one in session.approvals.open())
        )

    async def approval_answer(self, params: wire.ApprovalAnswer) -> wire.Answered:
        """Take a person's answer."""
        answer = Answer(outcome=params.outcome, message=params.message)
        accepted = any(session.approvals.answer(params.id, answer) for session in self.sessions.all())
        return wire.Answered(accepted=accepted)

    async def view_subscribe(self, params: wire.ViewSubscribe) -> wire.Empty:
        """Say which tasks a client looks at now (X4)."""
        self.sessions.watch(params.task_ids)
        return wire.Empty()

    async def usage_get(self, params: UsageGet) -> UsageListed:
        """Sum what requests used and cost."""
        await self.store.catch_up()
        return summed(await self.store.index.usage(params.session_id), params.by)

    async def agent_create(self, params: AgentCreate) -> AgentCreated:
        """Make an agent file for a person."""
        return await self.new_agents.create(params)

    async def doctor(self, _: wire.Empty) -> DoctorPage:
        """Check the machine, and say what to do."""
        return DoctorPage(text=page(await self.diagnose()))

    async def model_list(self, params: ModelList) -> wire.ModelsListed:
        """List the models that can be chosen."""
        found = await find_models(self.models.places()) if params.local else None
        return wire.ModelsListed(models=self.models.list_models(found), roles=self.models.roles())

    async def model_key(self, params: SecretSet) -> wire.Empty:
        """Take a provider's key from the editor's secret store."""
        self.models.set_key(params.provider, params.key)
        return wire.Empty()

    async def _session(self, session_id: str | None) -> Session:
        if session_id is not None:
            return self.sessions.get(session_id)
        opened = self.sessions.all()
        return opened[-1] if opened else await self.sessions.open(self.default_cwd)


def _opened(session: Session) -> wire.SessionOpened:
    return wire.SessionOpened(session_id=session.id, snapshot=snapshot_of(session), seq=session.log.seq)
