"""Diagnostics of open agent files while they are typed, and of settings files when they are read.

A text is looked at once nothing has changed it for a moment, beside the event loop; the next change ends the wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ensign.lsp.text import Text
from ensign.protocol.definition import Diagnostic
from ensign.protocol.editing import Fault, Span

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer

PAUSE_S = 0.15
"""Shorter than a person's pause to look, longer than the one between two keys."""

_WARNING = 2
_SEVERITIES: Mapping[str, int] = {"error": 1, "warning": 2, "information": 3}


class Diagnostics:
    """Publishes what is wrong with open agent files, and with settings."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._waiting: dict[Path, Callable[[], object]] = {}
        self._settings: frozenset[Path] = frozenset()
        self._said: set[str] = set()

    def changed(self, path: Path, *, pause_s: float = PAUSE_S) -> None:
        """A document was opened or changed."""
        if not self._server.app.agent_files.covers(path):
            return
        self._forget(path)
        self._waiting[path] = self._server.peer.spawn(self._diagnose(path, pause_s), "diagnosing an agent file")

    def closed(self, path: Path) -> None:
        """A document was closed: what is wrong with files on disk is in the Agents view."""
        if self._server.app.agent_files.covers(path):
            self._forget(path)
            self._publish(path, [])

    def world_changed(self) -> None:
        """Settings or other agent files have changed, and with them what names mean."""
        for path in self._server.documents.paths():
            self.changed(path, pause_s=0)

    def settings_read(self, found: Mapping[Path, tuple[Diagnostic, ...]]) -> None:
        """Show what is wrong with settings; what was wrong with a file and is not any more is taken back.

        The editor's own settings have no place to point at: each fault of theirs is one message, once.
        """
        files = {path: faults for path, faults in found.items() if path.is_absolute()}
        for path in sorted(self._settings - files.keys()):
            self._publish(path, [])
        for path, faults in files.items():
            self._publish(path, [_at_point(fault) for fault in faults])
        self._settings = frozenset(files)
        messages = {fault.message for path, faults in found.items() if path not in files for fault in faults}
        for message in sorted(messages - self._said):
            text = f"Ensign settings: {message}"
            self._server.peer.notify("window/showMessage", {"type": _WARNING, "message": text})
        self._said = messages

    async def _diagnose(self, path: Path, pause_s: float) -> None:
        await asyncio.sleep(pause_s)
        text = self._server.documents.text(path)
        if text is None:
            return
        version = self._server.documents.version(path)
        faults = await asyncio.to_thread(self._server.app.agent_files.diagnose, path, text.text)
        self._publish(path, [_of_fault(text, fault) for fault in faults], version)

    def _publish(self, path: Path, diagnostics: list[dict[str, Any]], version: int | None = None) -> None:
        params: dict[str, Any] = {"uri": self._server.documents.uri(path), "diagnostics": diagnostics}
        if version is not None:
            params["version"] = version
        self._server.peer.notify("textDocument/publishDiagnostics", params)

    def _forget(self, path: Path) -> None:
        if (cancel := self._waiting.pop(path, None)) is not None:
            cancel()


def _of_fault(text: Text, fault: Fault) -> dict[str, Any]:
    return _diagnostic(_range(text, fault.span), fault.severity, fault.code, fault.message)


def _range(text: Text, span: Span) -> dict[str, Any]:
    start, end = text.position(span.start), text.position(span.end)
    return {
        "start": {"line": start.line, "character": start.character},
        "end": {"line": end.line, "character": end.character},
    }


def _at_point(fault: Diagnostic) -> dict[str, Any]:
    start = {"line": fault.line - 1, "character": fault.column - 1}
    return _diagnostic({"start": start, "end": start}, fault.severity, fault.code, fault.message)


def _diagnostic(where: dict[str, Any], severity: str, code: str, message: str) -> dict[str, Any]:
    return {"range": where, "severity": _SEVERITIES[severity], "code": code, "source": "ensign", "message": message}
