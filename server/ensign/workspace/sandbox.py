"""Commands in a sandbox: no network, nothing written outside of the workspace, no secrets of the person in sight.

It is bubblewrap's, from Linux's namespaces. Whether it works on this machine is tried once; where it does not, we say
why, and whoever needs it does not run.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ensign.protocol.value import frozen

_PROGRAMS = tuple(Path(folder, "bwrap") for folder in ("/usr/bin", "/usr/local/bin", "/run/current-system/sw/bin"))
"""Not by PATH, which may name a folder of the workspace."""
_FIXED = (
    *("--unshare-all", "--die-with-parent", "--cap-drop", "ALL"),
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
)
_PRIVATE = (Path("/tmp"), Path("/var/tmp"), Path("/run"))  # noqa: S108 - they are replaced, not written to
"""Empty in the sandbox: others' files, and the sockets of services that would do for a command what it may not."""
_SYSTEM = Path("/run/current-system")
_SECRETS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".terraform.d", ".config/gcloud"),
    *(".config/gh", ".config/op", ".config/git/credentials", ".local/share/keyrings", ".mozilla", ".thunderbird"),
    *(".config/google-chrome", ".config/chromium", ".netrc", ".git-credentials", ".pgpass", ".my.cnf", ".npmrc"),
    *(".pypirc", ".vault-token", ".cargo/credentials", ".cargo/credentials.toml", ".bash_history", ".zsh_history"),
)
_TRIAL_S = 5.0

_Place = tuple[Path, tuple[str, ...]]
"""A place in the sandbox, and the words that make it."""


@frozen
class Confinement:
    """What a command may do in a sandbox.

    Attributes:
        folders: the workspace. It is seen even where what lies above it is hidden, as are `readable` and the
            working directory.
        writable: whether it may write in them.
        kept: what it may not write there either; only what exists can be kept.
        required: it must not run outside of a sandbox.
    """

    folders: tuple[Path, ...]
    writable: bool
    readable: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    required: bool


class Sandbox:
    """Bubblewrap as it is on this machine."""

    def __init__(self, *, home: Path, hidden: Sequence[Path] = (), programs: Sequence[Path] = _PROGRAMS) -> None:
        """Take what does not change from command to command.

        Args:
            home: the person's; their secrets in it are hidden.
            hidden: more folders that no command is to see.
            programs: where bubblewrap may be; the first that is there is taken.
        """
        self._hidden = (*(home / name for name in _SECRETS), *hidden)
        self._programs = programs
        self._trial: asyncio.Task[str | None] | None = None

    @property
    def program(self) -> Path | None:
        """The bubblewrap that is used, or None where there is none."""
        return next((path for path in self._programs if os.access(path, os.X_OK)), None)

    async def problem(self) -> str | None:
        """Why commands cannot be confined on this machine, with what would help; None where they can."""
        if self._trial is None:
            self._trial = asyncio.create_task(self._try(), name="try the sandbox")
        return await asyncio.shield(self._trial)

    def wrap(self, argv: Sequence[str], cwd: Path, confinement: Confinement) -> list[str]:
        """Return what to run instead, where there is no `problem`."""
        places: list[_Place] = [
            (path, ("--tmpfs", str(path))) for path in _PRIVATE if path.is_dir() and not path.is_symlink()
        ]
        seen = [_SYSTEM, *confinement.readable]
        if not any(cwd.is_relative_to(folder) for folder in confinement.folders):
            seen.append(cwd.resolve())
        places += [_bound(path, "--ro-bind") for path in seen if path.exists()]
        bind = "--bind" if confinement.writable else "--ro-bind"
        places += [_bound(path, bind) for path in confinement.folders if path.is_dir()]
        kept = [path for path in confinement.kept if path.exists()]
        places += [_bound(above, bind) for path in kept for above in _between(path, confinement.folders)]
        places += [_bound(path, "--ro-bind") for path in kept]
        places += [_hidden(path.resolve()) for path in self._hidden if path.exists()]
        # What lies deeper comes later and wins: the workspace below /tmp, and the secrets below the workspace. In one
        # place the later of the list wins.
        places.sort(key=lambda place: len(place[0].parts))
        return [
            *(str(self.program), *_FIXED),
            *(word for _, words in places for word in words),
            *("--chdir", str(cwd), "--", *argv),
        ]

    async def _try(self) -> str | None:
        if sys.platform != "linux":
            return "sandboxes need Linux"
        if self.program is None:
            return "bubblewrap is not installed (on Debian and Ubuntu: apt install bubblewrap)"
        nothing = Confinement(folders=(), writable=False, required=True)
        try:
            process = await asyncio.create_subprocess_exec(
                *self.wrap(("/bin/sh", "-c", ":"), Path("/"), nothing),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env={},
            )
        except OSError as error:
            return f"{self.program} does not run: {error.strerror}"
        try:
            async with asyncio.timeout(_TRIAL_S):
                _, errors = await process.communicate()
        except TimeoutError:
            return f"{self.program} did not answer in {_TRIAL_S:g} s"
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode == 0:
            return None
        said = errors.decode("utf-8", "replace").strip()[:300] or f"exit code {process.returncode}"
        return f"this machine does not let bubblewrap make namespaces ({said})"


def _between(path: Path, folders: Sequence[Path]) -> list[Path]:
    """What lies between a workspace folder and `path`: places of their own, so that nobody renames them with it."""
    return [
        above for above in path.parents if any(above != folder and above.is_relative_to(folder) for folder in folders)
    ]


def _bound(path: Path, how: str) -> _Place:
    return path, (how, str(path), str(path))


def _hidden(path: Path) -> _Place:
    # An empty file would do as well, but there is none to be had; others' devices do not open in a sandbox.
    return path, (("--tmpfs", str(path)) if path.is_dir() else ("--dev-bind", "/dev/null", str(path)))
