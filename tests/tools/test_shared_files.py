"""Agents, the person and commands share files: no update is lost, and a refusal names who changed what (I0)."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ensign.protocol.access import Access, Effect
from ensign.protocol.errors import ToolError
from ensign.tools.base import ToolOutput
from ensign.tools.write import WRITE
from tests.tools.bench import Bench

PATH = "f.txt"


def begin(bench: Bench, text: str = "one\ntwo\nthree\n") -> Path:
    path = bench.root / PATH
    path.write_text(text)
    return path


async def edit(bench: Bench, agent: str, old: str, new: str) -> ToolOutput:
    return await bench.call("Edit", agent, file_path=PATH, old_string=old, new_string=new)


async def refused(bench: Bench, agent: str, old: str, new: str) -> str:
    with pytest.raises(ToolError) as caught:
        await edit(bench, agent, old, new)
    return str(caught.value).replace(str(bench.root / PATH), PATH)


async def test_what_was_never_read_is_not_overwritten(bench: Bench) -> None:
    path = begin(bench)
    for arguments in ({"content": "x"}, {"old_string": "one", "new_string": "1"}):
        with pytest.raises(ToolError, match="exists and you have not read it; read it first"):
            await bench.call("Write" if "content" in arguments else "Edit", file_path=PATH, **arguments)
    assert path.read_text() == "one\ntwo\nthree\n"
    await bench.call("Write", file_path="new.txt", content="x")
    await bench.call("Edit", file_path="new.txt", old_string="x", new_string="y")
    assert (bench.root / "new.txt").read_text() == "y"


async def test_another_agents_change_is_named(bench: Bench) -> None:
    path = begin(bench)
    for agent in ("worker", "scout", "main"):
        await bench.call("Read", agent, file_path=PATH)
    await edit(bench, "worker", "one", "1")
    assert await refused(bench, "scout", "two", "2") == (
        "'f.txt' was changed by subagent 'worker' since you read it; read it again"
    )
    await bench.call("Read", file_path=PATH)
    await edit(bench, "main", "two", "2")
    assert await refused(bench, "scout", "three", "3") == (
        "'f.txt' was changed by subagent 'worker' and the main agent since you read it; read it again"
    )
    assert path.read_text() == "1\n2\nthree\n"


async def test_two_edits_at_once_are_both_there(bench: Bench) -> None:
    path = begin(bench)
    await bench.call("Read", file_path=PATH)
    await asyncio.gather(edit(bench, "main", "one", "1"), edit(bench, "main", "three", "3"))
    assert path.read_text() == "1\ntwo\n3\n"


async def test_content_decides_and_not_the_time(bench: Bench) -> None:
    path = begin(bench)
    await bench.call("Read", file_path=PATH)
    path.touch()
    await edit(bench, "main", "one", "1")
    before = path.stat()
    path.write_text("1\ntwo\nother\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "was changed by a command or another program" in await refused(bench, "main", "two", "2")


async def test_a_command_is_put_down_to_the_agent_that_ran_it(bench: Bench) -> None:
    begin(bench)
    for agent in ("main", "worker"):
        await bench.call("Read", agent, file_path=PATH)
    await bench.call("Bash", "worker", command=f"sed -i s/two/2/ {PATH}")
    assert "was changed by a command, probably of subagent 'worker' since" in await refused(bench, "main", "one", "1")
    assert "was changed by a command, probably your own since" in await refused(bench, "worker", "one", "1")


async def test_a_parent_is_told_once_what_others_changed(bench: Bench) -> None:
    path = begin(bench)
    (bench.root / "other.txt").write_text("x")
    await bench.call("Read", file_path=PATH)
    await bench.call("Read", file_path="other.txt")
    await bench.call("Read", "worker", file_path=PATH)
    await edit(bench, "worker", "one", "1")
    await bench.call("Bash", "worker", command="rm other.txt")
    told = await bench.view("main").changed_by_others()
    assert told == [
        (path, "subagent 'worker'"),
        (bench.root / "other.txt", "a command, probably of subagent 'worker'"),
    ]
    assert await bench.view("main").changed_by_others() == []


async def test_a_fork_has_seen_what_its_parent_has(bench: Bench) -> None:
    path = begin(bench)
    await bench.call("Read", file_path=PATH)
    bench.views["fork"] = bench.view("main").clone(agent_id="id-fork", agent_name="fork")
    await edit(bench, "fork", "one", "1")
    assert "subagent 'fork'" in await refused(bench, "main", "two", "2")
    assert path.read_text() == "1\ntwo\nthree\n"


async def test_an_edit_of_an_open_document_goes_through_the_editor_and_is_saved(bench: Bench) -> None:
    path = begin(bench)
    bench.editor.open(path)
    await bench.call("Read", "worker", file_path=PATH)
    assert (await edit(bench, "worker", "one", "1")).text == "Edited f.txt (1 replacement, line 1, +1 -1)."
    assert (bench.editor.labels, bench.editor.saves) == (["Edit by worker"], [path])
    assert path.read_text() == "1\ntwo\nthree\n"
    await edit(bench, "worker", "two", "2")
    assert path.read_text() == "1\n2\nthree\n"


async def test_unsaved_changes_of_the_person_stay_unsaved_and_it_is_said(bench: Bench) -> None:
    path = begin(bench)
    bench.editor.open(path)
    bench.editor.type(path, "one\ntwo\nthree\nmine\n")
    await bench.call("Read", file_path=PATH)
    output = await edit(bench, "main", "one", "1")
    assert output.text.endswith(
        "The person has unsaved changes in this file, so it was edited in the editor and not saved."
    )
    assert (bench.editor.buffers[path].text, path.read_text()) == ("1\ntwo\nthree\nmine\n", "one\ntwo\nthree\n")


async def test_unsaved_text_from_before_a_restart_is_the_persons(bench: Bench) -> None:
    path = begin(bench)
    bench.editor.open(path, "one\ntwo\nthree\nkept\n")
    await bench.call("Read", file_path=PATH)
    await edit(bench, "main", "one", "1")
    assert (bench.editor.buffers[path].text, bench.editor.saves) == ("1\ntwo\nthree\nkept\n", [])


async def test_replacing_a_document_with_unsaved_text_asks(bench: Bench) -> None:
    path = begin(bench)
    bench.editor.open(path)
    arguments = {"file_path": PATH, "content": "x"}
    assert WRITE.accesses(bench.context(), arguments) == (Access(effect=Effect.WRITE, target=PATH, path=path),)
    bench.editor.type(path, "mine")
    (access,) = WRITE.accesses(bench.context(), arguments)
    assert access.ask == "the editor holds unsaved text of this file, and all of it would be replaced"


async def test_the_persons_typing_is_named(bench: Bench) -> None:
    path = begin(bench)
    bench.editor.open(path)
    await bench.call("Read", file_path=PATH)
    bench.editor.type(path, "one\ntwo\nthree\nx\n")
    assert "was changed by the person in the editor since" in await refused(bench, "main", "one", "1")
    bench.editor.type(path, "one\ntwo\nthree\n")
    await edit(bench, "main", "one", "1")


async def test_unsaved_text_that_the_person_drops_is_their_change(bench: Bench) -> None:
    path = begin(bench)
    bench.editor.open(path)
    bench.editor.type(path, "mine\n")
    await bench.call("Read", file_path=PATH)
    bench.registry.documents.closed(path)
    assert "was changed by the person in the editor since" in await refused(bench, "main", "mine", "1")


async def test_a_command_under_an_open_document_is_a_commands_change(bench: Bench) -> None:
    path = begin(bench)
    bench.editor.open(path)
    await bench.call("Read", file_path=PATH)
    await bench.call("Bash", command=f"sed -i s/two/2/ {PATH}")
    assert "1\tone\n2\t2" in await bench.text("Read", "worker", file_path=PATH)
    bench.editor.reload(path)
    assert "was changed by a command, probably your own since" in await refused(bench, "main", "one", "1")
    await edit(bench, "worker", "one", "1")
    assert path.read_text() == bench.editor.buffers[path].text == "1\n2\nthree\n"


async def test_a_formatter_that_runs_on_save_is_told(bench: Bench) -> None:
    path = begin(bench)
    bench.editor.open(path)
    bench.editor.formatted = "1\nformatted\n"
    await bench.call("Read", file_path=PATH)
    assert "changed the text while saving (a formatter); read it again" in (await edit(bench, "main", "one", "1")).text
    assert "was changed by the editor while saving since" in await refused(bench, "main", "1", "2")


async def test_an_editor_that_cannot_save_is_told(bench: Bench) -> None:
    path = begin(bench)
    bench.editor.can_save = False
    bench.editor.open(path)
    await bench.call("Read", file_path=PATH)
    assert (await edit(bench, "main", "one", "1")).text.endswith("the edit is in the editor and not on disk.")
    assert (await edit(bench, "main", "two", "2")).text.endswith("not saved.")
    assert bench.editor.buffers[path].text == "1\n2\nthree\n"


async def test_a_file_that_the_editor_would_spoil_is_edited_on_disk(bench: Bench) -> None:
    path = bench.root / PATH
    path.write_bytes(b"# \xa9\r\na\nb\n")
    bench.editor.open(path, "# \ufffd\r\na\r\nb\r\n")
    await bench.call("Read", file_path=PATH)
    await edit(bench, "main", "a", "A")
    assert (path.read_bytes(), bench.editor.labels) == (b"# \xa9\r\nA\nb\n", [])


async def test_a_document_open_through_a_link_is_the_same_file(bench: Bench) -> None:
    path = begin(bench)
    link = bench.root / "link.txt"
    link.symlink_to(path)
    bench.editor.open(link)
    bench.editor.type(link, "unsaved\n")
    assert "1\tunsaved" in await bench.text("Read", file_path=PATH)
    await edit(bench, "main", "unsaved", "x")
    assert bench.editor.buffers[link].text == "x\n"


async def test_typing_at_the_moment_of_the_edit_loses_nothing(bench: Bench) -> None:
    path = begin(bench)
    bench.editor.open(path)
    await bench.call("Read", file_path=PATH)
    apply = bench.editor.apply

    async def late(**arguments: Any) -> object:
        bench.editor.type(path, "typed\n")
        return await apply(**arguments)

    bench.editor.apply = late  # type: ignore[method-assign, assignment]
    assert "was changed by the person in the editor at this very moment" in await refused(bench, "main", "one", "1")
    assert bench.editor.buffers[path].text == "typed\n"


# One line for each actor, so that an update that is lost can be seen whoever made it.
ACTORS: tuple[str, ...] = ("main", "worker", "person", "command")
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTORS), st.sampled_from(["read", "edit", "write", "save", "reload"])),
    min_size=1,
    max_size=14,
)


class Schedule:
    """Runs a schedule of steps, and keeps what each line of the file must be."""

    def __init__(self, bench: Bench, *, opened: bool) -> None:
        self.bench = bench
        self.path = begin(bench, "".join(f"{actor} 0\n" for actor in ACTORS))
        self.counts: dict[str, int] = dict.fromkeys(ACTORS, 0)
        self.opened = opened
        # Who changed the file since this agent read it; None: it never did.
        self.since: dict[str, set[str] | None] = {"main": None, "worker": None}
        if opened:
            bench.editor.open(self.path)

    @property
    def current(self) -> str:
        if self.opened and self.bench.editor.buffers[self.path].dirty:
            return self.bench.editor.buffers[self.path].text
        return self.path.read_text()

    def expected(self) -> str:
        return "".join(f"{actor} {count}\n" for actor, count in self.counts.items())

    def next_line(self, actor: str) -> tuple[str, str]:
        old = f"{actor} {self.counts[actor]}"
        return old, f"{actor} {self.counts[actor] + 1}"

    def changed(self, actor: str) -> None:
        self.counts[actor] += 1
        for agent, since in self.since.items():
            if agent != actor and since is not None:
                since.add(actor)

    async def step(self, actor: str, action: str) -> None:
        if actor in self.since:
            await self.agent(actor, action)
        elif actor == "person" and self.opened:
            self.person(action)
        elif actor == "command" and not (self.opened and self.bench.editor.buffers[self.path].dirty):
            # (Under unsaved text the person is asked by the editor which of the two to keep.)
            await self.bench.call(
                "Bash", "worker", command="sed -i 's/{}/{}/' f.txt".format(*self.next_line("command"))
            )
            self.changed("command")
        assert self.current == self.expected()

    async def agent(self, agent: str, action: str) -> None:
        if action == "read":
            await self.bench.call("Read", agent, file_path=PATH)
            self.since[agent] = set()
            return
        refusal = await self.attempt(agent, action)
        since = self.since[agent]
        if refusal is None:
            assert since == set()
            self.changed(agent)
        elif since is None:
            assert "have not read it" in refusal
        else:
            assert since
            words = {"person": "the person", "command": "a command", "main": "the main agent", "worker": "'worker'"}
            assert [words[who] for who in since if words[who] not in refusal] == [], refusal

    async def attempt(self, agent: str, action: str) -> str | None:
        """Change the agent's line; return why it was refused."""
        old, new = self.next_line(agent)
        try:
            if action == "write":
                await self.bench.call("Write", agent, file_path=PATH, content=self.current.replace(old, new))
            else:
                await edit(self.bench, agent, old, new)
        except ToolError as error:
            return str(error)
        return None

    def person(self, action: str) -> None:
        editor = self.bench.editor
        if action == "save":
            if editor.buffers[self.path].dirty:
                editor.save_as_person(self.path)
        else:
            editor.reload(self.path)
            if action == "edit":
                editor.type(self.path, self.current.replace(*self.next_line("person")))
                self.changed("person")


@pytest.mark.slow
@pytest.mark.parametrize("opened", [False, True])
@example(steps=[("command", "edit"), ("main", "read"), ("main", "edit")])
@example(steps=[("command", "edit"), ("main", "read"), ("person", "reload"), ("command", "edit"), ("main", "edit")])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_no_update_is_lost_and_every_refusal_names_who(
    tmp_path_factory: pytest.TempPathFactory, opened: bool, steps: list[tuple[str, str]]
) -> None:
    async def run() -> None:
        bench = Bench(tmp_path_factory.mktemp("shared").resolve())
        try:
            schedule = Schedule(bench, opened=opened)
            for actor, action in steps:
                await schedule.step(actor, action)
        finally:
            await bench.close()

    asyncio.run(run())
