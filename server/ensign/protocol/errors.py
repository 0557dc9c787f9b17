"""Errors, sorted by who should read them.

* EnsignError
  x ToolError       -> the model reads it, the turn goes on
  x ModelError      -> the retry policy reads it, then the user
  x UserError       -> the user reads it, the model never does
  x TransitionError -> a developer reads it: a task was moved to a state that its present one does not lead to

`asyncio.CancelledError` is not an error and is never caught without being raised again.
Anything else is a bug: it ends the run, reaches the log with its traceback, and the server lives.
"""

from __future__ import annotations

from enum import StrEnum


class EnsignError(Exception):
    """Base of every error we raise on purpose."""


class ToolError(EnsignError):
    """A tool could not do what was asked; `str(error)` is shown to the model."""


class DeniedError(ToolError):
    """A call was not allowed.

    Attributes:
        by: who denied it: `person`, `rule`, `mode`, `timeout`, `no client`, `filter`, `stopped`.
        target: what would have been touched.
    """

    def __init__(self, message: str, *, by: str, target: str = "") -> None:
        super().__init__(message)
        self.by = by
        self.target = target


class ModelErrorKind(StrEnum):
    """What went wrong with a model request, in the words shown to people."""

    AUTH = "auth"
    QUOTA = "quota"
    RATE = "rate"
    OVERLOADED = "overloaded"
    OVERFLOW = "overflow"
    UNKNOWN_MODEL = "unknown_model"
    BAD_REQUEST = "bad_request"
    CONNECTION = "connection"
    DROPPED = "dropped"
    STALLED = "stalled"
    SERVER = "server"


class ModelError(EnsignError):
    """A provider refused or broke off.

    Attributes:
        kind: the class of fault.
        retryable: True when the same request may succeed later (429, 5xx, dropped stream).
        status: HTTP status, or None when no response arrived.
        retry_after_s: seconds the provider asked us to wait, or None.
        prompt_tokens, window_tokens: what an overflow answer named, when it did.
        partial_text: the text that had arrived when the stream broke.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ModelErrorKind,
        retryable: bool,
        status: int | None = None,
        retry_after_s: float | None = None,
        prompt_tokens: int | None = None,
        window_tokens: int | None = None,
        partial_text: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable
        self.status = status
        self.retry_after_s = retry_after_s
        self.prompt_tokens = prompt_tokens
        self.window_tokens = window_tokens
        self.partial_text = partial_text


class UserError(EnsignError):
    """Something the user must fix: a setting, a key, a file they own, a request with wrong parameters."""


class TransitionError(EnsignError):
    """A task was asked to go where its state does not lead."""
