"""Rules as they hold in a session: deny rules in searches, grants by scope, nobody to ask, the mode of a child."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ensign.protocol import events, wire
from ensign.protocol.access import Mode
from ensign.protocol.approvals import DiffPreview, Outcome
from ensign.testing.replies import Reply, calls
from tests.session.bench import CHILD, bench, delegate


async def test_a_search_shows_nothing_of_a_file_that_must_not_be_read(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / ".env").write_text("KEY=hunter2\n")
    (root / "a.py").write_text("KEY = 1\n")
    search = calls(("Grep", {"pattern": "KEY", "output_mode": "content"}), ("Read", {"file_path": ".env"}))
    async with bench(root, search, Reply(text="ok"), command_line={"deny": ("Read(./.env)",)}) as built:
        await built.turn("search")
        found, read = built.tool_results()
        assert "a.py" in found
        assert "hunter2" not in found + read
        assert "denies" in read


async def test_an_answer_for_the_session_holds_for_the_main_agent_and_its_children(tmp_path: Path) -> None:
    touch = calls(("Bash", {"command": "touch one"}))
    async with bench(tmp_path / "w", touch, touch, calls(delegate("general-purpose")), Reply(text="ok")) as built:
        built.server.route(CHILD, touch, Reply(text="done"))
        await built.say("go")
        await built.answer(await built.asked(), Outcome.ALLOW_SESSION)
        await built.settle()
        assert len([event for event in built.events if isinstance(event, events.ApprovalRequested)]) == 1
        assert (built.root / "one").exists()


async def test_an_answer_for_the_task_ends_with_it(tmp_path: Path) -> None:
    touch = calls(("Bash", {"command": "touch one"}))
    both = (calls(delegate("general-purpose", "first")), calls(delegate("general-purpose", "second")))
    async with bench(tmp_path / "w", *both, Reply(text="ok")) as built:
        built.server.route(CHILD, touch, touch, Reply(text="done"), touch, Reply(text="done"))
        await built.say("go")
        await built.answer(await built.asked(), Outcome.ALLOW_TASK)
        await built.answer(await built.asked(count=2), Outcome.DENY)
        await built.settle()
        assert len([event for event in built.events if isinstance(event, events.ApprovalRequested)]) == 2


async def test_always_saves_the_rule_that_was_shown(tmp_path: Path) -> None:
    async with bench(tmp_path / "w", calls(("Bash", {"command": "touch one"})), Reply(text="ok")) as built:
        await built.say("go")
        request = await built.asked()
        await built.answer(request, Outcome.ALLOW_ALWAYS)
        await built.settle()
        saved = (built.root / ".ensign" / "settings.local.json").read_text()
        assert request.rules
        assert all(rule in saved for rule in request.rules)


async def test_a_protected_path_is_never_offered_always(tmp_path: Path) -> None:
    write = calls(("Write", {"file_path": ".git/hooks/pre-commit", "content": "x"}))
    async with bench(tmp_path / "w", write, Reply(text="ok"), command_line={"mode": "bypassPermissions"}) as built:
        await built.say("go")
        request = await built.asked()
        assert Outcome.ALLOW_ALWAYS not in request.outcomes
        await built.answer(request, Outcome.DENY)
        await built.settle()


async def test_nobody_to_ask_is_a_denial_that_says_so(tmp_path: Path) -> None:
    async with bench(tmp_path / "w", calls(("Bash", {"command": "touch x"})), Reply(text="ok"), answers=False) as built:
        await built.turn("go")
        assert "nobody is there to be asked" in built.tool_results()[0]
        assert not (built.root / "x").exists()


async def test_seven_that_ask_at_once_are_each_answered(tmp_path: Path) -> None:
    seven = calls(*(delegate("general-purpose", f"job {number}") for number in range(7)))
    async with bench(tmp_path / "w", seven, Reply(text="ok")) as built:
        made = [calls(("Bash", {"command": f"touch f{number}"})) for number in range(7)]
        built.server.route(CHILD, *made, *(Reply(text="done") for _ in range(7)))
        await built.say("go")
        await built.asked(count=7)
        opened = (await built.api.approval_list(wire.Empty())).approvals
        assert len(opened) == 7
        for request in reversed(opened):
            assert await built.answer(request, Outcome.ALLOW_ONCE)
        await built.settle()
        assert sorted(path.name for path in built.root.glob("f*")) == [f"f{number}" for number in range(7)]


async def test_plan_mode_of_the_session_narrows_a_child_that_may_write(tmp_path: Path) -> None:
    async with bench(tmp_path / "w", calls(delegate("general-purpose")), Reply(text="ok")) as built:
        built.server.route(CHILD, calls(("Bash", {"command": "touch x"})), Reply(text="done"))
        await built.api.session_set(wire.SessionSet(session_id=built.session_id, mode=Mode.PLAN))
        await built.turn("go")
        denied = next(event for event in built.events if isinstance(event, events.ToolFinished) and event.denied_by)
        assert (denied.tool, denied.denied_by) == ("Bash", "mode")
        assert not (built.root / "x").exists()


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (("Edit", {"file_path": "a.py", "old_string": "three", "new_string": "four"}), "old_string is not in the file"),
        (("Edit", {"file_path": "b.py", "old_string": "x", "new_string": "y"}), "'b.py' does not exist"),
        (("Edit", {"file_path": "unread.py", "old_string": "x", "new_string": "y"}), "you have not read it"),
        (("Edit", {"file_path": "unread.py", "old_string": "", "new_string": "y"}), "exists and is not empty"),
        (("Write", {"file_path": "unread.py", "content": "y"}), "you have not read it"),
        (("Write", {"file_path": "a.py", "content": "one\ntwo\n"}), "already has exactly this text"),
        (("Write", {"file_path": "image.png", "content": "y"}), "is a binary file"),
    ],
)
async def test_an_edit_that_cannot_be_made_is_refused_and_nobody_is_asked(
    tmp_path: Path, call: tuple[str, dict[str, Any]], refusal: str
) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / "a.py").write_text("one\ntwo\n")
    (root / "unread.py").write_text("x\n")
    (root / "image.png").write_bytes(b"\x89PNG\0")
    async with bench(root, calls(("Read", {"file_path": "a.py"})), calls(call), Reply(text="ok")) as built:
        await built.turn("edit")
        assert refusal in built.tool_results()[-1]
        assert not [event for event in built.events if isinstance(event, events.ApprovalRequested)]


async def test_with_review_edits_every_edit_is_shown_first_and_only_this_answer_is_offered(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / "a.py").write_text("one\n")
    read, edit = ("Read", {"file_path": "a.py"}), {"file_path": "a.py", "old_string": "one"}
    script = (
        calls(read),
        calls(("Edit", {**edit, "new_string": "two"})),
        calls(("Edit", {**edit, "new_string": "three"})),
        Reply(text="ok"),
    )
    review = {"reviewEdits": "ask"}
    async with bench(root, *script, options=review, command_line={"mode": "acceptEdits"}) as built:
        await built.say("edit")
        first = await built.asked()
        assert first.reason == "edits are shown to you before they are made (reviewEdits)"
        assert first.outcomes == (Outcome.ALLOW_ONCE, Outcome.DENY)
        assert first.diff == DiffPreview(path=str(root / "a.py"), before="one\n", after="two\n")
        await built.answer(first, Outcome.DENY, "not two")
        await built.answer(await built.asked(count=2), Outcome.ALLOW_ONCE)
        await built.settle()
        assert (root / "a.py").read_text() == "three\n"
        assert "not two" in built.tool_results()[1]
