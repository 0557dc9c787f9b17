"""What a person has trusted, remembered in the state folder: workspace folders, and files by the hash of their content.

The record is outside of every workspace, so that nothing in a folder can speak for it (P9).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ensign.config.json_tree import JsonText, read_json_file
from ensign.config.local_rules import replace_file
from ensign.config.paths import StatePaths
from ensign.definitions.nodes import FaultError, Scalar, Table, to_data
from ensign.protocol.errors import UserError
from ensign.protocol.trusted import Trusted

_TRIES = 5


def read_trusted(paths: StatePaths, root: Path) -> Trusted:
    """Return what is trusted of a workspace folder. An unreadable record trusts nothing."""
    try:
        text = read_json_file(paths.trusted)
    except (FaultError, OSError):
        return Trusted(root=root)
    entry = text.table.get(str(root)) if text else None
    if entry is None or not isinstance(entry.node, Table):
        return Trusted(root=root)
    hashes = {
        one.key: one.node.value
        for one in entry.node.entries
        if isinstance(one.node, Scalar) and isinstance(one.node.value, str)
    }
    return Trusted(root=root, given=True, hashes=hashes)


def save_trusted(paths: StatePaths, root: Path, hashes: Mapping[str, str] | None) -> None:
    """Remember these hashes beside those that are trusted already, or with None forget the folder. It blocks.

    Raises:
        UserError: it cannot be written; the record is as it was.
    """
    try:
        for _ in range(_TRIES):
            before = paths.trusted.read_bytes() if paths.trusted.exists() else b""
            after = _changed(before, str(root), hashes)
            if replace_file(paths.trusted, before, after):
                return
    except OSError as error:
        raise UserError(f"the trust cannot be saved in {str(paths.trusted)!r}: {error.strerror or error}") from error
    raise UserError(f"the trust cannot be saved: {str(paths.trusted)!r} changes all the time; try again")


def _changed(before: bytes, folder: str, hashes: Mapping[str, str] | None) -> bytes:
    try:
        record: dict[str, Any] = to_data(JsonText(before.decode()).table)
    except (FaultError, UnicodeDecodeError):
        record = {}  # it holds nothing that could be read, and so nothing that counted
    if hashes is None:
        record.pop(folder, None)
    else:
        known: dict[str, Any] = record[folder] if isinstance(record.get(folder), dict) else {}
        record[folder] = {**known, **hashes}
    return json.dumps(record, indent=2, ensure_ascii=False).encode()
