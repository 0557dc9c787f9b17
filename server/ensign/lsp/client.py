"""What `initialize` says of the client: read loosely, since a client that says too much or too little is still one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ensign.lsp.guard import json_array, json_object, member
from ensign.lsp.uris import file_path
from ensign.protocol.value import frozen


@frozen
class Client:
    """The client and what it can do.

    Attributes:
        ours: it declares `experimental.ensign`: it has the panel, our commands and `ensign/document/save`.
        draws_approvals: it shows approvals from events and answers by `ensign/approval/answer`.
        options: its initialization options, settings below `ensign.`.
        restricted: it says that its person does not trust the workspace (VS Code's restricted mode).
        process_id: the process that must not outlive us, or None.
        registers: capabilities of documents that can be offered later, for some files only.
        asks_settings: it answers `workspace/configuration`.
    """

    name: str
    process_id: int | None
    roots: tuple[Path, ...]
    options: Mapping[str, Any]
    ours: bool
    draws_approvals: bool
    applies_edits: bool
    versioned_edits: bool
    annotated_edits: bool
    shows_documents: bool
    shows_progress: bool
    takes_action_literals: bool
    registers: frozenset[str]
    asks_settings: bool
    restricted: bool


def read_client(params: Mapping[str, Any]) -> Client:
    """Return what the parameters of `initialize` say."""
    ours = member(params, "capabilities", "experimental", "ensign")
    process_id = params.get("processId")
    edits = member(params, "capabilities", "workspace", "workspaceEdit")
    return Client(
        name=str(member(params, "clientInfo", "name") or ""),
        process_id=process_id if type(process_id) is int and process_id > 0 else None,
        roots=_roots(params),
        options=json_object(params.get("initializationOptions")) or {},
        ours=bool(ours),
        draws_approvals=bool(member(ours, "approvals")),
        applies_edits=bool(member(params, "capabilities", "workspace", "applyEdit")),
        versioned_edits=bool(member(edits, "documentChanges")),
        annotated_edits=member(edits, "changeAnnotationSupport") is not None,
        shows_documents=bool(member(params, "capabilities", "window", "showDocument", "support")),
        shows_progress=bool(member(params, "capabilities", "window", "workDoneProgress")),
        registers=_registers(params),
        asks_settings=bool(member(params, "capabilities", "workspace", "configuration")),
        takes_action_literals=bool(
            member(params, "capabilities", "textDocument", "codeAction", "codeActionLiteralSupport")
        ),
        restricted=member(ours, "trusted") is False,
    )


def _registers(params: Mapping[str, Any]) -> frozenset[str]:
    features = json_object(member(params, "capabilities", "textDocument")) or {}
    return frozenset(name for name, feature in features.items() if member(feature, "dynamicRegistration"))


def _roots(params: Mapping[str, Any]) -> tuple[Path, ...]:
    uris = [member(folder, "uri") for folder in json_array(params.get("workspaceFolders"))]
    if not uris:
        uris = [params.get("rootUri")]
    paths = [file_path(uri) for uri in uris if isinstance(uri, str)]
    root = params.get("rootPath")
    if not any(paths) and isinstance(root, str) and Path(root).is_absolute():
        paths = [Path(root)]
    return tuple(path for path in paths if path is not None)
