"""What the language server of agent files knows beside the text: handed in, read anew at each request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ensign.definitions.catalogue import Definitions
from ensign.definitions.sources import Folder
from ensign.definitions.vocabulary import Vocabulary
from ensign.protocol.value import frozen
from ensign.protocol.wire import ModelInfo


@frozen
class Around:
    """The world around one agent file.

    Attributes:
        folders: where agent files are read from, nearest first.
        settings_files: files whose rules may name agents.
        tools: descriptions of the tools that a definition may name.
        models: what can be chosen.
        references: names that stand for a model (roles and aliases), with the id or None where nothing is set.
        servers: MCP servers by name.
        read: the text of a file as the editor has it, else as it is on disk; None when there is none.
    """

    words: Vocabulary
    definitions: Definitions
    folders: tuple[Folder, ...]
    settings_files: tuple[Path, ...]
    tools: Mapping[str, str]
    models: tuple[ModelInfo, ...]
    references: Mapping[str, str | None]
    servers: tuple[str, ...]
    read: Callable[[Path], str | None]
