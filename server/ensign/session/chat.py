"""The main agent's chat as a client that joins late must see it: a fold of the session's events."""

from __future__ import annotations

from ensign.protocol import events
from ensign.protocol.messages import Message
from ensign.protocol.wire import ChatEntry, PartialStep
from ensign.store.replay import Replay

_SHOWN = (events.ToolFinished, events.Notice, events.TurnFailed, events.TurnEnded, events.Compacted)


class Chat:
    """What has been said and done so far, and what the running steps have said up to now."""

    __slots__ = ("_partial", "entries", "main_agent_id", "todos")

    def __init__(self) -> None:
        self.entries: list[ChatEntry] = []
        self.todos: tuple[events.Todo, ...] = ()
        self.main_agent_id = ""
        self._partial: dict[str, tuple[list[str], list[str]]] = {}

    def load(self, past: Replay) -> None:
        """Begin with what an earlier process left."""
        self.entries = [ChatEntry(message=message) for message in past.history]
        self.todos = past.todos

    def withdraw(self, message: Message) -> None:
        """Take back a message that another takes the place of."""
        self.entries = [entry for entry in self.entries if entry.message is not message]

    def read(self, event: events.Event) -> None:
        """Take in an event."""
        agent_id = event.agent_id
        match event:
            case events.TextDelta(text=text):
                self._partial.setdefault(agent_id, ([], []))[0].append(text)
                return
            case events.ThinkingDelta(text=text):
                self._partial.setdefault(agent_id, ([], []))[1].append(text)
                return
            case events.StepRestarted() | events.MessageAdded() | events.TurnEnded() | events.TurnFailed():
                self._partial.pop(agent_id, None)
            case _:
                pass
        if agent_id != self.main_agent_id:
            return
        match event:
            case events.MessageAdded(message=message):
                self.entries.append(ChatEntry(message=message))
            case events.TodoChanged(todos=todos):
                self.todos = todos
            case _ if isinstance(event, _SHOWN):
                self.entries.append(ChatEntry(event=event))
            case _:
                pass

    def note(self, who: events.Who, text: str) -> None:
        """Show something that no event says."""
        self.entries.append(ChatEntry(event=events.Notice(**who, level="warning", text=text)))

    def partial(self) -> tuple[PartialStep, ...]:
        """What the running steps have said."""
        return tuple(
            PartialStep(agent_id=agent_id, text="".join(text), thinking="".join(thinking))
            for agent_id, (text, thinking) in self._partial.items()
        )
