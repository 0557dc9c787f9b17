"""What a server and its tools are called here: `mcp__server__tool`, so that a rule means what it says.

Providers take 64 letters, digits, `_` and `-`. A name that fits stays as it is. Any other is mapped and ends in a piece
of its hash, whatever else the server has: a tool that is added later can never take over a name that a rule allows.
"""

from __future__ import annotations

import hashlib
import re

MAX_NAME = 64
MAX_SERVER = 32
_FITS = re.compile(r"[A-Za-z0-9_-]+")
_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_HASH_CHARS = 6


def server_problem(name: str) -> str | None:
    """Say why a server cannot have this name, or None."""
    if not name.strip():
        return "a server needs a name"
    plain = _OTHER.sub("_", name)
    if "__" in plain or plain.startswith("_") or plain.endswith("_"):
        # `mcp__a__b` would mean tool `b` of server `a` in a rule.
        return f"the name {name!r} cannot be told from a tool's in a rule: rename it without '__' and '_' at its ends"
    return None


def server_key(name: str) -> str:
    """The name of a server as it stands in tools and rules."""
    return _mapped(name, MAX_SERVER)


def tool_name(server: str, tool: str) -> str:
    """The full name of a server's tool; `server` is a key."""
    prefix = f"mcp__{server}__"
    return prefix + _mapped(tool, MAX_NAME - len(prefix))


def _mapped(name: str, room: int) -> str:
    if _FITS.fullmatch(name) and len(name) <= room:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    return f"{_OTHER.sub('_', name)[: room - _HASH_CHARS - 1]}-{digest}"
