"""A provider's refusals, in every dialect, as one `ModelError` that tells a person what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ensign.models.credentials import Secret, scrub
from ensign.models.jsons import a_count, a_list, a_string, an_object, dumps, loads
from ensign.protocol.errors import ModelError, ModelErrorKind
from ensign.protocol.value import frozen

_MAX_DETAIL = 600


@frozen
class Where:
    """Who was asked, for the words of an error.

    Attributes:
        url: without query and credentials.
        key_env: the variable a person sets the key in, or empty.
        secrets: what must not appear in any message.
    """

    provider: str
    model: str
    url: str
    key_env: str = ""
    secrets: tuple[Secret, ...] = ()


@frozen(kw_only=False)
class _Fault:
    """What an answer said, whatever its dialect: words in lower case for matching, the rest for people."""

    detail: str
    words: str
    numbers: tuple[int | None, int | None] = (None, None)


def from_response(status: int, headers: Mapping[str, str], body: bytes, where: Where, *, wall: float) -> ModelError:
    """Return what an answer other than 200 means. Header names are lower case; `wall` is now, in Unix seconds."""
    if 300 <= status < 400:
        target = scrub(headers.get("location", "elsewhere"), where.secrets)
        text = f"{where.provider} redirects {where.url} to {target!r}; keys are not sent along, set base_url to it"
        return _error(ModelErrorKind.BAD_REQUEST, text, status=status)
    fault = _read(body, headers.get("content-type", ""), where.secrets)
    retry_after_s = retry_after(headers, wall=wall)
    return _classify(status, fault, where, retry_after_s)


def from_event(data: Any, where: Where) -> ModelError:
    """Return what an error object inside a 200 stream means."""
    fault = _fault(data, where.secrets)
    code = _dig(data, "code")
    status = code if isinstance(code, int) and 400 <= code < 600 else _status_of(fault.words)
    return _classify(status, fault, where, None)


def from_page(body: bytes, where: Where) -> ModelError:
    """Return the error for a web page where an answer of the API was expected."""
    return _error(
        ModelErrorKind.BAD_REQUEST,
        f"{where.url} answered with a web page{_title(body)}, not with an API; check base_url",
        status=200,
    )


def no_key(where: Where) -> ModelError:
    """Return the error for a request that was not sent for want of a key."""
    return _error(ModelErrorKind.AUTH, f"no key for {where.provider!r}: {_set_key(where)}")


def unreachable(where: Where, cause: str, *, retryable: bool = True) -> ModelError:
    """Return the error for a connection that did not come about."""
    shown = scrub(cause, where.secrets)
    text = f"cannot reach {where.provider!r} at {where.url}: {shown}; is it running, is base_url right?"
    return ModelError(text, kind=ModelErrorKind.CONNECTION, retryable=retryable)


def retry_after(headers: Mapping[str, str], *, wall: float) -> float | None:
    """Return the seconds that the server asked to wait; None without a usable value, also for a date in the past."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if value := headers.get(name, "").strip():
            try:
                seconds = float(value) * scale
            except ValueError:
                seconds = _until(value, wall)
            if math.isfinite(seconds) and seconds > 0:
                return seconds
    return None


def _until(date: str, wall: float) -> float:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(date).timestamp() - wall
    except (ValueError, OverflowError):
        return -1.0


# ---- reading -----------------------------------------------------------------------------------------------------


def _read(body: bytes, content_type: str, secrets: Iterable[Secret]) -> _Fault:
    text = body[:100_000].decode("utf-8", "replace")
    if "html" in content_type or text.lstrip()[:15].lower().startswith(("<!doctype", "<html")):
        return _Fault(f"a web page{_title(body)}", "")
    data = loads(text)
    return _Fault(_clean(text, secrets), text.lower()) if data is None else _fault(data, secrets)


def _fault(data: Any, secrets: Iterable[Secret]) -> _Fault:
    entries = a_list(data)
    if entries:
        data = entries[0]
    message = _dig(data, "message") or _dig(data, "detail") or _dig(data, "error") or data
    if entries := a_list(message):
        message = "; ".join(_validation(entry) for entry in entries)
    text = a_string(message) or dumps(message).decode()
    words = " ".join(str(_dig(data, name) or "") for name in ("type", "code", "status"))
    numbers = (a_count(_dig(data, "n_prompt_tokens")), a_count(_dig(data, "n_ctx")))
    return _Fault(_clean(text, secrets), f"{words} {text}".lower(), numbers)


def _validation(entry: Any) -> str:
    """One entry of a FastAPI server's list of faults."""
    fault = an_object(entry)
    place = ".".join(str(part) for part in a_list(fault.get("loc")) if part != "body")
    return f"{place}: {fault.get('msg', '')}" if fault else str(entry)


def _dig(data: Any, name: str) -> Any:
    """Return `data.error.name` or `data.name`."""
    outer = an_object(data)
    return an_object(outer.get("error")).get(name, outer.get(name))


def _clean(text: str, secrets: Iterable[Secret]) -> str:
    shown = "".join(char if char.isprintable() else " " for char in scrub(text, secrets))
    shown = re.sub(r"\s+", " ", shown).strip().rstrip(".")
    return shown if len(shown) <= _MAX_DETAIL else f"{shown[:_MAX_DETAIL]}…"


def _title(body: bytes) -> str:
    found = re.search(r"<title[^>]*>([^<]{1,120})", body[:20_000].decode("utf-8", "replace"), re.IGNORECASE)
    return f" ({_clean(found.group(1), ())!r})" if found else ""


