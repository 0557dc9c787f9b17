"""What an editor without our extension gets: code actions, commands, progress, reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ensign.protocol import wire
from ensign.protocol.messages import Usage
from ensign.protocol.tasks import Envelope, Facts, TaskState
from tests.lsp.conftest import Near
from tests.lsp.raw import RawClient
from tests.lsp.test_documents import opened

URI = "file:///project/src/a.py"
TEXT = "def parse_header(line):\n    return line\n\n# where is the cache?\n"
WINDOW = {"window": {"showDocument": {"support": True}, "workDoneProgress": True}}
OURS = {"ensign": {"approvals": True, "documentSave": True}}


def place(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


async def ready(near: Near, experimental: Any = None, **capabilities: Any) -> RawClient:
    await near.client.initialize(experimental=experimental, capabilities={**WINDOW, **capabilities})
    near.client.notify("textDocument/didOpen", opened(URI, TEXT))
    await near.client.request("ensign/session/list", {})
    near.app.calls.clear()
    near.app.called.clear()
    return near.client


async def actions(client: RawClient, where: dict[str, Any], **context: Any) -> Any:
    params: dict[str, Any] = {"textDocument": {"uri": URI}, "range": where, "context": {"diagnostics": [], **context}}
    return (await client.request("textDocument/codeAction", params))["result"]


async def execute(client: RawClient, command: str, *arguments: Any) -> Any:
    return await client.request("workspace/executeCommand", {"command": command, "arguments": list(arguments)})


LITERALS: dict[str, Any] = {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}}


async def test_a_symbol_can_be_explored(near: Near) -> None:
    client = await ready(near, textDocument=LITERALS)
    argument = {"uri": URI, "range": place(0, 6, 6)}
    explore, ask = await actions(client, place(0, 6, 6))
    said = "Explore this with a subagent"
    assert explore == {
        "title": said,
        "command": {"title": said, "command": "ensign.server.explore", "arguments": [argument]},
    }
    assert ask["command"] == {
        "title": "Ask a subagent…", "command": "ensign.server.ask", "arguments": [argument],
    }  # fmt: skip
    started = await execute(client, explore["command"]["command"], *explore["command"]["arguments"])
    assert started == {"result": {"taskId": "t1", "sessionId": "s1"}}
    (run,) = near.app.calls
    assert run == wire.AgentRun(
        agent="Explore",
        prompt="Explore `parse_header` (src/a.py:1): what it is, where it is defined and used, and how it works. "
        "Give path:line evidence for each statement.",
        uri="/project/src/a.py",
        range=wire.Range(start=wire.Position(line=0, character=6), end=wire.Position(line=0, character=6)),
    )


async def test_a_client_without_action_literals_gets_commands(near: Near) -> None:
    client = await ready(near)
    assert [action["command"] for action in await actions(client, place(0, 6, 6))] == [
        "ensign.server.explore",
        "ensign.server.ask",
    ]


async def test_our_own_client_gets_its_own_commands_and_none_to_register(near: Near) -> None:
    answer = await near.client.initialize(experimental=OURS)
    assert "executeCommandProvider" not in answer["result"]["capabilities"]
    near.client.notify("textDocument/didOpen", opened(URI, TEXT))
    assert [action["command"] for action in await actions(near.client, place(0, 6, 6))] == [
        "ensign.explore",
        "ensign.ask",
    ]


async def test_the_methods_that_are_answered_are_listed(near: Near) -> None:
    capabilities = (await near.client.initialize())["result"]["capabilities"]
    methods = capabilities["experimental"]["ensign"]["methods"]
    assert {"ensign/session/open", "ensign/turn/start", "ensign/task/stop", "ensign/model/key"} <= set(methods)
    assert capabilities["executeCommandProvider"]["commands"] == [
        "ensign.server.explore",
        "ensign.server.ask",
        "ensign.server.tasks",
        "ensign.server.stop",
        "ensign.server.resume",
        "ensign.server.send",
    ]


@pytest.mark.parametrize("where", [place(2, 0, 0), place(0, 23, 23), place(99, 0, 0)])
async def test_between_words_there_is_no_light_bulb(near: Near, where: dict[str, Any]) -> None:
    client = await ready(near)
    assert await actions(client, where) == []


async def test_a_client_that_wants_one_kind_only_gets_none_of_ours(near: Near) -> None:
    client = await ready(near)
    assert await actions(client, place(0, 6, 6), only=["source.organizeImports"]) == []


async def test_the_selected_text_is_the_task_when_no_other_is_given(near: Near) -> None:
    client = await ready(near)
    await execute(client, "ensign.server.ask", {"uri": URI, "range": place(3, 2, 21)})
    await execute(client, "ensign.server.ask", {"prompt": "count to three", "agent": "Plan"})
    assert [(run.agent, run.prompt) for run in near.app.calls] == [
        ("general-purpose", "where is the cache?"),
        ("Plan", "count to three"),
    ]


@pytest.mark.parametrize(
    ("command", "argument", "message"),
    [
        ("ensign.server.explore", {}, "params.arguments.0.uri: Field required"),
        ("ensign.server.ask", {}, "params.arguments.0.prompt: pass a prompt, or select the text that asks"),
        ("ensign.server.explore", {"uri": "untitled:x"}, "params.arguments.0.uri: must be a file URI"),
        ("ensign.server.stop", {}, "params.arguments.0.ids: Field required"),
        ("ensign.server.fly", {}, "params.command: no command 'ensign.server.fly'"),
    ],
)
async def test_a_wrong_command_says_what_is_wrong(near: Near, command: str, argument: Any, message: str) -> None:
    client = await ready(near)
    error = (await execute(client, command, argument))["error"]
    assert error["code"] == -32602
    assert error["message"].startswith(message)


async def test_tasks_are_listed_for_the_person_and_stopped_by_id(near: Near) -> None:
    client = await ready(near)
    await execute(client, "ensign.server.tasks")
    near.app.task("t1", agent="Explore", description="find it")
    listed = await execute(client, "ensign.server.tasks")
    assert [task["id"] for task in listed["result"]["tasks"]] == ["t1"]
    assert await client.sent("window/showMessage", 2) == [
        {"type": 3, "message": "No tasks yet"},
        {"type": 3, "message": "t1  running  Explore: find it"},
    ]
    stopped = await execute(client, "ensign.server.stop", {"ids": ["t1"]})
    assert stopped == {"result": {"stopped": ["t1"], "notFound": []}}


def ended(state: TaskState, report: str = "found it", reason: str = "") -> dict[str, Any]:
    envelope = Envelope(
        status="completed",
        reason=reason,
        agent_id="agent-t1",
        task_id="t1",
        report=report,
        cut=False,
        facts=Facts(),
        usage=Usage(),
        output_file="/reports/t1.md",
        can_read_output_file=True,
    )
    return {"state": state, "reason": reason, "envelope": envelope}


async def test_the_report_of_a_started_task_is_shown_when_it_has_ended(near: Near) -> None:
    client = await ready(near)
    client.replies["window/showDocument"] = lambda params: {"success": True}
    await execute(client, "ensign.server.explore", {"uri": URI})
    near.app.task("other", **ended(TaskState.COMPLETED))
    near.app.task("t1", **ended(TaskState.COMPLETED))
    assert await client.sent("window/showDocument") == [{"uri": "file:///reports/t1.md", "takeFocus": False}]


async def test_a_task_is_sent_a_message_and_the_report_of_a_resumed_one_is_shown(near: Near) -> None:
    client = await ready(near)
    client.replies["window/showDocument"] = lambda params: {"success": True}
    near.app.task("t1", **ended(TaskState.STOPPED))
    resumed = await execute(client, "ensign.server.resume", {"id": "t1"})
    assert resumed == {"result": {"taskId": "t1", "sessionId": "s1"}}
    assert await execute(client, "ensign.server.send", {"id": "t1", "message": "hurry"}) == {"result": {}}
    assert near.app.calls == [wire.TaskSend(id="t1"), wire.TaskSend(id="t1", message="hurry")]
    near.app.task("t1", **ended(TaskState.COMPLETED))
    assert await client.sent("window/showDocument") == [{"uri": "file:///reports/t1.md", "takeFocus": False}]


async def test_a_client_that_cannot_show_documents_is_told_where_the_report_is(near: Near) -> None:
    client = await ready(near, window={"workDoneProgress": False})
    await execute(client, "ensign.server.explore", {"uri": URI})
    near.app.task("t1", **ended(TaskState.PARTIAL, reason="25 steps"))
    said = "Explore: find it: partial (25 steps); its report is in /reports/t1.md"
    assert await client.sent("window/showMessage") == [{"type": 2, "message": said}]


async def test_a_task_without_a_report_says_how_it_ended(near: Near) -> None:
    client = await ready(near)
    await execute(client, "ensign.server.explore", {"uri": URI})
    near.app.task("t1", **ended(TaskState.FAILED, report="", reason="the key was refused"))
    said = "Explore: find it: failed (the key was refused)"
    assert await client.sent("window/showMessage") == [{"type": 2, "message": said}]


async def test_a_task_that_ended_before_its_id_was_known_is_told_too(near: Near) -> None:
    client = await ready(near)
    await execute(client, "ensign.server.ask", {"prompt": "end at once"})
    said = "general-purpose: find it: failed (at once)"
    assert await client.sent("window/showMessage") == [{"type": 2, "message": said}]


async def test_a_task_that_goes_on_is_progress_again(near: Near) -> None:
    """Nothing is kept of one that ended; pygls keeps every token."""
    client = await ready(near)
    client.replies["window/workDoneProgress/create"] = lambda params: None
    for count in (1, 2):
        near.app.task("t1")
        await client.sent("$/progress", 3 * count - 1)
        near.app.task("t1", state=TaskState.COMPLETED)
        await client.sent("$/progress", 3 * count)
    assert len(await client.sent("window/workDoneProgress/create", 2)) == 2


async def test_a_task_is_progress_that_can_be_cancelled(near: Near) -> None:
    client = await ready(near)
    client.replies["window/workDoneProgress/create"] = lambda params: None
    near.app.task("t1")
    token = (await client.sent("window/workDoneProgress/create"))[0]["token"]
    await client.sent("$/progress", 2)
    near.app.task("t1", activity="reading a.py")
    await client.sent("$/progress", 3)
    client.notify("window/workDoneProgress/cancel", {"token": token})
    client.notify("window/workDoneProgress/cancel", {"token": "nobody's"})
    await near.app.called.wait()
    near.app.task("t1", state=TaskState.STOPPED)
    sent = await client.sent("$/progress", 4)
    assert near.app.calls == [wire.TaskStop(ids=("t1",))]
    assert [one["token"] for one in sent] == [token] * 4
    assert [one["value"] for one in sent] == [
        {"kind": "begin", "title": "Explore: find it", "cancellable": True},
        {"kind": "report", "message": "searching", "cancellable": True},
        {"kind": "report", "message": "reading a.py", "cancellable": True},
        {"kind": "end", "message": "stopped"},
    ]


async def test_our_own_client_has_a_panel_and_no_progress(near: Near) -> None:
    client = await ready(near, OURS)
    near.app.task("t1")
    near.app.task("t1", state=TaskState.COMPLETED)
    await client.sent("ensign/event", 2)
    assert [m for m in client.received if m.get("method") == "window/workDoneProgress/create"] == []


async def test_roots_options_and_name_reach_the_runtime(near: Near) -> None:
    folders = [{"uri": "file:///a%20b", "name": "a"}, {"uri": "untitled:x", "name": "x"}, {"uri": "file:///c"}]
    await near.client.initialize(
        workspaceFolders=folders, clientInfo={"name": "Edi"}, initializationOptions={"agent": {"maxTurns": 3}}
    )
    await near.client.request("ensign/session/list", {})
    assert near.app.arguments == {
        "options": {"agent": {"maxTurns": 3}},
        "roots": (Path("/a b"), Path("/c")),
        "client_name": "Edi",
    }


@pytest.mark.parametrize(
    "params",
    [
        {"rootUri": None, "rootPath": "/project"},
        {"workspaceFolders": None, "rootUri": "file:///project"},
        {"workspaceFolders": [], "rootUri": "file:///project"},
        {"workspaceFolders": "nonsense", "capabilities": {"window": 7, "workspace": None}},
    ],
)
async def test_a_root_is_found_however_it_is_said(near: Near, params: dict[str, Any]) -> None:
    await near.client.initialize(**params)
    await near.client.request("ensign/session/list", {})
    assert near.app.arguments["roots"] == (Path("/project"),)
