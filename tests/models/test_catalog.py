"""References to models, and what is missing before they can be used."""

from __future__ import annotations

from typing import Any

import pytest

from ensign.models.catalog import Catalog
from ensign.models.clock import SystemClock
from ensign.models.http import HttpPool
from ensign.models.prices import price
from ensign.models.remote import Policies, RemoteModel
from ensign.protocol.errors import ModelError, ModelErrorKind, UserError
from ensign.protocol.messages import AssistantMessage, ToolCall, Usage, UserMessage
from ensign.protocol.settings import ModelSettings, ProviderSettings
from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply
from tests.models.bench import NO_RETRY, reply_of


def catalog(environment: dict[str, str] | None = None, *, http: HttpPool | None = None, **settings: Any) -> Catalog:
    """Return a catalog; what sends requests passes a pool that it closes."""
    policies = Policies(clock=SystemClock(), retry=NO_RETRY)
    return Catalog(ModelSettings(**settings), environment or {}, http or HttpPool({}), policies)


LOCAL = {"local": ProviderSettings(kind="openai", base_url="http://127.0.0.1:1/v1/", models=("tiny", "big"))}


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("default", "local/tiny"),
        ("", "local/tiny"),
        (" Default ", "local/tiny"),
        ("small", None),
        ("large", "anthropic/claude-opus-4-5"),
        ("opus", "anthropic/claude-opus-4-5"),
        ("Haiku", None),
        ("mine", "deepseek/deepseek-chat"),
        ("offline", "offline"),
        ("local/org/model:7b", "local/org/model:7b"),
        ("tiny", "local/tiny"),
        ("gpt-5", "openai/gpt-5"),
    ],
)
def test_a_reference_has_a_target_or_none_is_set(reference: str, target: str | None) -> None:
    found = catalog(
        default="local/tiny",
        large="anthropic/claude-opus-4-5",
        aliases={"opus": "large", "mine": "deepseek/deepseek-chat"},
        providers=LOCAL,
    )
    assert found.target(reference) == target


@pytest.mark.parametrize(("reference", "words"), [("nope", "'nope'"), ("nope/x", "'nope'"), ("local/", "'local/'")])
def test_an_unknown_reference_is_refused_with_what_is_valid(reference: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        catalog(providers=LOCAL).target(reference)
    assert [
        part for part in (words, "'default'", "'haiku'", "'offline'", "'local/MODEL'") if part not in str(caught.value)
    ] == []


def test_references_in_a_circle_are_refused() -> None:
    with pytest.raises(UserError, match="small -> haiku -> small"):
        catalog(small="haiku", aliases={"haiku": "small"}).target("small")


def test_nothing_configured_is_offline_even_with_a_key_around() -> None:
    found = catalog({"OPENAI_API_KEY": "k"})
    assert (found.model("default").id, found.model("opus").id) == ("offline", "offline")
    assert found.roles() == {"default": "offline", "small": "offline", "large": "offline"}


def test_the_environment_names_the_default_unless_settings_do() -> None:
    environment = {"ENSIGN_MODEL": "openai/gpt-5"}
    assert catalog(environment).target("default") == "openai/gpt-5"
    assert catalog(environment, default="offline").target("default") == "offline"


def test_the_same_reference_gives_the_same_model() -> None:
    found = catalog(default="local/tiny", providers=LOCAL)
    assert found.model("default") is found.model("local/tiny") is found.model("small")


@pytest.mark.parametrize(
    ("reference", "window"),
    [("anthropic/claude-sonnet-4-5", 200_000), ("openai/gpt-4.1", 1_047_576), ("local/tiny", 128_000), ("own/m", 5000)],
)
def test_the_window_is_known_or_set(reference: str, window: int) -> None:
    own = ProviderSettings(kind="openai", base_url="http://127.0.0.1:1", context_window=5000)
    assert catalog(providers={**LOCAL, "own": own}).model(reference).context_window == window


@pytest.mark.parametrize("base_url", ["", "localhost:1", "ftp://a.test", "http://", "http://user:pw@a.test/v1"])
def test_a_provider_without_a_usable_address_is_refused(base_url: str) -> None:
    found = catalog(providers={"own": ProviderSettings(kind="openai", base_url=base_url)})
    with pytest.raises(UserError, match="'own' needs a base URL") as caught:
        found.model("own/m")
    assert "pw@" not in str(caught.value)


async def test_keys_come_from_the_client_first_and_count_at_once() -> None:
    http = HttpPool({})
    async with ModelServer(*[Reply(text="a")] * 3) as server:
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": " from-environment\n"}
        found = catalog(environment, http=http)
        model = found.model("openai/any")
        assert isinstance(model, RemoteModel)
        await reply_of(model)
        found.set_key("openai", "from-client")
        await reply_of(model)
        found.set_key("openai", "")
        await reply_of(model)
        sent = [request.headers["authorization"] for request in server.requests]
    await http.aclose()
    assert sent == ["Bearer from-environment", "Bearer from-client", "Bearer from-environment"]


async def test_a_key_that_no_header_can_hold_is_refused_unseen() -> None:
    with pytest.raises(UserError, match="'openai'") as caught:
        catalog().set_key("openai", "two\nlines")
    assert "lines" not in str(caught.value)
    model = catalog({"ANTHROPIC_API_KEY": "with blank"}).model("anthropic/claude-sonnet-4-5")
    assert isinstance(model, RemoteModel)
    with pytest.raises(ModelError, match="'ANTHROPIC_API_KEY'") as failed:
        await reply_of(model)
    assert failed.value.kind is ModelErrorKind.AUTH


def test_models_are_listed_with_what_they_lack() -> None:
    found = catalog({"OPENAI_API_KEY": "k"}, default="local/other", providers=LOCAL).list_models()
    by_id = {info.id: (info.ready, info.problem) for info in found}
    assert [
        name for name in ("offline", "local/tiny", "local/other", "openai/gpt-5") if by_id[name] != (True, "")
    ] == []
    assert by_id["anthropic/claude-sonnet-4-5"] == (False, "needs a key: set ANTHROPIC_API_KEY")
    assert [info.ready for info in found] == sorted((info.ready for info in found), reverse=True)


def test_what_a_request_cost_is_told_where_the_price_is_known() -> None:
    usage = Usage(input=1_000_000, output=100_000, cache_write=0, cache_read=1_000_000)
    assert price("anthropic/claude-sonnet-4-5", usage) == pytest.approx(3 + 1.5 + 0.3)
    assert price("openrouter/anthropic/claude-sonnet-4-5", usage) == pytest.approx(4.8)
    assert price("offline", usage) == 0
    assert price("local/tiny", usage) is None


async def test_the_same_conversation_can_go_to_either_format() -> None:
    history = (
        UserMessage(text="hi"),
        AssistantMessage(parts=(ToolCall(call_id="a", name="Read", arguments={}, raw="{}"),)),
    )
    found = catalog(providers=LOCAL)
    for reference in ("local/tiny", "anthropic/claude-sonnet-4-5"):
        model = found.model(reference)
        assert all(model.encode(message) == model.encode(message) for message in history)
