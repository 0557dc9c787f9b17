"""What a person sets up: a new agent, a model that runs on this machine, and what the doctor says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ensign.testing.http_server import HttpServer
from ensign.testing.model_server import ModelServer
from tests.lsp.real import Desk, agent, desk


async def create(person: Desk, name: str, place: str = "project", **more: Any) -> Any:
    answer = await person.client.request("ensign/agent/create", {"name": name, "place": place, **more})
    return answer.get("result") or answer["error"]["message"]


@pytest.mark.parametrize(("place", "folder"), [("project", "project/.ensign/agents"), ("user", "state/agents")])
async def test_a_new_agent_is_valid_as_it_is_and_says_where_to_write(tmp_path: Path, place: str, folder: str) -> None:
    async with desk(tmp_path) as person:
        made = await create(person, " test-writer ", place)
        path = tmp_path / folder / "test-writer.md"
        assert made == {"path": str(path), "line": 2, "start": 13, "end": 52}
        text = path.read_text(encoding="utf-8")
        assert text.split("\n")[2][13:52] == "When to use this agent, in one sentence"
        document = {"uri": path.as_uri(), "languageId": "markdown", "version": 1, "text": text}
        person.client.notify("textDocument/didOpen", {"textDocument": document})
        assert await person.faults(path.as_uri(), 1) == []
        # What is offered in comments is valid, too.
        without = text.replace("# More", "#: More").replace("\n# ", "\n")
        person.change(path.as_uri(), 2, without)
        assert await person.faults(path.as_uri(), 2) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "an agent needs a name"),
        ("has space", "'has space' cannot be a name: a letter, then up to 31 letters, digits, '-' or '_'"),
        ("main", "'main' cannot be a name"),
        ("../x", "'../x' cannot be a name"),
        ("explore", "there is an agent 'Explore' already, built in; choose another name"),
        ("Helper", "there is an agent 'helper' already, defined in "),
        ("broken", "'{project}/.ensign/agents/broken.md' is there already; choose another name"),
    ],
)
async def test_a_name_that_cannot_be_taken_is_refused_with_the_reason(tmp_path: Path, name: str, reason: str) -> None:
    files = {".claude/agents/helper.md": agent("helper"), ".ensign/agents/broken.md": "---\n"}
    async with desk(tmp_path, files=files) as person:
        for check in (True, False):
            told = await create(person, name, check=check)
            assert str(told).startswith(reason.format(project=person.project)), told
        assert sorted(path.name for path in person.project.rglob("*.md")) == ["broken.md", "helper.md"]


async def test_asking_whether_a_name_is_free_writes_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as person:
        assert (await create(person, "fine", check=True))["line"] == 2
        assert list(person.project.iterdir()) == []


async def test_a_link_out_of_the_workspace_is_not_written_through(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with desk(tmp_path) as person:
        (person.project / ".ensign").symlink_to(elsewhere)
        told = await create(person, "fine")
        assert told.endswith("leads out of the workspace; no file is written through it")
        assert list(elsewhere.iterdir()) == []


async def test_a_server_on_this_machine_is_asked_for_its_models_when_a_person_chooses(tmp_path: Path) -> None:
    async with ModelServer(models=("llama3:8b", "qwen/coder")) as server:
        # A proxy that nobody may be asked through: it is not there.
        variables = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
        providers = {"ollama": {"kind": "openai", "baseUrl": server.base_url}}
        options = {"models": {"providers": providers}}
        async with desk(tmp_path, environment=variables, initializationOptions=options) as person:
            calm = await person.client.request("ensign/model/list", {})
            assert not [one for one in calm["result"]["models"] if one["provider"] == "ollama"]
            asked = await person.client.request("ensign/model/list", {"local": True})
            assert [one for one in asked["result"]["models"] if one["provider"] == "ollama"] == [
                {"id": "ollama/llama3:8b", "label": "llama3:8b", "provider": "ollama", "ready": True, "problem": ""},
                {"id": "ollama/qwen/coder", "label": "qwen/coder", "provider": "ollama", "ready": True, "problem": ""},
            ]
            session = await person.session()
            chosen = {"sessionId": session, "model": "ollama/llama3:8b"}
            assert (await person.client.request("ensign/session/set", chosen))["result"] == {}


async def test_a_server_that_is_silent_strange_or_not_there_costs_a_moment_and_is_said(tmp_path: Path) -> None:
    async def hang(request: Any, connection: Any) -> None:
        """Never answer."""

    async def strange(request: Any, connection: Any) -> None:
        connection.start(200, {"Content-Type": "text/html"})
        connection.write(b"<html>[]</html>")
        connection.end()

    async with HttpServer(hang) as silent, HttpServer(strange) as other:
        at = {"silent": silent.port, "strange": other.port, "gone": 9}
        providers = {
            name: {"kind": "openai", "baseUrl": f"http://127.0.0.1:{port}/v1", "models": ["m"]}
            for name, port in at.items()
        }
        async with desk(tmp_path, initializationOptions={"models": {"providers": providers}}) as person:
            asked = await person.client.request("ensign/model/list", {"local": True})
            problems = {one["id"]: one["problem"] for one in asked["result"]["models"]}
            assert {name: problems[f"{name}/m"] for name in at} == {
                name: f"no server answers at http://127.0.0.1:{port}/v1; start it" for name, port in at.items()
            }


async def test_a_key_makes_its_providers_models_ready_and_is_forgotten_again(tmp_path: Path) -> None:
    async with desk(tmp_path) as person:

        async def ready() -> bool:
            models = (await person.client.request("ensign/model/list", {}))["result"]["models"]
            return all(one["ready"] for one in models if one["provider"] == "anthropic")

        assert not await ready()
        for key, expected in (("sk-ant-1", True), ("", False)):
            await person.client.request("ensign/model/key", {"provider": "anthropic", "key": key})
            assert await ready() is expected


async def test_a_key_stays_when_settings_change_and_holds_in_every_folder(tmp_path: Path) -> None:
    async with desk(tmp_path) as person:
        await person.client.request("ensign/model/key", {"provider": "openai", "key": "sk-1"})
        person.configure({"ensign": {"models": {"default": "openai/gpt-5"}}})
        await person.client.sent("ensign/changed")
        models = (await person.client.request("ensign/model/list", {}))["result"]["models"]
        assert [one["ready"] for one in models if one["id"] == "openai/gpt-5"] == [True]


async def test_the_doctors_page_has_a_next_step_for_each_fault(tmp_path: Path) -> None:
    files = {".ensign/agents/bad_one.md": "---\nname: x\n"}
    options = {"models": {"default": "anthropic/claude-haiku-4-5"}, "subagents": {"maxRuning": 3}}
    async with desk(tmp_path, files=files, initializationOptions=options) as person:
        page = (await person.client.request("ensign/doctor", {}))["result"]["text"]
        parts = page.split("\n## ")
        faults = {part.split("\n")[0]: part for part in parts[1:-1]}
        assert {"Limited: model default", "Limited: agents", "Limited: settings"} <= faults.keys()
        assert [name for name, part in faults.items() if "**Next:** " not in part] == []
        assert "Run **Ensign: Set API Key**" in faults["Limited: model default"]
        assert "bad_one.md`, line 1: the front matter" in faults["Limited: agents"]
        assert "did you mean 'subagents.maxRunning'" in faults["Limited: settings"]
        assert parts[-1].startswith("In order\n\n- python: ")
