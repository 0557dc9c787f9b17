"""Documents as the editor has them reach the runtime whole, each under one path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ensign.lsp.framing import MAX_FRAME
from ensign.protocol.ports import EditOutcome
from tests.lsp.conftest import Near

URI = "file:///project/a.py"


def opened(uri: str, text: str, version: int = 1) -> dict[str, Any]:
    return {"textDocument": {"uri": uri, "languageId": "python", "version": version, "text": text}}


def change(line: int, start: int, end: int, text: str) -> dict[str, Any]:
    return {
        "range": {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}},
        "text": text,
    }


async def settled(near: Near) -> list[tuple[Any, ...]]:
    await near.client.request("ensign/session/list", {})
    return near.app.documents.said


async def test_a_document_is_followed_from_opening_to_closing(near: Near) -> None:
    client = near.client
    await client.initialize()
    client.notify("textDocument/didOpen", opened(URI, 'x = "😋"\fy\nz\n'))
    changes = [change(0, 7, 7, "!"), change(1, 0, 1, "Z"), change(1, 1, 1, "Y")]
    client.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2}, "contentChanges": changes})
    whole = {"textDocument": {"uri": URI, "version": 3}, "contentChanges": [{"text": "new"}, change(0, 3, 3, "er")]}
    client.notify("textDocument/didChange", whole)
    client.notify("textDocument/didSave", {"textDocument": {"uri": URI}})
    client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert await settled(near) == [
        ("opened", "/project/a.py", 1, 'x = "😋"\fy\nz\n'),
        ("changed", "/project/a.py", 2, 'x = "😋!"\fy\nZY\n'),
        ("changed", "/project/a.py", 3, "newer"),
        ("saved", "/project/a.py"),
        ("closed", "/project/a.py"),
    ]


async def test_one_file_in_two_spellings_is_one_document(near: Near) -> None:
    client = near.client
    await client.initialize()
    client.notify("textDocument/didOpen", opened("file:///c%3A/a%40.py", "x"))
    client.notify(
        "textDocument/didChange",
        {"textDocument": {"uri": "file:///C:/a@.py", "version": 2}, "contentChanges": [change(0, 1, 1, "y")]},
    )
    assert await settled(near) == [("opened", "/c:/a@.py", 1, "x"), ("changed", "/c:/a@.py", 2, "xy")]


async def test_what_is_no_file_is_not_for_agents(near: Near) -> None:
    client = near.client
    await client.initialize()
    for uri in ("untitled:Untitled-1", "git:/project/a.py?%7B%7D"):
        client.notify("textDocument/didOpen", opened(uri, "x"))
        client.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change(0, 0, 0, "y")]},
        )
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert await settled(near) == []


async def test_a_change_of_what_is_not_open_is_not_guessed_at(near: Near) -> None:
    client = near.client
    await client.initialize()
    document = {"uri": URI, "version": 2}
    client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change(0, 0, 0, "y")]})
    assert await settled(near) == []
    client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": "whole"}]})
    assert await settled(near) == [("changed", "/project/a.py", 2, "whole")]


async def test_edits_of_a_document_whose_change_was_refused_are_refused_until_it_is_whole_again(near: Near) -> None:
    client = near.client
    await client.initialize(capabilities={"workspace": {"applyEdit": True}})
    client.notify("textDocument/didOpen", opened(URI, "x"))
    await settled(near)
    start = (
        b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"%b","version":2},"'
        % (URI.encode())
    )
    client.write(b"Content-Length: %d\r\n\r\n" % (MAX_FRAME + 1) + start + b"x" * (MAX_FRAME + 1 - len(start)))
    await settled(near)
    assert near.app.editor is not None
    edit: dict[str, Any] = {"path": Path("/project/a.py"), "version": 1, "before": "x", "after": "y", "label": "l"}
    refused = EditOutcome(applied=False, reason="'/project/a.py' was changed in the editor; read it again")
    assert await near.app.editor.apply(**edit) == refused
    client.replies["workspace/applyEdit"] = lambda params: {"applied": True}
    whole = {"textDocument": {"uri": URI, "version": 3}, "contentChanges": [{"text": "x"}]}
    client.notify("textDocument/didChange", whole)
    await settled(near)
    edit["version"] = 3
    assert await near.app.editor.apply(**edit) == EditOutcome(applied=True)


async def test_positions_are_utf_16_whatever_else_a_client_offers(near: Near) -> None:
    offered = {"general": {"positionEncodings": ["utf-8", "utf-16"]}}
    answer = await near.client.initialize(capabilities=offered)
    assert answer["result"]["capabilities"]["positionEncoding"] == "utf-16"
