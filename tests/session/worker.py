"""A whole server that may be killed at any moment: `python -m tests.session.worker HOME ROOT URL SESSION`.

Each line on its standard output acknowledges what the API had returned from: `prompted TEXT`, `sent TEXT`,
`stopped TASK`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from itertools import count
from pathlib import Path

from ensign.app import App, build
from ensign.protocol import events, wire
from ensign.protocol.ids import new_id
from ensign.protocol.tasks import TaskRecord


def app_for(home: Path, root: Path, url: str, **options: object) -> App:
    """Build an app over a workspace, with all its state under `home`."""
    environment = {
        "HOME": str(home),
        "ENSIGN_HOME": str(home / "ensign"),
        "PATH": "/usr/bin:/bin",
        "ENSIGN_MODEL": "openai/scripted",
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": "sk-test",
    }
    return build(
        options={"subagents": options},
        roots=(root,),
        environment=environment,
        command_line={"allow": ("Bash(sleep:*)",)},
        client_name="test",
    )


def acknowledge(what: str, identifier: str) -> None:
    os.write(1, f"{what} {identifier}\n".encode())


async def live(home: Path, root: Path, url: str, session_id: str) -> None:
    """Prompt, message and stop for ever."""
    app = app_for(home, root, url, maxSpawns=100_000)
    ended = asyncio.Event()

    def read(_session: str, _seq: int, event: events.Event) -> None:
        if isinstance(event, events.TurnEnded | events.TurnFailed) and event.task_id is None:
            ended.set()

    app.subscribe(read, lambda _: None)
    await app.api.session_open(wire.SessionOpen(cwd=str(root), id=session_id))

    async def running() -> list[TaskRecord]:
        listed = await app.api.task_list(wire.TaskList(session_id=session_id))
        return [record for record in listed.tasks if not record.state.terminal]

    for number in count():
        ended.clear()
        text = f"prompt-{new_id()}"
        await app.api.turn_start(wire.TurnStart(session_id=session_id, text=text))
        acknowledge("prompted", text)
        for record in (await running())[:2]:
            text = f"steer-{new_id()}"
            await app.api.task_send(wire.TaskSend(id=record.id, message=text))
            acknowledge("sent", text)
        await ended.wait()
        for record in (await running())[: number % 3]:
            stopped = await app.api.task_stop(wire.TaskStop(ids=(record.id,)))
            for task_id in stopped.stopped:
                acknowledge("stopped", task_id)


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
