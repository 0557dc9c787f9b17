"""The one border between JSON and our values: parameters in, results out, errors as JSON-RPC has them.

A request that is wrong names the wrong field; a bug of ours is told in one sentence and its traceback goes to the log.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ensign.protocol.codec import decode, to_wire
from ensign.protocol.errors import EnsignError, UserError
from ensign.protocol.value import camel

if TYPE_CHECKING:
    import cattrs

T = TypeVar("T")
log = logging.getLogger(__name__)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002
REQUEST_CANCELLED = -32800
REQUEST_FAILED = -32803


class RpcError(Exception):
    """An error as it goes over the wire, from us or from the client."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    def as_json(self) -> dict[str, Any]:
        """The `error` member of a response."""
        return {"code": self.code, "message": str(self)}


def json_object(value: Any) -> dict[str, Any] | None:
    """Return a JSON value that is an object, else None."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def json_array(value: Any) -> list[Any]:
    """Return a JSON value that is an array, else an empty one."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def member(value: Any, *keys: str) -> Any:
    """Return a nested member, or None when anything on the way is missing or no object."""
    for key in keys:
        value = (json_object(value) or {}).get(key)
    return value


def params_object(params: Any, *, what: str = "params") -> dict[str, Any]:
    """Return parameters as an object: clients also say "none" by leaving them out, by `null`, `[]` and `[null]`.

    Raises:
        RpcError: they are something else.
    """
    if params is None or params in ([], [None]):
        return {}
    if (found := json_object(params)) is None:
        raise RpcError(INVALID_PARAMS, f"{what}: must be an object")
    return found


def decode_params(cls: type[T], params: Any, *, what: str = "params") -> T:
    """Return the parameters of one of our own methods as `cls`; `what` is how errors name them.

    Raises:
        RpcError: naming the first wrong field.
    """
    try:
        return decode(cls, params_object(params, what=what), what=what)
    except UserError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from error


def decode_standard(cls: type[T], params: Any) -> T:
    """Return the parameters of a method of the Language Server Protocol as `cls`, one of lsprotocol's types.

    Raises:
        RpcError: naming the first wrong field.
    """
    import cattrs

    try:
        return _converter().structure(params_object(params), cls)
    except (cattrs.BaseValidationError, KeyError, TypeError, ValueError) as error:
        first = cattrs.transform_error(error, path="params")[0]
        what, _, where = first.rpartition(" @ ")
        field = ".".join(camel(part) for part in where.split("."))
        raise RpcError(INVALID_PARAMS, f"{field}: {what}" if where else first) from error


def encode_standard(value: Any) -> Any:
    """Return a value of lsprotocol as JSON."""
    return _converter().unstructure(value)


def encode(value: Any) -> Any:
    """Return one of our own values as JSON."""
    return to_wire(value)


def as_rpc_error(error: BaseException, method: str) -> RpcError:
    """Return what the client is told of `error`; what is a bug is logged here, once."""
    if isinstance(error, RpcError):
        return error
    if isinstance(error, EnsignError):
        names_a_field = str(error).startswith("params.")
        return RpcError(INVALID_PARAMS if names_a_field else REQUEST_FAILED, str(error))
    log.error("bug in the handler of %r", method, exc_info=error)
    return RpcError(INTERNAL_ERROR, f"internal error in {method!r}; the server's log has the details")


@cache
def _converter() -> cattrs.Converter:
    from lsprotocol.converters import get_converter

    return get_converter()
