"""What the tests of the store are made of: one way to build each value, and one to open a store."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ensign.protocol.messages import (
    AssistantMessage,
    Message,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSchema,
    Usage,
    UserMessage,
)
from ensign.protocol.run import Limits, RunSpec
from ensign.protocol.tasks import Envelope, Facts, TaskRecord, TaskState
from ensign.store.head import Head
from ensign.store.store import Store

SESSION = "s1"
MAIN = "main-agent"


def head(agent_id: str = MAIN, spec: RunSpec | None = None, session_id: str = SESSION) -> Head:
    schema = ToolSchema(name="Read", description="reads", parameters={"type": "object", "properties": {}})
    return Head(
        session_id=session_id,
        agent_id=agent_id,
        cwd="/w",
        model="p/m",
        system="be good",
        tools=(schema,),
        cache_key="k",
        spec=spec,
    )


def spec(task_id: str = "t1", agent_id: str = "a1", *, background: bool = False) -> RunSpec:
    return RunSpec(
        task_id=task_id,
        agent_id=agent_id,
        session_id=SESSION,
        parent_agent_id=MAIN,
        parent_task_id=None,
        agent="Explore",
        prompt="look",
        description="look around",
        name=None,
        model="p/m",
        cwd="/w",
        limits=Limits(max_turns=25),
        background=background,
        depth=1,
        starter="agent",
        query_source="main",
        spawn_key=f"{SESSION}:{task_id}",
    )


def record(task_id: str = "t1", agent_id: str = "a1", state: TaskState = TaskState.RUNNING) -> TaskRecord:
    return TaskRecord(
        id=task_id,
        short_id=task_id,
        session_id=SESSION,
        name=None,
        agent="Explore",
        description="look around",
        parent_agent_id=MAIN,
        parent_task_id=None,
        agent_id=agent_id,
        call_id="c1",
        depth=1,
        color=None,
        state=state,
        reason="",
        background=True,
        waiting_for=None,
        waiting_since=None,
        created_at=10.0,
        started_at=11.0,
        ended_at=None,
        last_event_at=12.0,
        activity="",
        summary="",
        steps=1,
        tool_calls=2,
        usage=Usage(),
        report_tokens=0,
        model="p/m",
        files_changed=(),
        output_file="",
        worktree=None,
        resumable=True,
    )


def envelope(task_id: str = "t1", agent_id: str = "a1") -> Envelope:
    return Envelope(
        status="completed",
        reason="",
        agent_id=agent_id,
        task_id=task_id,
        report="found it",
        cut=False,
        facts=Facts(),
        usage=Usage(input=3, output=4),
        output_file="",
        can_read_output_file=False,
    )


def user(text: str, *delivers: str) -> UserMessage:
    return UserMessage(text=text, delivers=delivers)


def says(text: str) -> AssistantMessage:
    return AssistantMessage(parts=(Text(text=text),))


def call(call_id: str = "c1", name: str = "Bash") -> ToolCall:
    return ToolCall(call_id=call_id, name=name, arguments={"command": "make", "n": [1, None]}, raw='{"command":"make"}')


def calls(*made: ToolCall) -> AssistantMessage:
    return AssistantMessage(parts=(Text(text="let me see"), *made))


def results(*given: tuple[str, str]) -> ToolMessage:
    return ToolMessage(results=tuple(ToolResult(call_id=call_id, text=text) for call_id, text in given))


def conversation(size: int) -> list[Message]:
    """A conversation of `size` messages in rounds of four: a prompt, a call, its result, an answer."""
    found: list[Message] = []
    for n in range(0, size, 4):
        made = call(f"c{n}")
        found += [user(f"prompt {n}"), calls(made), results((made.call_id, "line\n" * 20)), says(f"answer {n}")]
    return found[:size]


def left_behind(sessions: Path, home: Path) -> Path:
    """Return a home with what a process that died just now would leave: its lock is free, and no index was written."""
    shutil.copytree(sessions, home / "sessions")
    return home


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[tuple[Store, list[str]]]:
    """A store, and what it reported."""
    said: list[str] = []
    store = Store(home, report=said.append)
    try:
        yield store, said
    finally:
        await store.close()
