"""Which version of each file is the latest and who made it: agents, the person, commands (I0)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from pathlib import Path
from weakref import WeakValueDictionary

from ensign.protocol.ports import Editor
from ensign.protocol.value import frozen
from ensign.workspace.documents import Documents

_MAX_FILES = 5000
_MAX_CHANGES = 32


@frozen(kw_only=False)
class Author:
    """Who changed a file: `agent_id` for an agent, empty for the person, a command, or nobody we know."""

    name: str
    agent_id: str = ""
    command: bool = False
    """Not the agent itself but a command, probably one that it ran."""

    def words(self, reader: Author) -> str:
        """How a refusal to `reader` names them."""
        if not self.agent_id:
            return self.name
        mine = self.agent_id == reader.agent_id
        if self.command and mine:
            return "a command, probably your own"
        name = "yourself" if mine else "the main agent" if self.name == "main" else f"subagent {self.name!r}"
        return f"a command, probably of {name}" if self.command else name


PERSON = Author("the person in the editor")
ON_SAVE = Author("the editor while saving")
UNKNOWN = Author("a command or another program")


@dataclass(slots=True)
class _File:
    """The versions a file has had since somebody first looked, oldest first; None is "does not exist"."""

    changes: list[tuple[bytes | None, Author]]
    looked_at: int
    suspects: list[Author] = field(default_factory=list)
    """Who is known to have changed it since the last look; what it became shows at the next."""


class FileRegistry:
    """Versions and authors of all files that any agent looked at. One for all agents of a server.

    A version is the hash of the content (`textfile.version_of`), never a time: a save without a change refuses
    nothing, and a change that restores the time is found.
    """

    def __init__(self, *, home: Path, editor: Editor | None = None) -> None:
        self.home = home
        self.editor = editor
        """The editor that shows open documents; None while there is none."""
        self.documents = Documents(self._changed_in_editor)
        self._files: OrderedDict[Path, _File] = OrderedDict()
        self._locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
        self._clock = 0
        self._commands: OrderedDict[Author, int] = OrderedDict()
        self._running: dict[Author, int] = {}

    def lock(self, path: Path) -> asyncio.Lock:
        """Return the lock that an edit holds from its look at the file to its write."""
        lock = self._locks.get(path)
        if lock is None:
            lock = self._locks[path] = asyncio.Lock()
        return lock

    def looked(self, path: Path, version: bytes | None) -> None:
        """The file holds this version now; a change since the last look is put down to whoever is suspected."""
        self._clock += 1
        file = self._files.get(path)
        if file is None:
            self._files[path] = _File([(version, UNKNOWN)], self._clock)
            if len(self._files) > _MAX_FILES:
                self._files.popitem(last=False)
            return
        self._files.move_to_end(path)
        if file.changes[-1][0] != version:
            suspects = file.suspects or [self._commander(file.looked_at)]
            file.changes += [(version, who) for who in suspects]
            del file.changes[:-_MAX_CHANGES]
        file.suspects.clear()
        file.looked_at = self._clock

    def wrote(self, path: Path, version: bytes, author: Author) -> None:
        """The author made this version of the file."""
        self._clock += 1
        file = self._files.setdefault(path, _File([(None, UNKNOWN)], self._clock))
        # Suspects stay: who changed it since our look did so after this version.
        file.changes.append((version, author))
        del file.changes[:-_MAX_CHANGES]
        file.looked_at = self._clock

    def changed_since(self, path: Path, version: bytes) -> list[Author]:
        """Return who made the changes that came after this version, in order; empty if it is the latest."""
        file = self._files.get(path)
        if file is None:
            return [UNKNOWN]
        if file.changes[-1][0] == version:
            return []
        at = next((i for i in range(len(file.changes) - 1, -1, -1) if file.changes[i][0] == version), -1)
        return list(dict.fromkeys(who for _, who in file.changes[at + 1 :]))

    def command_started(self, author: Author) -> None:
        """An agent's command runs from now on, and may change any file."""
        self._running[author] = self._running.get(author, 0) + 1

    def command_ended(self, author: Author) -> None:
        """It has ended."""
        self._clock += 1
        self._commands[author] = self._clock
        self._commands.move_to_end(author)
        if len(self._commands) > _MAX_CHANGES:
            self._commands.popitem(last=False)
        left = self._running.get(author, 0) - 1
        if left > 0:
            self._running[author] = left
        else:
            self._running.pop(author, None)

    def _commander(self, since: int) -> Author:
        """Whose command it must have been, if only one agent's ran since then."""
        who = {author for author, ended in self._commands.items() if ended > since} | set(self._running)
        if len(who) != 1:
            return UNKNOWN
        return replace(who.pop(), command=True)

    def changed_on_disk(self, path: Path) -> None:
        """Something that is not the editor wrote the file; by whom is asked now, as more commands may come."""
        if (file := self._files.get(path)) is not None:
            self._suspect(file, self._commander(file.looked_at))

    def _changed_in_editor(self, path: Path, reloaded: bool) -> None:
        if reloaded:
            self.changed_on_disk(path)
        elif (file := self._files.get(path)) is not None:
            self._suspect(file, PERSON)

    def _suspect(self, file: _File, who: Author) -> None:
        if who not in file.suspects:
            file.suspects.append(who)


def named(authors: list[Author], reader: Author) -> str:
    """Return authors in words for `reader`, the last joined by "and"."""
    words = list(dict.fromkeys(who.words(reader) for who in authors or [UNKNOWN]))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
