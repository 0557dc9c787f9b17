"""Subagents in git worktrees through the front door: the main checkout is theirs to read and never to write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ensign.protocol import events, wire
from ensign.protocol.tasks import TaskRecord, TaskState
from ensign.testing.replies import Reply, calls
from tests.session.bench import CHILD, Bench, bench, delegate
from tests.workspace.repository import Repository, made

EDITS = {"mode": "acceptEdits", "allow": ("Bash",)}


def isolated(prompt: str = "work", agent: str | None = "general-purpose", **more: Any) -> tuple[str, dict[str, Any]]:
    return delegate(agent, prompt, isolation="worktree", **more)


def edit(path: Path | str, old: str, new: str) -> Sequence[Reply]:
    """Read a file and change it."""
    return (
        calls(("Read", {"file_path": str(path)})),
        calls(("Edit", {"file_path": str(path), "old_string": old, "new_string": new})),
    )


def envelopes(built: Bench) -> list[dict[str, Any]]:
    return [json.loads(text) for text in built.tool_results()]


async def record_of(built: Bench) -> TaskRecord:
    return (await built.tasks())[0]


@pytest.mark.slow
async def test_what_it_changes_stays_in_its_worktree_and_is_told(tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    async with bench(repository.path, calls(isolated()), Reply(text="done"), command_line=EDITS) as built:
        built.server.route(CHILD, *edit("a.txt", "two", "2"), Reply(text="changed"))
        await built.turn("go")
        record = await record_of(built)
        worktree = record.worktree
        assert worktree is not None
        path = Path(worktree.path)
        assert path.parent.parent == tmp_path / "w-home" / "ensign" / "worktrees"
        assert path.name == worktree.branch == f"agent-{record.short_id}"
        assert (worktree.state, worktree.reason) == ("kept", "uncommitted changes")
        assert (worktree.files, worktree.added, worktree.removed) == (1, 1, 1)
        assert worktree.base == repository.git("rev-parse", "HEAD")
        assert (path / "a.txt").read_text() == "one\n2\nthree\n"
        assert (repository.path / "a.txt").read_text() == "one\ntwo\nthree\n"
        assert repository.status == ""
        facts = envelopes(built)[0]["facts"]
        assert facts["worktree"]["path"] == worktree.path
        assert facts["kept"] == [f"worktree {path} on branch {worktree.branch}: 1 file, +1 -1 (uncommitted changes)"]
        system = built.child_requests()[0].json["messages"][0]["content"]
        assert f"- Working directory: {path}\n" in system
        assert f"a separate copy of {repository.path} with the same layout" in system


@pytest.mark.slow
async def test_nothing_changed_leaves_nothing_and_the_record_says_so(tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    async with bench(repository.path, calls(isolated()), Reply(text="done"), command_line=EDITS) as built:
        built.server.route(CHILD, calls(("Bash", {"command": "pwd; git status --short"})), Reply(text="looked"))
        await built.turn("go")
        worktree = (await record_of(built)).worktree
        assert worktree is not None
        assert (worktree.state, worktree.reason) == ("removed", "nothing was changed in it")
        assert envelopes(built)[0]["facts"]["kept"] == []
        said = json.dumps(built.child_requests()[-1].json)
        assert f"{worktree.path}\\n" in said or f'{worktree.path}"' in said
        assert repository.as_before


@pytest.mark.slow
async def test_no_route_leads_into_the_main_checkout(tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    main = repository.path
    lines = (
        f"cd {main} && touch x",
        f"git -C {main} reset --hard",
        f"GIT_DIR={main}/.git git commit --allow-empty -m x",
        f"git --git-dir={main}/.git --work-tree={main} checkout -f",
        f"echo x > {main}/x",
        "ln -s ../../../../../w link && touch link/x",
        f"cp a.txt {main}/x",
    )
    asks = [("Bash", {"command": line}) for line in lines]
    async with bench(main, calls(isolated()), Reply(text="done"), command_line=EDITS) as built:
        built.server.route(
            CHILD,
            calls(("Read", {"file_path": f"{main}/a.txt"})),
            calls(("Edit", {"file_path": f"{main}/a.txt", "old_string": "one", "new_string": "x"})),
            calls(("Write", {"file_path": f"{main}/x", "content": "x"})),
            *(calls(one) for one in asks),
            Reply(text="tried"),
        )
        await built.turn("go")
        ends = [one for one in built.events if isinstance(one, events.ToolFinished) and one.task_id]
        assert not ends[0].is_error
        assert [one.denied_by for one in ends[1:]] == ["containment"] * (len(lines) + 2)
        assert repository.status == ""


@pytest.mark.slow
async def test_three_at_once_change_the_same_file_of_a_repository_with_submodules_and_a_filter(tmp_path: Path) -> None:
    inner, canary = made(tmp_path / "inner"), tmp_path / "CANARY"
    repository = made(tmp_path / "w", a__txt="one\ntwo\nthree\nfour\nfive\n", __gitattributes="*.bin filter=evil\n")
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub")
    repository.commit("all", data__bin="data\n")
    for kind in ("clean", "smudge"):
        repository.git("config", f"filter.evil.{kind}", f"touch {canary}; cat")
    three = calls(*(isolated(f"change {word}") for word in ("one", "five", "all")))
    async with bench(repository.path, three, Reply(text="done"), command_line=EDITS) as built:
        built.server.route("change one", *edit("a.txt", "one", "ONE"), Reply(text="ok"))
        built.server.route("change five", *edit("a.txt", "five", "FIVE"), Reply(text="ok"))
        built.server.route("change all", *edit("a.txt", "one\ntwo\nthree\nfour\nfive", "nothing"), Reply(text="ok"))
        await built.turn("go")
        records = await built.tasks()
        assert [one.worktree.state for one in records if one.worktree] == ["kept"] * 3
        assert not canary.exists()
        assert repository.status == ""
        canary.unlink(missing_ok=True)  # by the git of this test, which runs filters
        for record, conflicts in zip(records, ((), (), (str(repository.path / "a.txt"),)), strict=True):
            merged = await built.api.worktree_merge(wire.TaskRef(id=record.id))
            assert merged.conflicts == conflicts
        assert [one.worktree.state for one in await built.tasks() if one.worktree] == ["merged", "merged", "conflict"]
        assert not canary.exists()
        repository.commit("solved", a__txt="ONE\nFIVE\n")
        await built.api.worktree_merge(wire.TaskRef(id=records[2].id))
        assert repository.as_before
        assert repository.git("log", "--format=%s", "--max-count=1", "--grep=change five") == (
            "change five for me please"
        )


@pytest.mark.slow
async def test_a_fork_in_a_worktree_keeps_its_parents_bytes_and_is_told_in_its_directive(tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    async with bench(repository.path, calls(isolated(agent=None)), Reply(text="waiting"), command_line=EDITS) as built:
        built.server.route("You are a fork", *edit("a.txt", "two", "2"), Reply(text="Scope: done"))
        await built.turn("go")
        await built.settle()
        worktree = (await record_of(built)).worktree
        assert worktree is not None
        assert worktree.state == "kept"
        assert repository.status == ""
        mine = [one for one in built.server.requests if b"You are a fork" in one.body]
        parent = built.main_requests()[0].json
        assert mine[0].json["messages"][0] == parent["messages"][0]
        assert mine[0].json["tools"] == parent["tools"]
        assert f"You work in a git worktree of your own, {worktree.path}" in mine[0].json["messages"][-1]["content"]


@pytest.mark.slow
async def test_resumed_it_goes_on_in_its_worktree_or_in_one_made_anew(tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    async with bench(repository.path, calls(isolated()), *[Reply(text="done")] * 3, command_line=EDITS) as built:
        built.server.route(
            CHILD,
            Reply(text="nothing to do"),
            *edit("a.txt", "two", "2"),
            Reply(text="changed"),
            *edit("a.txt", "three", "3"),
            Reply(text="changed more"),
        )
        await built.turn("go")
        first = await record_of(built)
        for message in ("now do it", "and more"):
            await built.api.task_resume(wire.TaskSend(id=first.id, message=message))
            await built.settle()
        record = await record_of(built)
        assert first.worktree is not None
        assert record.worktree is not None
        assert (first.worktree.state, record.worktree.state) == ("removed", "kept")
        assert record.worktree.path == first.worktree.path
        assert (Path(record.worktree.path) / "a.txt").read_text() == "one\n2\n3\n"
        told = json.dumps(built.child_requests()[1].json)
        assert "your worktree had been removed and was made again at commit" in told
        discarded = await built.api.worktree_discard(wire.TaskRef(id=record.id))
        assert discarded.worktree.state == "discarded"
        assert repository.as_before


@pytest.mark.slow
async def test_a_worktree_that_cannot_be_had_is_a_clear_end_and_never_the_main_checkout(tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    wrong = calls(isolated(cwd=str(repository.path)), isolated())
    async with bench(repository.path, wrong, Reply(text="I see"), command_line=EDITS) as built:
        (tmp_path / "w-home" / "ensign" / "worktrees").write_text("in the way")
        await built.turn("go")
        both, failed = built.tool_results()
        assert "cwd and isolation exclude each other" in both
        assert json.loads(failed)["status"] == "failed"
        assert "cannot make a worktree in" in json.loads(failed)["reason"]
        assert built.child_requests() == []
        assert repository.as_before


async def test_outside_git_it_is_not_offered(tmp_path: Path) -> None:
    async with bench(tmp_path / "w", calls(isolated()), Reply(text="I see")) as built:
        await built.turn("go")
        assert "isolation" in built.tool_results()[0]
        agent = next(
            tool["function"] for tool in built.main_requests()[0].json["tools"] if tool["function"]["name"] == "Agent"
        )
        assert "isolation" not in agent["parameters"]["properties"]
        assert await built.tasks() == ()


@pytest.mark.slow
async def test_a_definition_can_ask_for_it(tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    home = tmp_path / "w-home"
    agents = home / "ensign" / "agents"
    agents.mkdir(parents=True)
    (agents / "careful.md").write_text(
        "---\nname: careful\ndescription: careful\nisolation: worktree\n---\nBe careful.\n"
    )
    async with bench(repository.path, calls(delegate("careful")), Reply(text="done"), command_line=EDITS) as built:
        built.server.route(CHILD, *edit("a.txt", "two", "2"), Reply(text="changed"))
        await built.turn("go")
        worktree = (await record_of(built)).worktree
        assert worktree is not None
        assert worktree.state == "kept"
        assert repository.status == ""


@pytest.mark.slow
async def test_stopped_in_the_middle_its_work_is_kept(tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    async with bench(repository.path, calls(isolated()), Reply(text="done"), command_line=EDITS) as built:
        built.server.route(CHILD, calls(("Bash", {"command": "echo x > new.txt; sleep 300"})), Reply(text="never"))
        await built.say("go")
        await built.until(events.ToolStarted, lambda e: e.call.name == "Bash")
        record = await record_of(built)
        assert record.worktree is not None
        while not (Path(record.worktree.path) / "new.txt").exists():
            await built.api.session_list(wire.Empty())
        await built.api.task_stop(wire.TaskStop(ids=(record.id,)))
        await built.settle()
        after = await record_of(built)
        assert after.state is TaskState.STOPPED
        assert after.worktree is not None
        assert (after.worktree.state, after.worktree.files) == ("kept", 1)
        assert Repository(Path(record.worktree.path)).status == "?? new.txt"


@pytest.mark.slow
async def test_the_main_agent_enters_a_worktree_and_leaves_it(tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    script = (
        calls(("ExitWorktree", {})),
        calls(("EnterWorktree", {"name": "try-it"})),
        calls(("EnterWorktree", {})),
        *edit("a.txt", "two", "2"),
        calls(("Edit", {"file_path": f"{repository.path}/a.txt", "old_string": "one", "new_string": "x"})),
        calls(("ExitWorktree", {})),
        calls(("Bash", {"command": "pwd"})),
        calls(("EnterWorktree", {})),
        calls(("ExitWorktree", {})),
        Reply(text="done"),
    )
    async with bench(repository.path, *script, command_line=EDITS) as built:
        await built.turn("go")
        results = built.tool_results()
        path = next((tmp_path / "w-home" / "ensign" / "worktrees").glob("*/try-it"))
        assert results[0] == "you are in no worktree that you entered with EnterWorktree, so there is none to leave"
        assert results[1].startswith(f"You work in a git worktree of your own, {path}: a separate copy")
        assert results[2] == f"you work in a worktree already: {path}"
        assert "is the main checkout, which this agent must not write" in results[5]
        kept = f"worktree {path} on branch try-it: 1 file, +1 -1 (uncommitted changes)"
        assert results[6] == f"You work in {repository.path} again. {kept}"
        assert results[7].strip() == str(repository.path)
        assert results[9].endswith("removed: nothing was changed in it")
        assert repository.worktrees == [str(path)]
        assert repository.status == ""


@pytest.mark.slow
async def test_a_subagent_can_leave_what_it_entered_and_not_what_it_was_put_into(tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    both = calls(isolated("put into one"), delegate("general-purpose", "goes by itself"))
    async with bench(repository.path, both, Reply(text="done"), command_line=EDITS) as built:
        built.server.route("put into one", calls(("ExitWorktree", {})), calls(("EnterWorktree", {})), Reply(text="ok"))
        built.server.route(
            "goes by itself", calls(("EnterWorktree", {})), *edit("a.txt", "two", "2"), Reply(text="left it")
        )
        await built.turn("go")
        stayed, entered = await built.tasks()
        ends = [one for one in built.events if isinstance(one, events.ToolFinished) and one.task_id == stayed.id]
        assert [one.is_error for one in ends] == [True, True]
        assert [one.worktree.state for one in (stayed, entered) if one.worktree] == ["removed", "kept"]
        assert entered.envelope is not None
        assert entered.envelope.facts.worktree == entered.worktree
        assert repository.status == ""


@pytest.mark.slow
async def test_after_a_restart_its_record_says_what_is_there_and_it_can_be_merged(tmp_path: Path) -> None:
    repository = made(tmp_path / "w")
    home = tmp_path / "home"
    async with bench(
        repository.path, calls(isolated()), calls(isolated("more")), Reply(text="done"), command_line=EDITS, home=home
    ) as first:
        first.server.route(CHILD, *edit("a.txt", "two", "2"), Reply(text="ok"), Reply(text="nothing"))
        await first.turn("go")
        session_id = first.session_id
    async with bench(repository.path, command_line=EDITS, home=home, open_session=False) as second:
        await second.open(session_id)
        kept, removed = (one.worktree for one in await second.tasks())
        assert kept is not None
        assert removed is not None
        assert (kept.state, removed.state) == ("kept", "removed")
        check = next(one for one in await second.app.diagnose() if one.name == "worktrees")
        assert (check.state, check.detail) == ("warning", kept.in_words)
        merged = await second.api.worktree_merge(wire.TaskRef(id=(await record_of(second)).id))
        assert merged.worktree.state == "merged"
        assert repository.as_before
