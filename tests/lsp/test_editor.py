"""Edits of open documents through the client: versioned, small, one undo step with the subagent's name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ensign.protocol.ports import Editor, EditOutcome
from tests.lsp.conftest import Near
from tests.lsp.raw import Message, RawClient
from tests.lsp.test_documents import change, opened

URI = "file:///project/%61+b.py"  # as no library of ours would write it
PATH = Path("/project/a+b.py")
BEFORE = "one\ntwo\nthree\n"
AFTER = "one\n2\nthree\n"
WHOLE = {
    "applyEdit": True,
    "workspaceEdit": {"documentChanges": True, "changeAnnotationSupport": {"groupsOnLabel": True}},
}
OURS = {"ensign": {"approvals": True, "documentSave": True}}


async def ready(near: Near, workspace: Any = WHOLE, experimental: Any = None, **more: Any) -> Editor:
    await near.client.initialize(experimental=experimental, capabilities={"workspace": workspace, **more})
    near.client.notify("textDocument/didOpen", opened(URI, BEFORE, version=3))
    await near.client.request("ensign/session/list", {})
    assert near.app.editor is not None
    return near.app.editor


def applied(editor: Editor, **changes: Any) -> asyncio.Task[EditOutcome]:
    edit: dict[str, Any] = {
        "path": PATH,
        "version": 3,
        "before": BEFORE,
        "after": AFTER,
        "label": "Explore: a+b.py",
        **changes,
    }
    return asyncio.create_task(editor.apply(**edit))


async def requested(client: RawClient, method: str = "workspace/applyEdit") -> Message:
    (message,) = await client.until(lambda m: m.get("method") == method)
    return message


TWO = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 3}}


async def test_an_edit_is_versioned_small_and_labelled(near: Near) -> None:
    outcome = applied(await ready(near))
    message = await requested(near.client)
    assert message["params"] == {
        "label": "Explore: a+b.py",
        "edit": {
            "documentChanges": [
                {
                    "textDocument": {"uri": URI, "version": 3},
                    "edits": [{"range": TWO, "newText": "2", "annotationId": "ensign"}],
                }
            ],
            "changeAnnotations": {"ensign": {"label": "Explore: a+b.py"}},
        },
    }
    near.client.send({"jsonrpc": "2.0", "id": message["id"], "result": {"applied": True}})
    assert await outcome == EditOutcome(applied=True)


async def test_a_client_without_versions_gets_plain_changes(near: Near) -> None:
    outcome = applied(await ready(near, {"applyEdit": True}))
    message = await requested(near.client)
    assert message["params"]["edit"] == {"changes": {URI: [{"range": TWO, "newText": "2"}]}}
    near.client.send({"jsonrpc": "2.0", "id": message["id"], "result": {"applied": True}})
    assert await outcome == EditOutcome(applied=True)


@pytest.mark.parametrize("changes", [{"version": 2}, {"before": "else"}, {"path": Path("/project/closed.py")}])
async def test_an_edit_of_what_is_not_there_any_more_is_never_sent(near: Near, changes: Any) -> None:
    outcome = await applied(await ready(near), **changes)
    path = str(changes.get("path", PATH))
    assert outcome == EditOutcome(applied=False, reason=f"{path!r} was changed in the editor; read it again")
    assert [m for m in near.client.received if m.get("method") == "workspace/applyEdit"] == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"result": {"applied": False, "failureReason": "read-only"}}, "read-only"),
        ({"result": {"applied": False}}, "the editor did not apply the edit; read the file again"),
        ({"result": None}, "the editor did not apply the edit; read the file again"),
        ({"error": {"code": -32601, "message": "unknown"}}, "the editor refused the edit: unknown"),
    ],
)
async def test_an_edit_that_is_not_applied_says_why(near: Near, answer: Any, reason: str) -> None:
    outcome = applied(await ready(near))
    message = await requested(near.client)
    near.client.send({"jsonrpc": "2.0", "id": message["id"], **answer})
    assert await outcome == EditOutcome(applied=False, reason=reason)


async def test_typing_while_an_edit_is_under_way_is_named_as_the_reason(near: Near) -> None:
    """VS Code's client answers a stale version with `applied: false` and not a word."""
    outcome = applied(await ready(near))
    message = await requested(near.client)
    typed = {"textDocument": {"uri": URI, "version": 4}, "contentChanges": [change(0, 0, 0, "x")]}
    near.client.notify("textDocument/didChange", typed)
    near.client.send({"jsonrpc": "2.0", "id": message["id"], "result": {"applied": False}})
    assert await outcome == EditOutcome(applied=False, reason=f"{str(PATH)!r} was changed in the editor; read it again")


async def test_a_client_that_goes_away_has_not_applied_it(near: Near) -> None:
    outcome = applied(await ready(near))
    await requested(near.client)
    await near.client.close()
    assert await outcome == EditOutcome(applied=False, reason="the editor is gone")


async def test_stopping_the_agent_takes_the_edit_back_and_a_late_answer_does_nothing(near: Near) -> None:
    outcome = applied(await ready(near))
    message = await requested(near.client)
    outcome.cancel()
    assert await near.client.sent("$/cancelRequest") == [{"id": message["id"]}]
    near.client.send({"jsonrpc": "2.0", "id": message["id"], "result": {"applied": True}})
    assert "result" in await near.client.request("ensign/session/list", {})
    assert [m for m in near.client.received if m.get("method") == "window/showMessage"] == []


async def test_a_client_that_takes_no_edits_has_no_editor(near: Near) -> None:
    await near.client.initialize()
    await near.client.request("ensign/session/list", {})
    assert near.app.editor is None


@pytest.mark.parametrize(("answer", "saved"), [({"saved": True}, True), ({"saved": False}, False), (None, False)])
async def test_our_client_is_asked_to_save(near: Near, answer: Any, saved: bool) -> None:
    editor = await ready(near, experimental=OURS)
    near.client.replies["ensign/document/save"] = lambda params: answer
    assert await editor.save(path=PATH, version=3) is saved
    assert await near.client.sent("ensign/document/save") == [{"uri": URI, "version": 3}]


async def test_other_clients_are_not_asked_to_save_and_documents_are_shown_where_they_can_be(near: Near) -> None:
    editor = await ready(near)
    assert await editor.save(path=PATH, version=3) is False
    assert await editor.show(path=PATH) is False


async def test_a_document_is_shown_at_its_line(near: Near) -> None:
    editor = await ready(near, window={"showDocument": {"support": True}})
    near.client.replies["window/showDocument"] = lambda params: {"success": True}
    assert await editor.show(path=PATH, line=7) is True
    start = {"line": 6, "character": 0}
    assert await near.client.sent("window/showDocument") == [
        {"uri": URI, "takeFocus": False, "selection": {"start": start, "end": start}}
    ]


async def test_our_client_is_asked_whether_a_notebook_is_unsaved_and_others_are_not(near: Near) -> None:
    editor = await ready(near, experimental=OURS)
    near.client.replies["ensign/notebook/unsaved"] = lambda params: {"unsaved": True}
    assert await editor.unsaved_notebook(path=PATH) is True
    assert await near.client.sent("ensign/notebook/unsaved") == [{"uri": URI}]


async def test_a_client_that_cannot_tell_of_notebooks_is_not_asked(near: Near) -> None:
    assert await (await ready(near)).unsaved_notebook(path=PATH) is False
