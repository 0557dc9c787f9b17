"""Settings that change while the server runs hold from the next turn on; a bad value is told and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply
from tests.lsp.real import agent, desk

OFFLINE = {"default": "offline", "small": "offline", "large": "offline"}
SETTINGS = ".ensign/settings.json"


def at(server: ModelServer, model: str) -> dict[str, Any]:
    """Settings that name a model of a scripted server."""
    return {"default": f"local/{model}", "providers": {"local": {"kind": "openai", "baseUrl": server.base_url}}}


async def test_the_next_turn_of_an_open_session_uses_the_model_that_was_set_meanwhile(tmp_path: Path) -> None:
    async with ModelServer(Reply(text="one"), Reply(text="two")) as server, desk(tmp_path) as person:
        session = await person.session()
        person.configure({"ensign": {"models": at(server, "first")}})
        await person.client.sent("ensign/changed")
        await person.turn(session, "hello")
        person.configure({"ensign.models": at(server, "second"), "python.path": "x"})
        await person.client.sent("ensign/changed", 2)
        await person.turn(session, "hello again")
        assert [request.json["model"] for request in server.requests] == ["first", "second"]
        assert await person.client.sent("ensign/changed") == [{"what": "settings"}] * 2
        person.configure({"ensign": {}})
        await person.client.sent("ensign/changed", 3)
        assert await person.roles() == OFFLINE


async def test_a_model_that_the_person_chose_for_a_session_stays(tmp_path: Path) -> None:
    async with ModelServer(Reply(text="one")) as server, desk(tmp_path) as person:
        person.configure({"ensign": {"models": at(server, "first")}})
        await person.client.sent("ensign/changed")
        session = await person.session()
        chosen = {"sessionId": session, "model": "local/chosen"}
        await person.client.request("ensign/session/set", chosen)
        person.configure({"ensign": {"models": at(server, "second")}})
        await person.client.sent("ensign/changed", 2)
        await person.turn(session, "hello")
        assert [request.json["model"] for request in server.requests] == ["chosen"]


async def test_a_model_whose_provider_is_gone_stays_in_use_and_that_is_said(tmp_path: Path) -> None:
    async with ModelServer(Reply(text="one")) as server, desk(tmp_path) as person:
        person.configure({"ensign": {"models": at(server, "first")}})
        await person.client.sent("ensign/changed")
        session = await person.session()
        chosen = {"sessionId": session, "model": "local/chosen"}
        await person.client.request("ensign/session/set", chosen)
        person.configure({"ensign": {}})
        events = await person.client.until(lambda m: m.get("params", {}).get("event", {}).get("kind") == "notice")
        assert events[0]["params"]["event"]["text"].startswith("The model stays as it is: no model 'local/chosen'")
        await person.turn(session, "hello")
        assert [request.json["model"] for request in server.requests] == ["chosen"]


async def test_a_bad_value_is_told_by_path_and_the_good_one_before_it_holds(tmp_path: Path) -> None:
    async with desk(tmp_path) as person:
        person.configure({"ensign": {"models": {"small": "openai/gpt-5-mini"}}})
        await person.client.sent("ensign/changed")
        person.configure({"ensign": {"models": {"small": 7, "large": "openai/gpt-5"}}})
        (told,) = await person.client.sent("window/showMessage")
        text = "Ensign settings: 'models.small' must be text, not 7; the value before holds"
        assert told == {"type": 2, "message": text}
        await person.client.sent("ensign/changed", 2)
        assert await person.roles() == {"default": "offline", "small": "openai/gpt-5-mini", "large": "openai/gpt-5"}


async def test_a_client_that_only_says_that_something_changed_is_asked(tmp_path: Path) -> None:
    async with desk(tmp_path, capabilities={"workspace": {"configuration": True}}) as person:
        person.client.replies["workspace/configuration"] = lambda params: [{"models": {"small": "openai/gpt-5-mini"}}]
        person.configure(None)
        await person.client.sent("ensign/changed")
        assert (await person.roles())["small"] == "openai/gpt-5-mini"


async def test_settings_of_others_change_nothing(tmp_path: Path) -> None:
    options = {"models": {"small": "openai/gpt-5-mini"}}
    async with desk(tmp_path, initializationOptions=options) as person:
        ignored: tuple[Any, ...] = ({"python": {"path": "x"}}, [], None, {})
        for settings in ignored:
            person.configure(settings)
        assert (await person.roles())["small"] == "openai/gpt-5-mini"


async def test_open_agent_files_are_looked_at_again_when_a_model_gets_its_name(tmp_path: Path) -> None:
    async with desk(tmp_path) as person:
        uri = person.open(".ensign/agents/a.md", agent("a", "model: mine"))
        assert await person.faults(uri, 1) == [(3, 7, 11, 2, "unknown-model")]
        person.configure({"ensign": {"models": {"aliases": {"mine": "openai/gpt-5"}}}})
        await person.client.until(
            lambda m: (
                m.get("method") == "textDocument/publishDiagnostics"
                and m["params"] == {"uri": uri, "version": 1, "diagnostics": []}
            )
        )


@pytest.mark.slow
async def test_a_settings_file_that_is_edited_holds_and_one_that_is_broken_does_not(tmp_path: Path) -> None:
    async with desk(tmp_path) as person:
        await person.roles()
        person.home.mkdir(exist_ok=True)
        file = person.home / "settings.json"
        file.write_text('{"models": {"small": "openai/gpt-5-mini"}}', encoding="utf-8")
        await person.client.sent("ensign/changed")
        assert (await person.roles())["small"] == "openai/gpt-5-mini"
        file.write_text('{"models": {"small": "openai/gpt-5", ', encoding="utf-8")
        assert await person.faults(file.as_uri()) == [(0, 37, 37, 1, "json-syntax")]
        assert (await person.roles())["small"] == "openai/gpt-5-mini"
        file.write_text('{"models": {"small": "openai/gpt-5"}}', encoding="utf-8")
        await person.client.until(
            lambda m: (
                m.get("method") == "textDocument/publishDiagnostics"
                and m["params"] == {"uri": file.as_uri(), "diagnostics": []}
            )
        )
        assert (await person.roles())["small"] == "openai/gpt-5"


async def test_the_folder_that_a_session_is_in_decides_its_projects_settings(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".ensign").mkdir(parents=True)
    (other / SETTINGS).write_text(json.dumps({"permissions": {"deny": ["Bash"]}}), encoding="utf-8")
    roots = [{"uri": (tmp_path / name).as_uri(), "name": name} for name in ("project", "other")]
    experimental = {"ensign": {"approvals": True}}
    async with desk(tmp_path, workspaceFolders=roots, experimental=experimental) as person:
        denied = await person.session(other)
        events = await person.turn(denied, "run `touch x`")
        assert "approval_requested" not in {event["kind"] for event in events}
        asked = await person.session(person.project)
        params: dict[str, Any] = {"sessionId": asked, "text": "run `touch x`", "context": []}
        await person.client.request("ensign/turn/start", params)
        await person.client.until(
            lambda m: (
                m.get("params", {}).get("event", {}).get("kind") == "approval_requested"
                and m["params"]["sessionId"] == asked
            )
        )
        assert [one for one in person.client.received if one.get("params", {}).get("sessionId") == denied]