# ---- meaning -----------------------------------------------------------------------------------------------------

_OVERFLOW = re.compile(
    r"exceed_context_size|context_length_exceeded|context[ _]?(length|window|size|limit)|prompt is too long"
    r"|too many (input )?tokens|input is too long|request_too_large|reduce the length|maximum.{0,20}tokens.{0,40}prompt"
)
_OVERFLOW_NUMBERS = (
    # (pattern, group of the prompt, group of the window)
    (re.compile(r"prompt is too long: (\d+) tokens > (\d+)"), 1, 2),
    (re.compile(r"request \((\d+) tokens\).*?context size \((\d+)"), 1, 2),
    (re.compile(r"maximum context length is (\d+) tokens.*?(?:requested|resulted in|contains at least) (\d+)"), 2, 1),
    (re.compile(r"context limit: (\d+) \+ \d+ > (\d+)"), 1, 2),
    (re.compile(r"input token count \(?(\d+)\)? exceeds.*?\(?(\d+)\)?"), 1, 2),
)
_QUOTA = re.compile(
    r"insufficient[_ ](quota|balance|credit|funds)|billing|credit balance|payment|exceeded your current quota"
    r"|out of credits|spend(ing)? limit"
)
_MODEL = re.compile(
    r"model_not_found|invalid_model|unknown[_ ]model|model not exist"
    r"|models? .{0,120}(does not|doesn't|not) (exist|found|supported)|no such model|not_found_error +model:"
    r"|(is )?not a valid model|invalid model"
)
_AUTH = re.compile(r"authentication|unauthorized|invalid[_ ]api[_ ]key|permission[_ ]denied|permission_error")
_OVERLOADED = re.compile(r"overloaded|unavailable|capacity|server is busy|insufficient_system_resource")
_RATE = re.compile(r"rate[_ ]?limit|too many requests|resource_exhausted|throttl")


def _status_of(words: str) -> int:
    """Return the HTTP status that an error inside a stream would have had."""
    table = ((_OVERLOADED, 529), (_RATE, 429), (_AUTH, 401), (_QUOTA, 402), (_OVERFLOW, 400), (_MODEL, 404))
    for pattern, status in table:
        if pattern.search(words):
            return status
    return 400 if "invalid_request" in words else 500


def _classify(status: int, fault: _Fault, where: Where, retry_after_s: float | None) -> ModelError:
    if status in (400, 404, 413, 422) and (status == 413 or _OVERFLOW.search(fault.words)):
        return _overflow(status, fault, where)
    if status in (400, 404, 422) and _MODEL.search(fault.words):
        text = f"{where.provider} does not know the model {where.model!r} ({fault.detail})"
        return _error(ModelErrorKind.UNKNOWN_MODEL, text, status=status)
    out_of_quota = _QUOTA.search(fault.words) and retry_after_s is None
    if status == 402 or (status in (400, 403, 429) and out_of_quota):
        text = f"the account at {where.provider} has no credit or quota left ({fault.detail}); check its billing page"
        return _error(ModelErrorKind.QUOTA, text, status=status)
    if status in (401, 403):
        text = f"{where.provider} refused the key ({status}: {fault.detail}); {_set_key(where)}"
        return _error(ModelErrorKind.AUTH, text, status=status)
    if status == 404:
        text = f"{where.url} does not exist ({fault.detail}); check base_url, it mostly ends in '/v1'"
        return _error(ModelErrorKind.BAD_REQUEST, text, status=status)
    return _transient(status, fault, where, retry_after_s)


def _transient(status: int, fault: _Fault, where: Where, retry_after_s: float | None) -> ModelError:
    if status == 429:
        kind, text = ModelErrorKind.RATE, f"{where.provider} asks to slow down ({fault.detail})"
    elif status in (503, 529) or (status >= 500 and _OVERLOADED.search(fault.words)):
        loading = "is still loading the model" if "loading" in fault.words else "is overloaded"
        kind, text = ModelErrorKind.OVERLOADED, f"{where.provider} {loading} ({status}: {fault.detail})"
    elif status >= 500 or status in (408, 409, 425):
        kind, text = ModelErrorKind.SERVER, f"{where.provider} failed ({status}: {fault.detail})"
    else:
        kind, text = ModelErrorKind.BAD_REQUEST, f"{where.provider} refused the request ({status}: {fault.detail})"
    retryable = kind is not ModelErrorKind.BAD_REQUEST and status not in (501, 505)
    return ModelError(text, kind=kind, retryable=retryable, status=status, retry_after_s=retry_after_s)


def _overflow(status: int, fault: _Fault, where: Where) -> ModelError:
    prompt, window = fault.numbers
    for pattern, prompt_group, window_group in _OVERFLOW_NUMBERS:
        if (prompt is None or window is None) and (found := pattern.search(fault.words)):
            prompt, window = int(found.group(prompt_group)), int(found.group(window_group))
    sizes = f": {prompt} tokens, {window} fit" if prompt is not None and window is not None else f" ({fault.detail})"
    return ModelError(
        f"the conversation is too long for {where.model!r}{sizes}",
        kind=ModelErrorKind.OVERFLOW,
        retryable=False,
        status=status,
        prompt_tokens=prompt,
        window_tokens=window,
    )


def _set_key(where: Where) -> str:
    if where.key_env:
        return f"set {where.key_env} to a valid key, or give one in the editor"
    return "give a valid key in the editor, or name its variable as the provider's keyEnv"


def _error(kind: ModelErrorKind, text: str, *, status: int | None = None) -> ModelError:
    return ModelError(text, kind=kind, retryable=False, status=status)
