"""What a session tells its main agent beside what people say: words alone, made from records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ensign.protocol.definition import AgentDefinition
from ensign.protocol.messages import UserMessage
from ensign.protocol.tasks import TaskRecord


def described(definitions: Iterable[AgentDefinition]) -> dict[str, str]:
    """Each definition's description in one line, by name."""
    return {one.name: " ".join(one.description.split()) for one in definitions}


def changed_agents(before: Mapping[str, str], now: Mapping[str, str]) -> UserMessage | None:
    """Which subagents there are now, by their descriptions; None where they are the same."""
    news = [f"- {name}: {text}" for name, text in now.items() if before.get(name) != text]
    news += [f"- {name} is gone" for name in before if name not in now]
    if not news:
        return None
    listed = "\n".join(news)
    text = f"This comes from the Ensign runtime: the subagents you can start have changed.\n{listed}"
    return UserMessage(text=text, origin="runtime")


def in_words(records: Iterable[TaskRecord]) -> str:
    """Tasks, for a conversation that loses its memory of starting them (C3)."""
    return "\n".join(
        f"- {one.name or one.short_id}: {one.agent}, {one.description} ({one.state.value}); "
        f"its report: {one.output_file}"
        for one in records
    )


def left_worktree(cwd: Path) -> UserMessage:
    """What an agent must know whose session ended while it was in a worktree."""
    text = f"This comes from the Ensign runtime: the worktree you were in was left; you work in {cwd}."
    return UserMessage(text=text, origin="runtime")
