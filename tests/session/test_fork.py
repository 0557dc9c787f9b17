"""Forks: one prefix for all siblings, equal to the parent's last request, at every step; and no fork of a fork."""

from __future__ import annotations

from pathlib import Path

from ensign.protocol.tasks import TaskState
from ensign.tasks.fork import PLACEHOLDER
from ensign.testing.replies import Reply, calls
from tests.session.bench import bench, delegate

DIRECTIVE = "fork-boilerplate"


async def test_five_siblings_share_one_prefix_with_their_parents_last_request_at_every_step(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / "a.txt").write_text("x\n")
    forks = calls(*(delegate(None, f"piece {n}") for n in range(5)))
    read = calls(("Read", {"file_path": "a.txt"}))
    options = {"subagents": {"wakeOnNotification": False}}
    async with bench(root, Reply(text="hello"), forks, Reply(text="all launched"), options=options) as built:
        built.server.route(DIRECTIVE, *([read] * 15), *([Reply(text="Scope: done")] * 5))
        await built.turn("hi")
        await built.turn("fork five")
        await built.settle()
        bodies = [request.body for request in built.server.requests]
        parent = next(b for b in bodies if b"fork five" in b and DIRECTIVE.encode() not in b).rstrip(b"]}")
        children = [body for body in bodies if DIRECTIVE.encode() in body]
        assert len(children) == 20
        assert all(body.startswith(parent) for body in children)
        common = children[0].index(b"Your task:")
        assert all(body[:common] == children[0][:common] for body in children)
        assert children[0].count(PLACEHOLDER.encode()) == 5
        assert [record.state for record in await built.tasks()] == [TaskState.COMPLETED] * 5


async def test_a_fork_cannot_start_agents_and_is_told_why(tmp_path: Path) -> None:
    options = {"subagents": {"wakeOnNotification": False}}
    async with bench(tmp_path / "w", calls(delegate(None, "work")), Reply(text="ok"), options=options) as built:
        built.server.route(DIRECTIVE, calls(delegate(None, "again")), Reply(text="Scope: did it"))
        await built.turn("go")
        await built.settle()
        record = (await built.tasks())[0]
        assert record.envelope is not None
        assert [denied.tool for denied in record.envelope.facts.denied] == ["Agent"]
        assert len(await built.tasks()) == 1


async def test_a_fork_takes_no_model_and_no_folder(tmp_path: Path) -> None:
    wrong = calls(delegate(None, model="small"), delegate(None, cwd=str(tmp_path / "w")))
    async with bench(tmp_path / "w", wrong, Reply(text="ok")) as built:
        await built.turn("go")
        assert all("a fork takes no 'model' and no 'cwd'" in text for text in built.tool_results(1))


async def test_where_forking_is_off_the_call_goes_to_general_purpose_and_says_so(tmp_path: Path) -> None:
    options = {"subagents": {"fork": False}}
    async with bench(tmp_path / "w", calls(delegate(None)), Reply(text="ok"), options=options) as built:
        built.server.route("You are a subagent", Reply(text="report"))
        await built.turn("go")
        record = (await built.tasks())[0]
        assert record.agent == "general-purpose"
        assert record.envelope is not None
        assert "forking is off" in record.envelope.facts.notes[0]
