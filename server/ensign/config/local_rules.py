"""Saving an "always" answer: a rule in the project's local settings, and the person's own record that they gave it.

The record is what makes the rule hold in a workspace that is not trusted: a repository may bring a local settings file
of its own, and what that allows is nobody's answer (decision 0010).
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from ensign.config.json_tree import JsonText, read_json_file
from ensign.config.paths import StatePaths
from ensign.config.rules import check_rule
from ensign.definitions.nodes import FaultError, Items, Scalar, Table, to_data
from ensign.definitions.sources import read_bytes
from ensign.protocol.errors import UserError

_TRIES = 5


def local_file(root: Path) -> Path:
    """The settings of a workspace folder that are one person's own and not committed."""
    return root / ".ensign" / "settings.local.json"


def shared_file(root: Path) -> Path:
    """The settings of a workspace folder that everybody who works in it shares."""
    return root / ".ensign" / "settings.json"


def add_rule(paths: StatePaths, root: Path, rule: str) -> None:
    """Append `rule` to `permissions.allow` of the local settings, keeping all else, and record that it was given.

    It blocks. A rule that is there already is not added again.

    Raises:
        UserError: it cannot be saved; the settings are as they were. The caller goes on with a grant for the session.
    """
    rule = rule.strip()
    if problem := check_rule(rule):
        raise UserError(f"the rule {rule!r} cannot be saved: {problem}")
    path = local_file(root)
    if path.parent.is_symlink() or path.is_symlink():
        raise UserError(f"{str(path)!r} is a link; a rule is not saved through it")
    try:
        _record(paths, root, rule)
        _rewrite(path, rule)
        _ignore(path)
    except (OSError, FaultError) as error:
        raise UserError(f"the rule {rule!r} cannot be saved in {str(path)!r}: {_reason(error)}") from error


def granted_rules(paths: StatePaths, root: Path) -> frozenset[str]:
    """The rules that the person has saved for this folder. An unreadable record holds none."""
    try:
        text = read_json_file(paths.granted)
    except (FaultError, OSError):
        return frozenset()
    entry = text.table.get(str(root.resolve())) if text else None
    items = entry.node.items if entry and isinstance(entry.node, Items) else ()
    return frozenset(item.value for item in items if isinstance(item, Scalar) and isinstance(item.value, str))


def with_rule(text: str, rule: str) -> str:
    """Return the settings text with the rule in it; everything else, comments included, stays as it is.

    Raises:
        FaultError: the text is not JSON, or its `permissions.allow` is no list.
    """
    table = JsonText(text).table
    quoted = json.dumps(rule, ensure_ascii=False)
    dotted, permissions = table.get("permissions.allow"), table.get("permissions")
    allow = dotted
    if allow is None and permissions is not None:
        if not isinstance(permissions.node, Table):
            raise FaultError("bad-value", "'permissions' must be an object", permissions.node.mark)
        allow = permissions.node.get("allow")
        if allow is None:
            return _into_table(text, permissions.node, f'"allow": [{quoted}]')
    if allow is None:
        return _into_table(text, table, f'"permissions": {{"allow": [{quoted}]}}')
    if not isinstance(allow.node, Items):
        raise FaultError("bad-value", "'permissions.allow' must be a list", allow.node.mark)
    if any(isinstance(item, Scalar) and item.value == rule for item in allow.node.items):
        return text
    return _into_list(text, allow.node, quoted)


def _into_list(text: str, items: Items, piece: str) -> str:
    if not items.items:
        at = items.span[1] - 1
        return text[:at] + piece + text[at:]
    start, end = items.items[-1].span
    before = text[text.rfind("\n", 0, start) + 1 : start]
    gap = f"\n{before}" if before.strip() == "" and "\n" in text[items.span[0] : start] else " "
    return f"{text[:end]},{gap}{piece}{text[end:]}"


def _into_table(text: str, table: Table, piece: str) -> str:
    if table.span == (0, 0):  # an empty file
        return f"{{\n  {piece}\n}}\n"
    at = table.span[0] + 1
    if not table.entries:
        return text[:at] + piece + text[at:]
    following = text[at:]
    blank = following[: len(following) - len(following.lstrip())]
    return text[:at] + (blank if "\n" in blank else " ") + piece + "," + following


def _rewrite(path: Path, rule: str) -> None:
    path.parent.mkdir(exist_ok=True)
    for _ in range(_TRIES):
        before = read_bytes(path) if path.exists() else b""
        # Another window may have saved a rule meanwhile: then start again from its text.
        if replace_file(path, before, rewritten(before, rule)):
            return
    raise OSError("it changes all the time")


def rewritten(before: bytes, rule: str) -> bytes:
    """Return the content of a settings file with the rule in it.

    Raises:
        FaultError: as `with_rule`.
    """
    mark = b"\xef\xbb\xbf" if before.startswith(b"\xef\xbb\xbf") else b""
    if not before.strip():
        return (json.dumps({"permissions": {"allow": [rule]}}, indent=2, ensure_ascii=False) + "\n").encode()
    return mark + with_rule(before.removeprefix(mark).decode(), rule).encode()


def replace_file(path: Path, before: bytes, after: bytes) -> bool:
    """Put the new content in place in one step, unless the file is no longer what it was."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        if (path.read_bytes() if path.exists() else b"") != before:
            return False
        if path.exists():
            Path(name).chmod(path.stat().st_mode & 0o777)
        Path(name).replace(path)
        return True
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _ignore(path: Path) -> None:
    """Keep the file out of version control by an ignore file beside it, which names itself if it is new."""
    ignore = path.parent / ".gitignore"
    if ignore.is_symlink():
        return
    if not ignore.exists():
        ignore.write_text(f"{path.name}\n.gitignore\n", encoding="utf-8")
        return
    text = ignore.read_text(encoding="utf-8", errors="replace")
    if path.name not in text.split():
        with ignore.open("a", encoding="utf-8") as file:
            file.write(f"{'' if text.endswith(chr(10)) or not text else chr(10)}{path.name}\n")


def _record(paths: StatePaths, root: Path, rule: str) -> None:
    paths.granted.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = str(root.resolve())
    for _ in range(_TRIES):
        before = paths.granted.read_bytes() if paths.granted.exists() else b""
        if rule in granted_rules(paths, root):
            return
        record = to_data(JsonText(before.decode()).table)
        record[folder] = [*record.get(folder, ()), rule]
        if replace_file(paths.granted, before, json.dumps(record, indent=2, ensure_ascii=False).encode()):
            return
    raise OSError("the record of saved rules changes all the time")


def _reason(error: OSError | FaultError) -> str:
    if isinstance(error, FaultError):
        return f"line {error.note.mark.line}: {error.note.message}"
    return error.strerror or str(error)
