"""What the files of a workspace folder ask for: one row for each kind of file that is believed only when trusted.

A new kind is a row in `KINDS`: where its files are, and what one of them would do if it were trusted. Whoever
reads such a file asks `Trusted.allows` with the bytes that it is about to believe. It blocks (files are read).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ensign.config.json_tree import parse_json
from ensign.config.keys import RULE_LISTS, Reach, all_keys
from ensign.config.load import MCP_FILE
from ensign.config.local_rules import local_file, shared_file
from ensign.config.notice import notice_of
from ensign.definitions.front_matter import read_front_matter
from ensign.definitions.load import read_agent
from ensign.definitions.nodes import FaultError, Items, Node, Scalar, Table, to_data
from ensign.definitions.sources import Folder, agent_files, read_bytes
from ensign.definitions.vocabulary import Vocabulary
from ensign.permissions.display import visible
from ensign.protocol.access import Mode
from ensign.protocol.definition import AgentDefinition, Source
from ensign.protocol.trust import FolderTrust, TrustFile, TrustKind
from ensign.protocol.trusted import Trusted, content_hash, encodable
from ensign.protocol.value import frozen
from ensign.workspace.git_settings import git_programs

SKILLS = (".ensign/skills", ".claude/skills")


@frozen
class Look:
    """What the kinds look at.

    Attributes:
        folders: the folders of agent files that belong to this workspace folder.
        taken: the names of agents from elsewhere, without case.
        saved: rules that the person has saved for this folder; they hold without trust (decision 0010).
    """

    root: Path
    folders: tuple[Folder, ...]
    words: Vocabulary
    taken: frozenset[str]
    saved: frozenset[str]


@frozen
class Found:
    """A file with its content, and what it asks for."""

    path: Path
    data: bytes
    asks: tuple[str, ...]


Finder = Callable[[Look], Iterable[Found]]


def review(trust: Trusted, look: Look, *, restricted: bool) -> FolderTrust:
    """List what a folder asks for, kind by kind and by name; `restricted` when the editor does not trust it."""
    seen: dict[Path, tuple[TrustKind, Found]] = {}
    for kind, find in KINDS:
        for found in find(look):
            seen.setdefault(found.path, (kind, found))
    order: list[TrustKind] = [kind for kind, _ in KINDS]
    files = sorted(seen.values(), key=lambda one: (order.index(one[0]), str(one[1].path)))
    listed = tuple(_file(kind, found, trust) for kind, found in files)
    return FolderTrust(
        path=str(look.root),
        trusted=trust.given,
        restricted=restricted,
        notice="" if restricted else notice_of(listed, trusted=trust.given),
        files=listed,
    )


def _file(kind: TrustKind, found: Found, trust: Trusted) -> TrustFile:
    name, digest = trust.name(found.path), content_hash(found.data)
    trusted = trust.allows_hash(found.path, digest)
    asks = found.asks
    if found.path.is_symlink() or not found.path.resolve().is_relative_to(found.path.parent.resolve()):
        asks = (f"is a link to {found.path.resolve()}", *asks)
    return TrustFile(
        kind=kind,
        name=visible(name).replace("\n", "⟨newline⟩"),
        path=encodable(str(found.path)),
        hash=digest,
        asks=tuple(visible(one).replace("\n", "⟨newline⟩") for one in asks),
        content=visible(found.data.decode("utf-8", errors="replace").replace("\r\n", "\n")),
        trusted=trusted,
        changed=trust.given and not trusted and name in trust.hashes,
    )


# ---- the kinds -------------------------------------------------------------------------------------------------------


def _settings(look: Look) -> Iterator[Found]:
    for path, saved in ((shared_file(look.root), frozenset[str]()), (local_file(look.root), look.saved)):
        if (read := _json(path)) and (asks := tuple(_of_settings(read[1], "", saved))):
            yield Found(path=path, data=read[0], asks=asks)


def _of_settings(table: Table, prefix: str, saved: frozenset[str]) -> Iterator[str]:
    """What settings loosen, spend or run; what no project file may set is left out here as it is when they are read."""
    reach = {key.name: key.reach for key in all_keys()}
    for entry in table.entries:
        name = f"{prefix}{entry.key}"
        kind = name.removeprefix("permissions.")
        if kind in RULE_LISTS and kind != name:
            if RULE_LISTS[kind][0] is Reach.TRUSTED:
                yield from (f"allows without asking: {rule}" for rule in _texts(entry.node) if rule not in saved)
        elif name in ("hooks", "mcpServers"):
            yield from _of_programs(name, to_data(entry.node))
        elif reach.get(name) is Reach.TRUSTED:
            yield f"sets {name} to {_shown(to_data(entry.node))}"
        elif name not in reach and isinstance(entry.node, Table):
            yield from _of_settings(entry.node, f"{name}.", saved)


def _texts(node: Node) -> list[str]:
    items = node.items if isinstance(node, Items) else (node,)
    return [item.value.strip() for item in items if isinstance(item, Scalar) and isinstance(item.value, str)]


def _of_programs(name: str, value: Any) -> Iterator[str]:
    verb = "runs commands at" if name == "hooks" else "starts the MCP server"
    if isinstance(value, Mapping):
        for key, one in cast("Mapping[str, Any]", value).items():
            yield f"{verb} {key}: {_shown(one)}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _agents(look: Look) -> Iterator[Found]:
    for folder in look.folders:
        believed = Folder(source=folder.source, path=folder.path, root=folder.root)
        for path in agent_files(folder)[0]:
            try:
                data = read_bytes(path)
                built = read_agent(data, look.words, path=path, folder=believed)
            except FaultError:
                continue  # it is no definition, and its diagnostic says so
            if built is not None and built.definition is not None:
                yield Found(path=path, data=data, asks=tuple(_of_agent(built.definition, look.taken)))


def _of_agent(agent: AgentDefinition, taken: frozenset[str]) -> Iterator[str]:
    tools = "all tools" if agent.tools is None else ", ".join(agent.tools) or "no tools"
    yield f"adds the agent {agent.name} with {tools}" + (f", on the model {agent.model}" if agent.model else "")
    if agent.name.casefold() in taken:
        yield f"replaces the agent {agent.name}"
    if agent.permission_mode not in (None, Mode.DEFAULT, Mode.PLAN):
        yield f"runs it in the mode {agent.permission_mode}"
    for rule in agent.permissions.allow:
        yield f"allows it without asking: {rule}"
    yield from _of_programs("hooks", agent.hooks)
    for server in agent.mcp_servers:
        named = isinstance(server, str)
        yield f"uses the MCP server {server}" if named else f"starts an MCP server for it: {_shown(server)}"


def _mcp(look: Look) -> Iterator[Found]:
    path = look.root / MCP_FILE
    if read := _json(path):
        servers = read[1].get("mcpServers")
        if servers is not None and (asks := tuple(_of_programs("mcpServers", to_data(servers.node)))):
            yield Found(path=path, data=read[0], asks=asks)


def _skills(look: Look) -> Iterator[Found]:
    for place in SKILLS:
        for path in sorted((look.root / place).glob("*/SKILL.md")):
            try:
                data = read_bytes(path)
                matter = read_front_matter(data)
            except FaultError:
                continue  # it is no skill
            if matter is None:
                continue
            fields = {entry.key: to_data(entry.node) for entry in matter.fields.entries}
            asks = [f"adds the skill {fields.get('name', path.parent.name)}"]
            if tools := fields.get("allowed-tools"):
                asks.append(f"lets it use without asking: {tools if isinstance(tools, str) else _shown(tools)}")
            asks += _of_programs("hooks", fields.get("hooks"))
            yield Found(path=path, data=data, asks=tuple(asks))


def _git(look: Look) -> Iterator[Found]:
    for one in git_programs(look.root):
        yield Found(path=one.path, data=one.data, asks=tuple(f"makes git run: {runs}" for runs in one.runs))


def _json(path: Path) -> tuple[bytes, Table] | None:
    try:
        data = read_bytes(path)
        return data, parse_json(data).table
    except FaultError:
        return None  # there is none, or nothing that could be believed


KINDS: tuple[tuple[TrustKind, Finder], ...] = (
    ("settings", _settings),
    ("agent", _agents),
    ("mcp", _mcp),
    ("skill", _skills),
    ("git", _git),
)


def names_elsewhere(agents: Iterable[AgentDefinition]) -> frozenset[str]:
    """The names of agents that come from outside of any workspace, without case."""
    project = (Source.PROJECT, Source.PROJECT_CLAUDE)
    return frozenset(agent.name.casefold() for agent in agents if agent.source not in project)
