"""Every request gets one answer, and what is wrong with it is said: `lsp-notes` 1.1 to 1.3 and 1.6, over a socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ensign.lsp.framing import MAX_FRAME
from ensign.protocol import wire
from tests.lsp.conftest import Near
from tests.lsp.raw import framed


def error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


@pytest.mark.parametrize("params", [(), (None,), ([],), ([None],), ({},)])
async def test_no_parameters_are_said_in_five_ways(near: Near, params: tuple[Any, ...]) -> None:
    await near.client.initialize()
    assert await near.client.request("ensign/session/list", *params) == {"result": {"sessions": []}}
    assert near.app.calls == [wire.Empty()]


async def test_a_message_within_the_parameters_is_data(near: Near) -> None:
    """The library takes every nested object with a `jsonrpc` key for a message of its own."""
    await near.client.initialize()
    text = {"jsonrpc": "2.0", "id": 7, "method": "exit"}
    answer = await near.client.request("ensign/session/open", {"cwd": "/a", "text": text, "type_name": "x", "b-c": 1})
    assert answer["result"]["sessionId"] == "s1"


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("ensign/session/open", {}, "params.cwd: Field required"),
        ("ensign/session/open", {"cwd": 7}, "params.cwd: Input should be a valid string"),
        ("ensign/session/open", {"cwd": "a/b"}, "params.cwd: must be a file URI or an absolute path, not 'a/b'"),
        ("ensign/session/open", "/a", "params: must be an object"),
        ("ensign/session/open", ["/a"], "params: must be an object"),
        ("ensign/task/stop", {"ids": ["a", 7]}, "params.ids.1: Input should be a valid string"),
        (
            "ensign/agent/run",
            {"agent": "a", "prompt": "b", "range": {"start": {"line": 1}}},
            "params.range.start.character: Field required",
        ),
        ("textDocument/codeAction", {"textDocument": {"uri": "file:///a"}}, "params.range: required field missing"),
    ],
)
async def test_wrong_parameters_name_the_field(near: Near, method: str, params: Any, message: str) -> None:
    await near.client.initialize()
    assert await near.client.request(method, params) == error(-32602, message)
    assert await near.client.request("ensign/session/list", {}) == {"result": {"sessions": []}}


async def test_a_method_that_is_not_there_says_so(near: Near) -> None:
    await near.client.initialize()
    assert await near.client.request("ensign/no/such", {}) == error(-32601, "no method 'ensign/no/such'")


async def test_a_notification_that_is_not_there_is_ignored(near: Near) -> None:
    await near.client.initialize()
    near.client.notify("$/ensign/no/such", {})
    assert "result" in await near.client.request("ensign/session/list", {})
    assert [m for m in near.client.received if "method" in m] == []


async def test_what_the_user_must_mend_is_told_in_its_own_words(near: Near) -> None:
    await near.client.initialize()
    answer = await near.client.request("ensign/session/rename", {"sessionId": "s9", "title": "x"})
    assert answer == error(-32803, "no session 's9'")


async def test_a_field_that_only_the_runtime_can_refuse_is_still_a_wrong_parameter(near: Near) -> None:
    await near.client.initialize()
    assert await near.client.request("ensign/task/wrapUp", {"id": "t1"}) == error(-32602, "params.id: is not running")


async def test_a_bug_is_one_sentence_without_a_traceback(near: Near, caplog: pytest.LogCaptureFixture) -> None:
    await near.client.initialize()
    answer = await near.client.request("ensign/session/delete", {"sessionId": "s1"})
    said = "internal error in 'ensign/session/delete'; the server's log has the details"
    assert answer == error(-32603, said)
    assert "ZeroDivisionError: a bug with /secret/paths" in caplog.text


async def test_a_bug_in_a_notification_is_no_popup(near: Near, caplog: pytest.LogCaptureFixture) -> None:
    await near.client.initialize()
    near.client.notify("textDocument/didOpen", {"textDocument": 7})
    assert "result" in await near.client.request("ensign/session/list", {})
    assert [m for m in near.client.received if "method" in m] == []
    assert "'textDocument/didOpen' failed: params.textDocument.uri: invalid value" in caplog.text


async def test_lone_bad_json_is_answered_and_the_stream_goes_on(near: Near) -> None:
    await near.client.initialize()
    for bad in (b"{nonsense", b"", b"\xff\xfe\xff", b"[" * 200_000, b"1" * 5_000):
        near.client.write(framed(bad))
    answers = await near.client.until(lambda m: m.get("id", 0) is None, 5)
    assert {(m["error"]["code"]) for m in answers} <= {-32700, -32600}
    assert "result" in await near.client.request("ensign/session/list", {})


@pytest.mark.parametrize(
    ("message", "answered"),
    [
        ([], None),
        ([{"jsonrpc": "2.0", "id": 5, "method": "ensign/session/list"}], None),
        ("text", None),
        ({}, None),
        ({"id": 5, "method": "ensign/session/list"}, 5),
        ({"jsonrpc": "1.0", "id": 5, "method": "ensign/session/list"}, 5),
        ({"jsonrpc": "2.0", "id": 5}, 5),
        ({"jsonrpc": "2.0", "id": 5, "method": 7}, 5),
        ({"jsonrpc": "2.0", "id": None, "method": "ensign/session/list"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ensign/session/list"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ensign/session/list"}, None),
        ({"jsonrpc": "2.0", "id": {}, "method": "ensign/session/list"}, None),
    ],
)
async def test_what_is_no_request_is_answered_as_far_as_it_can_be(
    near: Near, message: Any, answered: int | None
) -> None:
    near.client.send(message)
    answer = await near.client.answer(answered)
    assert answer["error"]["code"] == -32600


async def test_ids_of_both_kinds_come_back_as_they_were(near: Near) -> None:
    await near.client.initialize()
    for identifier in ("a", "7", 7, -3, 0, 2**60):
        near.client.send({"jsonrpc": "2.0", "id": identifier, "method": "ensign/session/list"})
        assert await near.client.answer(identifier) == {"result": {"sessions": []}}


async def test_an_id_that_is_in_use_is_refused(near: Near) -> None:
    await near.client.initialize()
    near.client.send({"jsonrpc": "2.0", "id": "a", "method": "ensign/turn/start", "params": _turn("wait")})
    near.client.send({"jsonrpc": "2.0", "id": "a", "method": "ensign/session/list"})
    assert await near.client.answer("a") == error(-32600, "id: 'a' is already running")


def _turn(text: str) -> dict[str, Any]:
    return {"sessionId": "s1", "text": text}


async def test_cancelling_ends_a_running_request(near: Near) -> None:
    await near.client.initialize()
    waiting = near.client.ask("ensign/turn/start", _turn("wait"))
    await near.client.request("ensign/session/list", {})
    near.client.notify("$/cancelRequest", {"id": waiting})
    assert await near.client.answer(waiting) == error(-32800, "'ensign/turn/start' was cancelled")


async def test_cancelling_before_the_first_step_is_answered_too(near: Near) -> None:
    """Both messages in one write: the task is cancelled before it has run at all."""
    await near.client.initialize()
    both = (
        {"jsonrpc": "2.0", "id": 50, "method": "ensign/turn/start", "params": _turn("wait")},
        {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 50}},
    )
    near.client.write(b"".join(map(framed, both)))
    assert await near.client.answer(50) == error(-32800, "'ensign/turn/start' was cancelled")


@pytest.mark.parametrize("params", [{"id": 999}, {"id": None}, {"id": []}, {}, None, "x"])
async def test_cancelling_what_is_not_running_does_nothing(near: Near, params: Any) -> None:
    await near.client.initialize()
    near.client.notify("$/cancelRequest", params)
    assert "result" in await near.client.request("ensign/session/list", {})


async def test_before_initialize_and_after_shutdown_requests_are_refused(near: Near) -> None:
    client = near.client
    early = await client.request("ensign/session/list", {})
    assert early == error(-32002, "'ensign/session/list' came before `initialize`")
    await client.initialize()
    assert await client.request("initialize", {}) == error(-32600, "`initialize` came twice")
    assert await client.request("shutdown") == {"result": None}
    late = await client.request("ensign/session/list", {})
    assert late == error(-32600, "'ensign/session/list' came after `shutdown`")


async def test_shutdown_answers_what_is_under_way(near: Near) -> None:
    await near.client.initialize()
    argument = {"uri": "file:///project/a.py"}
    waiting = near.client.ask("ensign/turn/start", _turn("wait"))
    command = near.client.ask("workspace/executeCommand", {"command": "ensign.server.explore", "arguments": [argument]})
    stopping = near.client.ask("shutdown")
    assert await near.client.answer(stopping) == {"result": None}
    assert await near.client.answer(waiting) == error(-32800, "'ensign/turn/start' was cancelled")
    assert set(await near.client.answer(command)) & {"result", "error"}
    assert near.app.closed == ["window closed"]
    near.client.notify("exit")
    assert await near.code == 0


async def test_exit_without_shutdown_is_a_failure(near: Near) -> None:
    await near.client.initialize()
    await near.client.request("ensign/session/list", {})
    near.client.notify("exit")
    assert await near.code == 1
    assert near.app.closed == ["window closed"]


async def test_a_frame_over_the_limit_is_refused_by_its_id(near: Near) -> None:
    await near.client.initialize()
    start = b'{"jsonrpc":"2.0","id":77,"method":"ensign/turn/start","params":{"sessionId":"s1","text":"'
    end = b'"}}'
    size = MAX_FRAME + 1
    near.client.write(b"Content-Length: %d\r\n\r\n" % size + start + b"x" * (size - len(start + end)) + end)
    refused = await near.client.answer(77)
    assert refused == error(-32600, f"a message of {size} bytes is over the limit of 64 MiB")
    assert "result" in await near.client.request("ensign/session/list", {})


async def test_a_key_is_in_no_log(near: Near, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    await near.client.initialize()
    secret = {"provider": "openai", "key": "sk-very-secret"}
    assert await near.client.request("ensign/model/key", secret) == {"result": {}}
    assert (await near.client.request("ensign/model/key", {**secret, "provider": 7}))["error"]["code"] == -32602
    near.client.write(b"lost sk-very-secret" + framed(b'{"key": "sk-very-secret"'))
    await near.client.until(lambda m: m.get("id", 0) is None, 2)
    assert "sk-very-secret" not in caplog.text + str(near.client.received)


async def test_a_message_of_20_megabytes_arrives(near: Near) -> None:
    await near.client.initialize()
    text = "wörd " * 4_000_000
    assert await near.client.request("ensign/turn/start", _turn(text)) == {"result": {"turnId": "1"}}
    assert near.app.calls == [wire.TurnStart(session_id="s1", text=text)]


async def test_many_small_objects_do_not_hold_the_loop(near: Near) -> None:
    """A namedtuple class for each of them took pygls 100 ms and more."""
    await near.client.initialize()
    context = [{"uri": f"file:///project/{n}.py", "text": "x" * 50} for n in range(500)]
    await near.client.request("ensign/turn/start", {**_turn("x"), "context": context})
    (started,) = near.app.calls
    assert started.context[499] == wire.ContextItem(uri="/project/499.py", text="x" * 50)


async def test_nothing_is_kept_of_messages_that_are_done(near: Near) -> None:
    await near.client.initialize()
    await near.client.request("ensign/session/list", {})
    before = len(asyncio.all_tasks())
    document = {"uri": "file:///project/a.py", "version": 1}
    near.client.notify("textDocument/didOpen", {"textDocument": {**document, "languageId": "python", "text": ""}})
    for _ in range(300):
        near.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": "x"}]})
        near.client.ask("workspace/executeCommand", {"command": "ensign.server.tasks"})
    await near.client.request("ensign/session/list", {})
    await near.client.sent("window/showMessage", 300)
    assert len(asyncio.all_tasks()) == before


async def test_half_a_surrogate_pair_does_not_break_the_stream(near: Near) -> None:
    await near.client.initialize()
    assert await near.client.request("ensign/turn/start", _turn("half a pair")) == {"result": {"turnId": "\ud83d"}}


async def test_a_runtime_that_cannot_be_built_says_why_in_every_answer(near: Near) -> None:
    await near.client.initialize(initializationOptions={"refuse": "settings.json: line 3: no such mode"})
    answer = await near.client.request("ensign/session/list", {})
    assert answer == error(-32803, "settings.json: line 3: no such mode")
    (shown,) = await near.client.sent("window/showMessage")
    assert shown == {"type": 1, "message": "Ensign: settings.json: line 3: no such mode"}
    assert await near.client.request("shutdown") == {"result": None}


async def test_a_bug_while_building_is_answered_too(near: Near) -> None:
    await near.client.initialize(initializationOptions={"break": True})
    answer = await near.client.request("ensign/session/list", {})
    assert answer == error(-32603, "the runtime could not be built; the server's log has the details")
