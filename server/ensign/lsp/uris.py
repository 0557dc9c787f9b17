"""File URIs to absolute paths and back. Clients spell one file in many ways; below this folder it has one path."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from ensign.lsp.guard import INVALID_PARAMS, RpcError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # a single letter is a drive
_DRIVE = re.compile(r"/?([A-Za-z]):(?=[/\\]|\Z)")


def file_path(uri: str, *, windows: bool = os.name == "nt") -> Path | None:
    """Return the path of a file URI, or None for a document that is no file (`untitled:`, `git:`, ...).

    Percent-encoding and the case of a drive letter make no difference: `c%3A`, `c:` and `C:` are one drive, whatever
    system the server runs on.
    """
    if not uri.casefold().startswith("file:"):
        return None
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if parts.netloc and parts.netloc.casefold() != "localhost":
        path = f"//{unquote(parts.netloc)}{path}"
    elif drive := _DRIVE.match(path):
        path = f"{'' if windows else '/'}{drive[1].lower()}:{path[drive.end() :]}"
    return Path(os.path.normpath(path)) if "\0" not in path and path else None


def absolute(text: str, *, what: str) -> str:
    """Return a file URI or an absolute path as an absolute path.

    Raises:
        RpcError: it is neither; `what` names the field.
    """
    path = file_path(text) if _SCHEME.match(text) else Path(text)
    if path is None or "\0" in text or not path.is_absolute():
        raise RpcError(INVALID_PARAMS, f"{what}: must be a file URI or an absolute path, not {text!r}")
    return os.path.normpath(path)


def file_uri(path: Path) -> str:
    """Return the URI of an absolute path, encoded as VS Code does: what is unreserved stays readable."""
    text = path.as_posix()
    if text.startswith("//"):
        return f"file:{quote(text, safe='/~')}"
    return f"file://{'' if text.startswith('/') else '/'}{quote(text, safe='/~')}"
