"""A process that lives with the store and may be killed at any moment: `python -m tests.store.worker HOME`.

Each line on its standard output acknowledges what the store had returned from: `said ID` (a message), `accepted ID`
(a letter), `delivered ID` (a letter in the conversation), `ended ID` (a run, whose end the parent must hear of).
"""

from __future__ import annotations

import asyncio
import os
import sys
from itertools import count
from pathlib import Path

from ensign.protocol import events
from ensign.protocol.codec import to_wire
from ensign.protocol.errors import UserError
from ensign.protocol.ids import new_id
from ensign.protocol.messages import UserMessage
from ensign.protocol.tasks import TaskState
from ensign.store.inbox import Letter
from ensign.store.session import SessionStore
from ensign.store.store import Store
from ensign.store.transcript import Transcript
from tests.store.values import MAIN, SESSION, envelope, head, record, spec, user


def acknowledge(what: str, identifier: str) -> None:
    os.write(1, f"{what} {identifier}\n".encode())


def deliver(main: Transcript) -> None:
    """Hand everything that waits over in one message, as a step would."""
    ids = tuple(letter.message_id for letter in main.inbox.pending())
    if ids:
        main.append_message(UserMessage(text="news", origin="runtime", delivers=ids))
        for identifier in ids:
            acknowledge("delivered", identifier)


def live_and_die(session: SessionStore, main: Transcript) -> None:
    """A subagent in the background, from its birth to the news of its end."""
    task_id, agent_id, notify = new_id(), new_id(), new_id()
    child = session.create(head(agent_id, spec(task_id, agent_id, background=True)))
    session.append_event(1, events.TaskChanged(agent_id=agent_id, task_id=task_id, record=record(task_id, agent_id)))
    child.append_message(user("look"))
    child.append_end(TaskState.COMPLETED, envelope(task_id, agent_id), notify=notify)
    child.close()
    acknowledge("ended", notify)
    main.accept(Letter(message_id=notify, what="notification", body=to_wire(envelope(task_id, agent_id))))


async def live(home: Path) -> None:
    store = Store(home, report=lambda text: acknowledge("reported", text))
    session, _ = await store.open_session(SESSION)
    try:
        main, _ = await session.reopen(MAIN)
    except UserError:
        main = session.create(head())
    for turn in count():
        identifier = new_id()
        main.append_message(user(identifier))
        acknowledge("said", identifier)
        main.accept(Letter(message_id=identifier, what="message", body={"text": "steer"}))
        acknowledge("accepted", identifier)
        if turn % 3 == 0:
            live_and_die(session, main)
        if turn % 2 == 0:
            deliver(main)


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1])))
