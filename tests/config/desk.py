"""The one place in these tests that knows where settings files are and how they are loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ensign.config.load import Flags, Loaded, Start, load
from ensign.config.paths import StatePaths
from ensign.protocol.settings import Settings
from ensign.protocol.trusted import Trusted, content_hash


class Desk:
    """A person's home, a project and a system-wide policy on a real disk."""

    def __init__(self, base: Path) -> None:
        self.root = base / "project"
        self.paths = StatePaths(
            home=base / "state", state=base / "state", user_home=base / "home", policy=base / "etc" / "policy.json"
        )
        self.local = self.root / ".ensign" / "settings.local.json"
        self.project = self.root / ".ensign" / "settings.json"
        self.root.mkdir()

    def write(self, path: Path, content: Any) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def load(
        self,
        *,
        flags: Flags = Flags(),  # noqa: B008 - a frozen value
        options: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        trusted: bool = True,
        before: Loaded | None = None,
    ) -> Loaded:
        start = Start(environ=environ or {}, flags=flags, options=options or {})
        return load(self.paths, start, root=self.root, trust=self.trust() if trusted else None, before=before)

    def trust(self) -> Trusted:
        """Trust in the files of the project, as they are now."""
        files = [path for path in (self.project, self.local, self.root / ".mcp.json") if path.is_file()]
        hashes = {path.relative_to(self.root).as_posix(): content_hash(path.read_bytes()) for path in files}
        return Trusted(root=self.root, given=True, hashes=hashes)

    def settings(self, **kwargs: Any) -> Settings:
        return self.load(**kwargs).settings

    def problems(self, **kwargs: Any) -> list[tuple[str, int, int, str, str]]:
        return [
            (item.path.name, item.line, item.column, item.severity, item.code)
            for item in self.load(**kwargs).diagnostics
        ]
