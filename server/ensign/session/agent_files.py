"""The language server of agent files, joined to what a running server knows: tools, models, documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ensign.definitions.editing.around import Around
from ensign.definitions.editing.files import AgentFiles
from ensign.definitions.nodes import FaultError
from ensign.definitions.sources import Folder, read_bytes
from ensign.definitions.vocabulary import Vocabulary
from ensign.protocol.definition import Source
from ensign.session.services import Services

AGENT_TOOL = "Starts other agents, and Agent(name) only those named. The main agent has it; subagents never do."


def agent_files(
    services: Services,
    *,
    words: Callable[[], Vocabulary],
    folders: Callable[[], tuple[Folder, ...]],
    settings_files: Callable[[], tuple[Path, ...]],
) -> AgentFiles:
    """Return the language server; all that it is handed is called at each request."""
    tools = {tool.name: tool.description for tool in services.tools if tool.subagent} | {"Agent": AGENT_TOOL}

    def read(path: Path) -> str | None:
        document = services.registry.documents.get(path)
        if document is not None:
            return document.text
        try:
            return read_bytes(path).decode(errors="replace")
        except FaultError:
            return None

    def around() -> Around:
        return Around(
            words=words(),
            definitions=services.definitions(),
            folders=folders(),
            settings_files=settings_files(),
            tools=tools,
            models=services.models.list_models(),
            references=services.models.references(),
            servers=tuple(services.settings().mcp_servers),
            read=read,
        )

    own = tuple(folder.path for folder in folders() if folder.source in (Source.USER, Source.USER_CLAUDE))
    return AgentFiles(around, own=own)
