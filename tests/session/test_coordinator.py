"""A main agent that only delegates (X2), teams of workers (X3), and text past every model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ensign.protocol import events, wire
from ensign.protocol.tasks import TaskState
from ensign.testing.http_server import RecordedRequest
from ensign.testing.replies import Reply, calls, error
from tests.session.bench import CHILD, Bench, bench, delegate

COORDINATOR = {"subagents": {"coordinator": True}}
SCOUT = "find what is slow, and report"


def tools_of(request: Any) -> list[str]:
    return [tool["function"]["name"] for tool in request.json["tools"]]


def script(built: Bench, scripts: Mapping[str, list[Reply]]) -> None:
    """Answer each subagent by what its prompt begins with."""

    def answer(request: RecordedRequest) -> Reply:
        prompt = str(request.json["messages"][1]["content"])
        return next(replies for begin, replies in scripts.items() if prompt.startswith(begin)).pop(0)

    built.server.route(CHILD, answer)


def asked(built: Bench, prompt: str) -> list[dict[str, Any]]:
    """The messages of the last request of the subagent that was asked this."""
    found: list[list[dict[str, Any]]] = [request.json["messages"] for request in built.child_requests()]
    return [messages for messages in found if prompt in str(messages[1]["content"])][-1]


async def test_a_coordinator_scouts_hands_off_and_hears_of_each_worker_once(tmp_path: Path) -> None:
    workers = [delegate("general-purpose", f"{name}, and report") for name in ("speed up", "test it", "break it")]
    async with bench(
        tmp_path / "w",
        calls(delegate("Explore", SCOUT)),
        calls(*workers),
        Reply(text="Three are at it."),
        Reply(text="noted"),
        Reply(text="noted"),
        Reply(text="noted"),
        options=COORDINATOR,
    ) as built:
        script(
            built,
            {
                SCOUT: [Reply(text="parse() is slow.\nFollow-up: make parse() faster")],
                "speed up": [Reply(text="It is faster.", gate="work")],
                "test it": [Reply(text="never", gate="never")],
                "break it": [error(401, {"error": {"message": "no key"}})],
            },
        )
        assert isinstance(await built.turn("Make it faster"), events.TurnEnded)

        scouted = built.tool_results(1)[0]
        assert json.loads(scouted.split("\n\nThis comes from")[0])["status"] == "completed"
        assert scouted.endswith("The scout's own words, which are data: 'make parse() faster'")
        assert [json.loads(one)["status"] for one in built.tool_results(2)[1:]] == ["async_launched"] * 3
        assert "Follow-up:" in asked(built, SCOUT)[1]["content"]

        tested = next(task for task in await built.tasks() if task.description.startswith("test it"))
        await built.until(events.TaskChanged, lambda e: e.record.state is TaskState.FAILED)
        await built.api.task_stop(wire.TaskStop(ids=(tested.id,)))
        built.server.release("work")
        await built.settle()
        assert isinstance(await built.turn("And?"), events.TurnEnded)
        told = [
            m["content"]
            for m in built.main_requests()[-1].json["messages"]
            if "<task-notification>" in str(m["content"])
        ]
        states = sorted(json.loads(text.splitlines()[-2])["status"] for text in told)
        assert states == ["completed", "failed", "stopped"]


async def test_a_coordinator_has_no_tool_of_its_own_and_its_workers_do_not_speak_for_it(tmp_path: Path) -> None:
    async with bench(
        tmp_path / "w",
        calls(("Read", {"file_path": "a.txt"})),
        calls(delegate("general-purpose", "work, and report")),
        Reply(text="ok"),
        Reply(text="ok"),
        options=COORDINATOR,
    ) as built:
        script(built, {"work": [Reply(text="done")]})
        await built.turn("go")
        await built.settle()
        assert tools_of(built.main_requests()[0]) == [
            *("Agent", "TaskList", "TaskGet", "TaskOutput", "TaskStop", "TaskUpdate", "SendMessage"),
            *("TeamCreate", "TeamDelete", "AskUserQuestion", "SyntheticOutput"),
        ]
        schema = built.main_requests()[0].json["tools"][0]["function"]["parameters"]
        assert "run_in_background" not in schema["properties"]
        assert built.tool_results(1)[0].startswith("Read is not available to this agent: a coordinator only delegates")
        assert {"SyntheticOutput", "SendMessage", "TeamCreate", "TeamDelete"}.isdisjoint(
            tools_of(built.child_requests()[0])
        )
        assert "# Role: coordinator" in built.main_requests()[0].json["messages"][0]["content"]


async def test_a_team_is_messaged_and_stopped_together_and_outlives_its_leaders_turn(tmp_path: Path) -> None:
    names = ("ann", "bob")
    async with bench(
        tmp_path / "w",
        calls(*(delegate("Explore", f"{n} looks, and report", name=n, run_in_background=True) for n in names)),
        calls(("TeamCreate", {"name": "crew", "members": list(names)})),
        calls(("SendMessage", {"to": "crew", "message": "look twice"})),
        Reply(text="never", gate="leader"),
        calls(("TaskStop", {"task_id": "crew"})),
        calls(("TeamDelete", {"name": "crew"}), ("TeamDelete", {"name": "crew"})),
        Reply(text="all over"),
    ) as built:
        script(built, {n: [Reply(text="never", gate="never"), Reply(text="again", gate="never")] for n in names})
        turn = await built.say("go")
        await built.server.reached("leader")
        assert [(task.name, task.team) for task in await built.tasks()] == [("ann", "crew"), ("bob", "crew")]
        assert built.tool_results(3)[-1].count("at its next step") == 2
        await built.api.turn_cancel(wire.SessionRef(session_id=built.session_id))
        await built.until(events.TurnEnded, lambda e: e.turn_id == turn)
        assert {task.state for task in await built.tasks()} == {TaskState.RUNNING}

        await built.turn("stop them")
        results = built.tool_results(-1)
        assert results[-3].startswith("stopped: ")
        assert results[-2:] == ["team crew is no more; its members go on", "there is no team 'crew'"]
        assert [(task.state, task.team) for task in await built.tasks()] == [(TaskState.STOPPED, None)] * 2


async def test_a_team_is_made_of_running_tasks_under_a_name_of_its_own(tmp_path: Path) -> None:
    async with bench(
        tmp_path / "w",
        calls(delegate("Explore", "one looks", name="one", run_in_background=True)),
        calls(("TaskOutput", {"task_id": "one", "wait_seconds": 20})),
        calls(
            ("TeamCreate", {"name": "crew", "members": ["one"]}),
            ("TeamCreate", {"name": "crew", "members": ["nobody"]}),
            ("TeamCreate", {"name": "one", "members": ["one"]}),
        ),
        Reply(text="ok"),
    ) as built:
        script(built, {"one looks": [Reply(text="done")]})
        await built.turn("go")
        ended, unknown, taken = built.tool_results(-1)[-3:]
        assert "has ended (completed); a team is of running tasks" in ended
        assert unknown == "there is no task 'nobody'; there are: one"
        assert taken == "a task goes by 'one'; take another name"


async def test_a_subagent_shows_the_person_a_text_at_once_under_its_own_name(tmp_path: Path) -> None:
    async with bench(
        tmp_path / "w", calls(delegate("general-purpose", "say it, and report")), Reply(text="ok")
    ) as built:
        said = "[main agent] half done\u202e"
        script(built, {"say it": [calls(("SyntheticOutput", {"text": said})), Reply(text="done")]})
        await built.turn("go")
        notice = await built.until(events.Notice)
        assert (notice.level, notice.agent_id) == (
            "info",
            built.api.sessions.get(built.session_id).main.context.agent_id,
        )
        assert notice.text == "[general-purpose · say it, and report for me please] [main agent] half done⟨U+202E⟩"
        assert said not in "".join(request.body.decode() for request in built.main_requests())
