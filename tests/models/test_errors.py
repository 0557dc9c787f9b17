"""Refusals of all providers, by what they mean and what they tell a person to do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ensign.models.credentials import Secret
from ensign.models.errors import Where, from_event, from_response, retry_after
from ensign.protocol.errors import ModelError, ModelErrorKind

Kind = ModelErrorKind
NOW = 1_792_567_000.0  # Wed, 21 Oct 2026 07:16:40 GMT
WHERE = Where(
    provider="acme", model="m-1", url="https://acme.test/v1", key_env="ACME_KEY", secrets=(Secret("hunter2-hunter2"),)
)


def refusal(status: int, body: Any, **headers: str) -> ModelError:
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return from_response(status, names, data, WHERE, wall=NOW)


def openai(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


def anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (401, openai("Incorrect API key provided", code="invalid_api_key"), Kind.AUTH, False),
        (401, anthropic("authentication_error", "invalid x-api-key"), Kind.AUTH, False),
        (403, openai("Country not supported"), Kind.AUTH, False),
        (402, {"error": {"message": "Insufficient Balance"}}, Kind.QUOTA, False),
        (429, openai("You exceeded your current quota, check billing", code="insufficient_quota"), Kind.QUOTA, False),
        (400, anthropic("invalid_request_error", "Your credit balance is too low"), Kind.QUOTA, False),
        (429, openai("Rate limit reached", code="rate_limit_exceeded"), Kind.RATE, True),
        (429, anthropic("rate_limit_error", "slow down"), Kind.RATE, True),
        (429, "", Kind.RATE, True),
        (529, anthropic("overloaded_error", "Overloaded"), Kind.OVERLOADED, True),
        (503, openai("Loading model", type="unavailable_error"), Kind.OVERLOADED, True),
        (500, openai("boom"), Kind.SERVER, True),
        (502, "<html><title>502 Bad Gateway</title></html>", Kind.SERVER, True),
        (504, "", Kind.SERVER, True),
        (408, "", Kind.SERVER, True),
        (501, openai("not implemented"), Kind.SERVER, False),
        (404, openai("The model `x` does not exist", code="model_not_found"), Kind.UNKNOWN_MODEL, False),
        (404, anthropic("not_found_error", "model: claude-9"), Kind.UNKNOWN_MODEL, False),
        (404, {"error": "model 'x' not found"}, Kind.UNKNOWN_MODEL, False),
        (400, openai("Model Not Exist"), Kind.UNKNOWN_MODEL, False),
        (404, openai("File Not Found", type="not_found_error"), Kind.BAD_REQUEST, False),
        (404, "<!DOCTYPE html><title>Nginx</title>", Kind.BAD_REQUEST, False),
        (400, openai("'messages' is required"), Kind.BAD_REQUEST, False),
        (422, {"detail": [{"loc": ["body", "tools"], "msg": "Extra inputs"}]}, Kind.BAD_REQUEST, False),
        (400, [{"error": {"code": 400, "message": "odd"}}], Kind.BAD_REQUEST, False),
        (307, "", Kind.BAD_REQUEST, False),
        (418, b"\xff\xfe\x00", Kind.BAD_REQUEST, False),
    ],
)
def test_a_refusal_has_a_kind_and_is_retried_only_where_that_helps(
    status: int, body: Any, kind: ModelErrorKind, retryable: bool
) -> None:
    error = refusal(status, body)
    assert (error.kind, error.retryable, error.status) == (kind, retryable, status)


@pytest.mark.parametrize(
    ("status", "body", "sizes"),
    [
        (
            400,
            openai("too long", type="exceed_context_size_error", n_prompt_tokens=6051, n_ctx=4096),
            (6051, 4096),
        ),
        (400, openai("request (6051 tokens) exceeds the available context size (4096 tokens)"), (6051, 4096)),
        (
            400,
            anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
            (210000, 200000),
        ),
        (
            400,
            openai(
                "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens",
                code="context_length_exceeded",
            ),
            (5000, 4096),
        ),
        (
            400,
            {"object": "error", "message": "maximum context length is 4096 tokens. However, you requested 5000 tokens"},
            (5000, 4096),
        ),
        (
            400,
            anthropic(
                "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"
            ),
            (190000, 200000),
        ),
        (413, anthropic("request_too_large", "Request exceeds the maximum size"), (None, None)),
        (400, openai("Please reduce the length of the messages"), (None, None)),
    ],
)
def test_an_overflow_is_told_with_the_sizes_it_names(status: int, body: Any, sizes: tuple[int | None, ...]) -> None:
    error = refusal(status, body)
    assert (error.kind, (error.prompt_tokens, error.window_tokens)) == (Kind.OVERFLOW, sizes)
    assert all(str(size) in str(error) for size in sizes if size is not None)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, openai("nope"), ["acme", "ACME_KEY"]),
        (404, openai("File Not Found"), ["https://acme.test/v1", "base_url"]),
        (404, "<html><title>Welcome to nginx!</title>", ["web page", "Welcome to nginx!", "base_url"]),
        (404, openai("model 'm-1' not found"), ["'m-1'"]),
        (402, openai("Insufficient Balance"), ["billing"]),
        (503, openai("Loading model"), ["loading"]),
    ],
)
def test_a_message_says_what_to_look_at(status: int, body: Any, words: list[str]) -> None:
    assert [word for word in words if word not in str(refusal(status, body))] == []


def test_a_redirect_names_its_target_and_is_not_followed() -> None:
    error = refusal(301, "", location="https://other.test/v1?key=hunter2-hunter2")
    assert "https://other.test/v1?key=***" in str(error)


@pytest.mark.parametrize(
    "text",
    ["key hunter2-hunter2 is bad", "sk-abcdefghijklmnop1234 is bad", "Authorization: Bearer abcdef0123456 is bad"],
)
def test_a_key_that_the_server_repeats_is_masked(text: str) -> None:
    for error in (refusal(401, openai(text)), refusal(500, text), from_event(openai(text), WHERE)):
        assert "***" in str(error)
        assert not any(secret in repr(error) for secret in ("hunter2", "abcdef"))


def test_a_page_of_text_is_cut_and_has_no_control_characters() -> None:
    text = str(refusal(500, "x\x1b[31m\r\n\u202e" * 5000))
    assert len(text) < 800
    assert text.isprintable()


@pytest.mark.parametrize(
    ("body", "kind", "retryable"),
    [
        (anthropic("overloaded_error", "Overloaded"), Kind.OVERLOADED, True),
        (anthropic("rate_limit_error", "slow"), Kind.RATE, True),
        (openai("Provider returned error", code=502), Kind.SERVER, True),
        (openai("slow down", code=429), Kind.RATE, True),
        (openai("the request exceeds the available context size"), Kind.OVERFLOW, False),
        (openai("bad", type="invalid_request_error"), Kind.BAD_REQUEST, False),
        ({"error": "strange"}, Kind.SERVER, True),
    ],
)
def test_an_error_in_a_stream_means_what_its_status_would_have(
    body: Any, kind: ModelErrorKind, retryable: bool
) -> None:
    error = from_event(body, WHERE)
    assert (error.kind, error.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 680.0),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:00 GMT"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 99 Foo 2026"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, wall=NOW) == seconds


def test_a_quota_with_a_time_to_wait_is_a_rate() -> None:
    assert refusal(429, openai("You exceeded your current quota"), retry_after="20").kind is Kind.RATE
