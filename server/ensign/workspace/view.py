"""One agent's view of the files: what it has read, in which version, and the only way it reads and changes them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

from ensign.protocol.errors import ToolError
from ensign.workspace import atomic, nofollow, paths, textfile
from ensign.workspace.contents import FileText, MissingFileError, Written, unchanged
from ensign.workspace.documents import Document
from ensign.workspace.history import Changed, History
from ensign.workspace.registry import ON_SAVE, PERSON, Author, FileRegistry, named
from ensign.workspace.textfile import MAX_TEXT_BYTES, UTF8, Encoding, version_of

_INLINE_BYTES = 1 << 20
"""Up to here a local read (5 us for 20 kB, 60 us for this) is cheaper than the way to a thread and back (90 us)."""
_MAX_SEEN = 1000
_MAX_PINS = 256
_EDITOR_S = 2.0


class FileView:
    """What one agent has seen of the files. Every read goes through it, so that every write can be guarded (I0)."""

    def __init__(
        self,
        *,
        agent_id: str,
        agent_name: str,
        registry: FileRegistry,
        history: History | None = None,
        label: str = "",
    ) -> None:
        """`history` keeps what files held before this agent changed them; `label` names its undo steps."""
        self.agent = Author(agent_name, agent_id)
        self._history = history
        self._label = label or f"Edit by {agent_name}"
        self._registry = registry
        self._seen: OrderedDict[Path, bytes] = OrderedDict()
        self._told: dict[Path, bytes] = {}
        self._pins: OrderedDict[tuple[str, str], Path] = OrderedDict()

    def clone(self, *, agent_id: str, agent_name: str, history: History | None = None) -> FileView:
        """Return a fork's view: it has seen what this agent has seen."""
        other = FileView(agent_id=agent_id, agent_name=agent_name, registry=self._registry, history=history)
        other._seen = self._seen.copy()
        return other

    def recent(self, count: int) -> list[Path]:
        """Return the files this agent read or wrote last, newest first."""
        return list(islice(reversed(self._seen), count))

    def clear(self) -> None:
        """Forget everything; the agent is at its end."""
        self._seen.clear()
        self._told.clear()
        self._pins.clear()

    def resolve(self, spelled: str, *, cwd: Path, call_id: str) -> Path:
        """Return the real path; the same again for the same call, whatever links do meanwhile.

        What was judged is so what is opened: a swapped link makes opening it an error.

        Raises:
            ToolError: as from `paths.resolve`.
        """
        key = (call_id, spelled)
        if (pinned := self._pins.get(key)) is not None:
            return pinned
        path = self._pins[key] = paths.resolve(spelled, cwd=cwd, home=self._registry.home)
        if len(self._pins) > _MAX_PINS:
            self._pins.popitem(last=False)
        return path

    async def read(self, path: Path) -> FileText:
        """Return a file's text, and remember that this agent has seen this version.

        Raises:
            ToolError: missing, not a file, binary, too large.
        """
        file = await self.peek(path)
        self._saw(path, file.version)
        return file

    async def peek(self, path: Path) -> FileText:
        """Return a file's text without counting as the agent's reading of it."""
        file = await self._look(path)
        if file is None:
            raise MissingFileError(f"{str(path)!r} does not exist")
        return file

    async def before_change(self, path: Path) -> FileText | None:
        """Return the file that this agent would change now, None if it would create it; nothing is changed.

        Raises:
            ToolError: as from `edit` and `write` for a file they would not touch.
        """
        file = await self._look(path)
        if file is not None:
            self._guard(file)
        return file

    def unsaved(self) -> dict[Path, Document]:
        """Return the open documents whose text is not on disk, by real path."""
        return self._registry.documents.dirty()

    def replaces_unsaved(self, path: Path) -> bool:
        """Whether writing this file whole would replace text that a person has not saved."""
        document = self._registry.documents.get(path)
        return document is not None and document.dirty

    async def refuse_unsaved_notebook(self, path: Path) -> None:
        """Raise `ToolError` if the editor holds changes of a notebook that a change on disk would contradict."""
        editor = self._registry.editor
        if editor is not None and await editor.unsaved_notebook(path=path):
            raise ToolError(
                f"{str(path)!r} is open in the editor with unsaved changes; ask the person to save it first"
            )

    def command_started(self) -> None:
        """This agent's command runs, and may change any file."""
        self._registry.command_started(self.agent)

    def command_ended(self) -> None:
        """It has ended."""
        self._registry.command_ended(self.agent)

    async def changed_by_others(self) -> list[tuple[Path, str]]:
        """Return the files this agent has seen that are different now, with who changed them; each change once."""
        found: list[tuple[Path, str]] = []
        for number, (path, seen) in enumerate(list(self._seen.items())):
            if number % 32 == 31:
                await asyncio.sleep(0)  # let others run: the reads below are short, but many
            try:
                now = await self._look(path)
            except ToolError:
                continue
            version = now.version if now else b""
            if version in {seen, self._told.get(path)}:
                continue
            self._told[path] = version
            changes = self._registry.changed_since(path, seen)
            who = [who for who in changes if who.agent_id != self.agent.agent_id]
            if who:
                found.append((path, named(who, self.agent)))
        return found

    async def edit(self, path: Path, change: Callable[[FileText], str]) -> Written:
        """Change a file that this agent has seen; `change` gets its text as it is now and returns the new one.

        Raises:
            ToolError: not seen or changed since by somebody else; whatever `change` raises; not written.
        """
        async with self._registry.lock(path):
            file = await self.peek(path)
            self._guard(file)
            return await self._put(path, file, change(file))

    async def write(self, path: Path, text: str) -> Written:
        """Create a file, or replace one that this agent has seen, in its encoding and with its line ends.

        Raises:
            ToolError: it exists and was not seen, or was changed since by somebody else; not written.
        """
        async with self._registry.lock(path):
            file = await self._look(path)
            if file is None:
                return await self._put(path, None, text)
            self._guard(file)
            return await self._put(path, file, textfile.with_newlines(text, file.text))

    def _guard(self, file: FileText) -> None:
        name = str(file.path)
        seen = self._seen.get(file.path)
        if seen is None:
            raise ToolError(f"{name!r} exists and you have not read it; read it first")
        if seen != file.version:
            who = named(self._registry.changed_since(file.path, seen), self.agent)
            raise ToolError(f"{name!r} was changed by {who} since you read it; read it again")

    async def _put(self, path: Path, file: FileText | None, text: str) -> Written:
        if file is not None and file.text == text:
            raise unchanged(path)
        await self._keep(path, file, version_of(text))
        document = file.document if file else None
        if file is not None and document is not None:
            note = await self._put_in_editor(file, document, text)
        else:
            note = ""
            await self._put_on_disk(path, file, text)
        return Written(path=path, before=file.text if file else None, after=text, note=note)

    async def restore(self, change: Changed) -> bool:
        """Put a file back as it was before another agent's changes; False when it is so already.

        Raises:
            ToolError: somebody else changed it since, what it held is lost, or it cannot be written.
        """
        async with self._registry.lock(change.path):
            return await self._restore(change, await self._look(change.path))

    async def _restore(self, change: Changed, file: FileText | None) -> bool:
        path, name = change.path, str(change.path)
        if not change.kept:
            raise ToolError(f"what {name!r} held before was too much to keep; nothing was changed")
        text, encoding = (None, UTF8) if change.before is None else textfile.decode(change.before)
        if (file.version if file else None) == (None if text is None else version_of(text)):
            return False
        if file is None or file.version not in change.made:
            who = (
                "" if file is None else f" by {named(self._registry.changed_since(path, change.made[-1]), self.agent)}"
            )
            did = "was deleted" if file is None else "was changed"
            raise ToolError(f"{name!r} {did}{who} since; nothing was changed")
        if text is None:
            if file.data is None or file.unsaved:
                raise ToolError(f"{name!r} has unsaved text in the editor; close it there first")
            await self._on_disk(path, file, atomic.remove_file, path, file.data)
            self._registry.looked(path, None)
        elif file.document is not None:
            await self._put_in_editor(file, file.document, text)
        else:
            await self._put_on_disk(path, replace(file, encoding=encoding), text)
        return True

    async def _keep(self, path: Path, file: FileText | None, version: bytes) -> None:
        if self._history is None:
            return
        before = None if file is None else textfile.encode(file.text, file.encoding)
        try:
            await asyncio.to_thread(self._history.intend, path, before, version)
        except OSError as error:
            raise ToolError(
                f"{str(path)!r} was not changed: its present text cannot be kept for an undo: {error.strerror}"
            ) from error

    async def _put_on_disk(self, path: Path, file: FileText | None, text: str) -> None:
        data = textfile.encode(text, file.encoding if file else UTF8)
        await self._on_disk(path, file, atomic.write_file, path, data, file.data if file else None)
        self._wrote(path, version_of(text))

    async def _on_disk(self, path: Path, file: FileText | None, act: Callable[..., None], *args: object) -> None:
        try:
            await asyncio.to_thread(act, *args)
        except atomic.ChangedMeanwhileError:
            now = await self._look(path)
            who = named(self._registry.changed_since(path, file.version if file else b""), self.agent)
            gone = "" if now else " (it is gone)"
            raise ToolError(f"{str(path)!r} was changed by {who} at this very moment{gone}; read it again") from None

    async def _put_in_editor(self, file: FileText, document: Document, text: str) -> str:
        editor = self._registry.editor
        documents = self._registry.documents
        if editor is None:
            raise ToolError(f"{str(file.path)!r} is open in an editor that is gone; try again")
        was_dirty = document.dirty
        arrived = documents.expect(file.path, text)
        try:
            outcome = await editor.apply(
                path=document.path,
                version=document.version,
                before=document.text,
                after=text,
                label=self._label,
            )
            if not outcome.applied:
                raise ToolError(self._not_applied(file.path, document, outcome.reason))
            # The answer may overtake the notification that brings the new text.
            async with asyncio.timeout(_EDITOR_S):
                await arrived.wait()
        except TimeoutError:
            raise ToolError(f"the editor did not confirm the edit of {str(file.path)!r}; read it again") from None
        finally:
            documents.expect_no_more(file.path)
        self._wrote(file.path, version_of(text))
        if was_dirty:
            return "The person has unsaved changes in this file, so it was edited in the editor and not saved."
        return await self._save(file.path, text)

    def _not_applied(self, path: Path, document: Document, reason: str) -> str:
        now = self._registry.documents.get(path)
        if now is None or now.version != document.version:
            return f"{str(path)!r} was changed by {PERSON.name} at this very moment; read it again"
        return f"the editor did not apply the edit of {str(path)!r}: {reason or 'it gave no reason'}"

    async def _save(self, path: Path, text: str) -> str:
        editor = self._registry.editor
        document = self._registry.documents.get(path)
        if editor is None or document is None:
            return "The editor is gone; the edit may not be on disk."
        if not textfile.same_text(document.text, text):
            return "The person is typing in this file, so it was edited in the editor and not saved."
        if not await editor.save(path=document.path, version=document.version):
            return "The editor did not save it: the edit is in the editor and not on disk."
        now = self._registry.documents.get(path)
        if now is not None and not textfile.same_text(now.text, text):
            self._registry.wrote(path, version_of(now.text), ON_SAVE)
            await self._keep(path, None, version_of(now.text))
            return "The editor changed the text while saving (a formatter); read it again before the next edit."
        return ""

    def _wrote(self, path: Path, version: bytes) -> None:
        self._registry.wrote(path, version, self.agent)
        self._saw(path, version)

    def _saw(self, path: Path, version: bytes) -> None:
        self._seen[path] = version
        self._seen.move_to_end(path)
        if len(self._seen) > _MAX_SEEN:
            self._seen.popitem(last=False)

    async def _look(self, path: Path) -> FileText | None:
        """Return the text that counts now: the editor's where it has unsaved text, else the disk's."""
        data = await self._data(path)
        document = self._registry.documents.get(path)
        on_disk: tuple[str, Encoding] | None = None
        if data is not None:
            if textfile.is_binary(data):
                raise ToolError(f"{str(path)!r} is a binary file ({len(data):,} bytes)")
            on_disk = textfile.decode(data)
        if document is not None and on_disk is not None:
            if document.shows(on_disk[0]):
                document = self._registry.documents.on_disk(path, document)
                if document.text != on_disk[0]:
                    # The editor cannot hold this file as it is (mixed line ends, bytes that are no text) and would
                    # spoil it on saving.
                    document = None
            elif not document.dirty:
                # The disk is newer, and the editor has yet to notice.
                self._registry.changed_on_disk(path)
                document = None
        if document is None and on_disk is None:
            self._registry.looked(path, None)
            return None
        text = document.text if document is not None else on_disk[0] if on_disk else ""
        version = version_of(text)
        self._registry.looked(path, version)
        return FileText(
            path=path,
            text=text,
            encoding=on_disk[1] if on_disk else UTF8,
            version=version,
            data=data,
            document=document,
        )

    async def _data(self, path: Path) -> bytes | None:
        found = nofollow.stat_file(path)
        if found is None:
            return None
        if found.st_size > MAX_TEXT_BYTES:
            raise ToolError(f"{str(path)!r} has {found.st_size:,} bytes; too large to edit or hold as text")
        try:
            if found.st_size <= _INLINE_BYTES:
                return nofollow.read_file(path, MAX_TEXT_BYTES)
            return await asyncio.to_thread(nofollow.read_file, path, MAX_TEXT_BYTES)
        except FileNotFoundError:
            return None
