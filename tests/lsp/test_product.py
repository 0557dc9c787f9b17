"""`ensign serve` itself, through pytest-lsp: a person with any editor explores, asks, allows and gets an edit."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

pytestmark = pytest.mark.slow


class Seen:
    """What a client was told and asked, in queues to wait on."""

    def __init__(self) -> None:
        self.questions: asyncio.Queue[types.ShowMessageRequestParams] = asyncio.Queue()
        self.edits: asyncio.Queue[types.ApplyWorkspaceEditParams] = asyncio.Queue()
        self.registered: asyncio.Queue[types.RegistrationParams] = asyncio.Queue()
        self.faults: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self.shown: asyncio.Queue[types.ShowDocumentParams] = asyncio.Queue()


def client_of(seen: Seen) -> Any:
    client: Any = make_test_lsp_client()

    def question(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        seen.questions.put_nowait(params)
        return params.actions[0] if params.actions else None

    def shown(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
        seen.shown.put_nowait(params)
        return types.ShowDocumentResult(success=True)

    def edit(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        seen.edits.put_nowait(params)
        assert params.edit.document_changes is not None
        (change,) = params.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        uri = change.text_document.uri
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                text_document=types.VersionedTextDocumentIdentifier(uri=uri, version=2),
                content_changes=[
                    types.TextDocumentContentChangePartial(range=one.range, text=one.new_text)
                    for one in change.edits
                    if isinstance(one, types.TextEdit | types.AnnotatedTextEdit)
                ],
            )
        )
        return types.ApplyWorkspaceEditResult(applied=True)

    client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)(question)
    client.feature(types.WORKSPACE_APPLY_EDIT)(edit)

    def registered(params: types.RegistrationParams) -> None:
        seen.registered.put_nowait(params)

    def faults(params: types.PublishDiagnosticsParams) -> None:
        seen.faults.put_nowait(params)

    client.feature(types.CLIENT_REGISTER_CAPABILITY)(registered)
    # Its own handlers keep lists that nothing can wait on.
    del client.protocol.fm.features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS]
    client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(faults)
    del client.protocol.fm.features[types.WINDOW_SHOW_DOCUMENT]
    client.feature(types.WINDOW_SHOW_DOCUMENT)(shown)
    return client


@pytest.fixture
async def editor(tmp_path: Path) -> AsyncIterator[tuple[LanguageClient, Seen, Path]]:
    seen = Seen()
    project = tmp_path / "project"
    project.mkdir()
    (project / "names.py").write_text("def parse_header(line):\n    return line\n", encoding="utf-8")
    (project / "use.py").write_text("from names import parse_header\n", encoding="utf-8")
    config = ClientServerConfig(
        server_command=[sys.executable, "-m", "ensign", "serve", "--stdio"],
        client_factory=lambda: client_of(seen),
        server_env={"ENSIGN_HOME": str(tmp_path / "home"), "ENSIGN_MODEL": "offline", "PATH": "/usr/bin:/bin"},
    )
    client: Any = await config.start()
    params = types.InitializeParams(
        capabilities=client_capabilities("visual-studio-code"),
        root_uri=project.as_uri(),
        workspace_folders=[types.WorkspaceFolder(uri=project.as_uri(), name="project")],
    )
    async with asyncio.timeout(60):
        await client.initialize_session(params)
        yield client, seen, project
        await client.shutdown_session()
        await client.stop()


def opened(path: Path, text: str) -> types.DidOpenTextDocumentParams:
    return types.DidOpenTextDocumentParams(
        text_document=types.TextDocumentItem(uri=path.as_uri(), language_id="python", version=1, text=text)
    )


async def test_a_symbol_is_explored_and_its_report_shown(editor: tuple[LanguageClient, Seen, Path]) -> None:
    client, seen, project = editor
    file = project / "names.py"
    client.text_document_did_open(opened(file, file.read_text(encoding="utf-8")))
    cursor = types.Position(line=0, character=6)
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(
            text_document=types.TextDocumentIdentifier(uri=file.as_uri()),
            range=types.Range(start=cursor, end=cursor),
            context=types.CodeActionContext(diagnostics=[]),
        )
    )
    assert actions is not None
    assert [action.title for action in actions] == ["Explore this with a subagent", "Ask a subagent…"]
    started: Any = await client.workspace_execute_command_async(
        types.ExecuteCommandParams(
            command="ensign.server.explore",
            arguments=[
                {
                    "uri": file.as_uri(),
                    "range": {"start": {"line": 0, "character": 6}, "end": {"line": 0, "character": 6}},
                }
            ],
        )
    )
    assert started["taskId"]
    report = Path((await seen.shown.get()).uri.removeprefix("file://")).read_text(encoding="utf-8")
    assert "use.py:1" in report


async def test_an_edit_is_asked_for_and_reaches_the_open_document(editor: tuple[LanguageClient, Seen, Path]) -> None:
    client, seen, project = editor
    file = project / "names.py"
    text = "def parse_header(line):\n    return line  # unsaved\n"
    client.text_document_did_open(opened(file, text))
    await client.workspace_execute_command_async(
        types.ExecuteCommandParams(
            command="ensign.server.ask", arguments=[{"prompt": "replace `line  # unsaved` with `None` in names.py"}]
        )
    )
    question = await seen.questions.get()
    assert question.message.startswith("[general-purpose · ")
    assert str(file) in question.message
    edit = await seen.edits.get()
    assert edit.label is not None
    assert "general-purpose" in edit.label
    assert edit.edit.document_changes is not None
    (change,) = edit.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    assert (change.text_document.uri, change.text_document.version) == (file.as_uri(), 1)
    assert file.read_text(encoding="utf-8") == "def parse_header(line):\n    return line\n"


async def test_an_agent_file_is_checked_completed_and_explained(editor: tuple[LanguageClient, Seen, Path]) -> None:
    client, seen, project = editor
    file = project / ".ensign" / "agents" / "reviewer.md"
    text = "---\nname: reviewer\ndescription: d\ntools: Raed\nmodel: \n---\nRole.\n"
    client.text_document_did_open(opened(file, text))
    offered = {one.method for one in (await seen.registered.get()).registrations}
    assert {types.TEXT_DOCUMENT_COMPLETION, types.TEXT_DOCUMENT_HOVER, types.TEXT_DOCUMENT_RENAME} <= offered
    unknown, empty = (await seen.faults.get()).diagnostics
    assert (unknown.code, unknown.range.start, empty.code) == (
        "unknown-tool",
        types.Position(line=3, character=7),
        "no-value",
    )
    document = types.TextDocumentIdentifier(uri=file.as_uri())
    context = types.CodeActionContext(diagnostics=[unknown], only=[types.CodeActionKind.QuickFix])
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(text_document=document, range=unknown.range, context=context)
    )
    assert actions is not None
    assert [action.title for action in actions] == ["Change to 'Read'"]
    items = await client.text_document_completion_async(
        types.CompletionParams(text_document=document, position=types.Position(line=4, character=7))
    )
    assert isinstance(items, list)
    assert {"inherit", "small", "opus", "offline"} <= {item.label for item in items}
    told = await client.text_document_hover_async(
        types.HoverParams(text_document=document, position=types.Position(line=3, character=2))
    )
    assert told is not None
    assert isinstance(told.contents, types.MarkupContent)
    assert told.contents.value.startswith("**tools**")
