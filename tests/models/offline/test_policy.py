"""The offline policy on real files: what it calls, and that every line it shows is there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ensign.models.base import Reply, Request, TextChunk
from ensign.models.offline.model import OfflineModel
from ensign.models.offline.policy import Move, decide
from ensign.models.offline.query import read_query, split_words, stem
from ensign.models.offline.report import NOT_A_MODEL
from ensign.protocol.messages import AssistantMessage, Message, ToolCall, ToolMessage, ToolResult, UserMessage
from tests.models.offline.workbench import SEARCH, Workbench, schemas

SERVER = Path(__file__).parents[3] / "server"

APP = {
    "README.md": "# Shop\nAuthentication is handled by the login service.\n",
    "shop/auth.py": (
        "from shop.store import load_user\n\n\n"
        "def authenticate(name: str, password: str) -> bool:\n"
        '    """Check a login against the stored hash."""\n'
        "    user = load_user(name)\n"
        "    return user is not None and user.password == password\n"
    ),
    "shop/store.py": "def load_user(name: str) -> object:\n    return None\n",
    "shop/web.py": (
        "from shop.auth import authenticate\n\n\n"
        "def handle_request(request):\n"
        "    if not authenticate(request.name, request.password):\n"
        '        raise PermissionError("login failed")\n'
    ),
    "web/session.ts": "export class LoginForm {\n  submit(token: string) {}\n}\n",
    "tests/test_auth.py": "def test_authentication_of_a_stranger_fails():\n    assert True\n",
    "package-lock.json": '{"authentication": "1.0"}\n',
}


@pytest.fixture
def app(tmp_path: Path) -> Path:
    for name, text in APP.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def evidence_of(report: str) -> list[tuple[str, int, str]]:
    """Every line that a report shows, with where it says that it is."""
    found: list[tuple[str, int, str]] = []
    place = ""
    for line in report.splitlines():
        if heading := re.match(r"### (?:\d+\. )?`([^`]+):(\d+)`", line):
            place = heading[1]
        elif numbered := re.match(r" *(\d+)  (.*)$", line):
            found.append((place, int(numbered[1]), numbered[2]))
        elif listed := re.match(r"- `([^`]+):(\d+)` `+ ?(.*?) ?`+$", line):
            found.append((listed[1], int(listed[2]), listed[3]))
    return found


def check_evidence(report: str, root: Path) -> None:
    shown = evidence_of(report)
    assert shown
    wrong = [
        (path, line, text)
        for path, line, text in shown
        if (root / path).read_text(encoding="utf-8").splitlines()[line - 1].strip() != text.strip()
    ]
    assert wrong == []


def test_a_question_is_answered_with_definitions_first_and_evidence_that_is_there(app: Path) -> None:
    bench = Workbench(app)
    report = bench.ask("where is authentication handled?")
    check_evidence(report, app)
    assert "The best match is `shop/auth.py:4`, which defines `authenticate`." in report
    assert evidence_of(report)[0] == ("shop/auth.py", 4, "def authenticate(name: str, password: str) -> bool:")
    assert report.index("shop/auth.py:4") < report.index("tests/test_auth.py:1") < report.index("README.md:2")
    assert report.endswith(NOT_A_MODEL)
    assert "package-lock" not in report


def test_it_fans_out_over_several_steps(app: Path) -> None:
    bench = Workbench(app)
    bench.ask("where is authentication handled?")
    assert len(bench.steps) >= 2
    assert {name for name, _ in bench.steps[0]} >= {"Glob", "Grep"}
    assert "Read" in {name for name, _ in bench.steps[1]}
    assert all(len(step) > 1 for step in bench.steps[:2])


@pytest.mark.slow
def test_the_first_question_of_a_newcomer_finds_where_subagents_start() -> None:
    report = Workbench(SERVER).ask("Where is a subagent started, and what does it get back?")
    check_evidence(report, SERVER)
    assert len(report) <= 8000
    assert "ensign/tasks/" in report


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("what calls `load_user`?", "shop/auth.py"),
        ("Who uses load_user()?", "shop/store.py:1"),
        ("where is LoginForm", "web/session.ts:1"),
        ("Which requests are handled", "shop/web.py:4"),
        ("explain shop/web.py:5", "`shop/web.py:5` was named"),
    ],
)
def test_names_paths_and_words_are_all_looked_for(app: Path, question: str, found: str) -> None:
    report = Workbench(app).ask(question)
    assert found in report
    check_evidence(report, app)


def test_nothing_found_is_said(app: Path) -> None:
    report = Workbench(app).ask("where are the blockchain consensus parameters?")
    assert "Nothing found matches well" in report


@pytest.mark.parametrize("task", ["", "hi", "what is this about?", "   "])
def test_a_task_without_anything_to_look_for_gets_help(app: Path, task: str) -> None:
    bench = Workbench(app)
    answer = bench.ask(task)
    assert answer.endswith(NOT_A_MODEL)


# ---- delegating


def move(task: str, *tools: str) -> Move:
    return decide([UserMessage(text=task)], schemas(*tools), tools_off=False)


def test_with_agent_present_an_exploration_is_delegated() -> None:
    task = "Where is the queue drained?"
    arguments = {"description": "Explore queue drained", "prompt": task, "subagent_type": "Explore"}
    assert move(task, "Agent", *SEARCH) == [("Agent", arguments)]


def test_in_the_background_means_so() -> None:
    found = move("Find the queue in the background", "Agent")
    assert isinstance(found, list)
    assert found[0][1]["run_in_background"] is True


def test_several_questions_go_to_several_subagents_at_once() -> None:
    found = move("Where is the queue drained? Where are timeouts set?", "Agent")
    assert isinstance(found, list)
    assert [call[1]["prompt"] for call in found] == ["Where is the queue drained?", "Where are timeouts set?"]


def conversation(result: str, *, is_error: bool = False) -> list[Message]:
    call = ToolCall(call_id="c", name="Agent", arguments={}, raw="")
    return [
        UserMessage(text="Where is the queue drained?"),
        AssistantMessage(parts=(call,)),
        ToolMessage(results=(ToolResult(call_id="c", text=result, is_error=is_error),)),
    ]


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (json.dumps({"status": "completed", "report": "Found it"}), "Found it"),
        ("just text", "just text"),
        (json.dumps({"status": "partial", "reason": "step limit", "report": "Half"}), "**partial**: step limit"),
        (json.dumps({"status": "async_launched", "taskId": "t1", "report": ""}), "in the background (task t1)"),
    ],
)
def test_the_main_agent_answers_with_the_subagent_s_report(result: str, answer: str) -> None:
    found = decide(conversation(result), schemas("Agent"), tools_off=False)
    assert isinstance(found, str)
    assert answer in found


def test_a_subagent_that_could_not_start_is_no_reason_to_stop_looking() -> None:
    found = decide(conversation("no place free", is_error=True), schemas("Agent", *SEARCH), tools_off=False)
    assert isinstance(found, list)
    assert {name for name, _ in found} <= set(SEARCH)


def test_the_end_of_a_background_task_is_told_with_its_report() -> None:
    envelope = json.dumps({"status": "completed", "report": "Found it"})
    note = UserMessage(text=f"<task-notification>\ntask: x\n{envelope}\n</task-notification>", origin="runtime")
    assert decide([*conversation("{}"), note], schemas("Agent"), tools_off=False) == "Found it"


# ---- orders


def done(history: list[Message], name: str, text: str, *, is_error: bool = False) -> None:
    call = ToolCall(call_id=f"c{len(history)}", name=name, arguments={}, raw="")
    history.append(AssistantMessage(parts=(call,)))
    history.append(ToolMessage(results=(ToolResult(call_id=call.call_id, text=text, is_error=is_error),)))


def test_orders_are_carried_out_one_after_another_and_reported() -> None:
    task = "Please replace `a` with `b` in src/x.py, then run `make test`."
    tools = schemas("Agent", "Read", "Edit", "Bash")
    history: list[Message] = [UserMessage(text=task)]
    assert decide(history, tools, tools_off=False) == [("Read", {"file_path": "src/x.py"})]
    done(history, "Read", "1\ta")
    edit = {"file_path": "src/x.py", "old_string": "a", "new_string": "b"}
    assert decide(history, tools, tools_off=False) == [("Edit", edit)]
    done(history, "Edit", "Edited src/x.py")
    assert decide(history, tools, tools_off=False) == [("Bash", {"command": "make test"})]
    done(history, "Bash", "all good")
    report = decide(history, tools, tools_off=False)
    assert isinstance(report, str)
    assert "Done: Edited src/x.py" in report
    assert "all good" in report


def test_a_denied_edit_is_reported_and_the_next_order_still_runs() -> None:
    tools = schemas("Read", "Edit", "Bash")
    history: list[Message] = [UserMessage(text="replace `a` with `b` in x.py and run `ls`")]
    done(history, "Read", "1\ta")
    done(history, "Edit", "denied by the person", is_error=True)
    assert decide(history, tools, tools_off=False) == [("Bash", {"command": "ls"})]
    done(history, "Bash", "x.py")
    report = decide(history, tools, tools_off=False)
    assert isinstance(report, str)
    assert "Failed: denied by the person" in report


def test_what_cannot_be_done_is_said() -> None:
    report = move("run `ls`", *SEARCH)
    assert isinstance(report, str)
    assert "there is no tool 'Bash' here" in report


def test_an_order_for_a_subagent_goes_to_one() -> None:
    task = "With a subagent, run `ls`"
    found = move(task, "Agent", "Bash")
    assert isinstance(found, list)
    assert (found[0][1]["subagent_type"], found[0][1]["prompt"]) == ("general-purpose", task)


# ---- limits and forms


def test_with_tools_off_there_is_a_report_of_what_there_is(app: Path) -> None:
    bench = Workbench(app)
    bench.history.append(UserMessage(text="where is authentication handled?"))
    found = bench.move()
    assert isinstance(found, list)
    calls = [
        ToolCall(call_id=str(number), name=name, arguments=arguments, raw="")
        for number, (name, arguments) in enumerate(found)
    ]
    bench.history.append(AssistantMessage(parts=tuple(calls)))
    bench.history.append(ToolMessage(results=tuple(bench.run(call) for call in calls)))
    bench.history.append(UserMessage(text="This run ends now. Write your report", origin="runtime"))
    report = bench.move(tools_off=True)
    assert isinstance(report, str)
    assert "shop/auth.py:4" in report


async def test_the_model_streams_its_words_and_says_the_same_each_time() -> None:
    model = OfflineModel()
    history = [UserMessage(text="hi")]
    head = model.head(system="", tools=[], cache_key="")
    request = Request(head=head, history=history, encoded=[model.encode(history[0])])
    chunks = [chunk async for chunk in model.stream(request)]
    reply = chunks.pop()
    assert isinstance(reply, Reply)
    assert len(chunks) > 1
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == reply.message.text
    assert [chunk async for chunk in model.stream(request)] == [*chunks, reply]


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("started", "start"),
        ("running", "run"),
        ("handlers", "handl"),
        ("files", "file"),
        ("authentication", "authentic"),
        ("retries", "retr"),
        ("process", "process"),
        ("caching", "cach"),
        ("cache", "cach"),
        ("status", "status"),
    ],
)
def test_words_are_cut_to_what_their_forms_share(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


def test_names_are_split_into_words() -> None:
    assert split_words("parseURLFrom_json2") == ["parse", "url", "from", "json", "2"]


def test_a_task_is_taken_apart() -> None:
    query = read_query("Where does `retry_policy` in src/net/http.py:12 and/or HttpPool wait for tokens?\n<x>noise</x>")
    assert [(group.name, group.exact) for group in query.groups] == [
        ("retry_policy", True),
        ("HttpPool", True),
        ("wait", False),
        ("tokens", False),
    ]
    assert query.paths == (("src/net/http.py", 12),)
