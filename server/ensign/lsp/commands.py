"""`workspace/executeCommand` for clients without our extension: each starts something and returns at once.

A task's report comes by `window/showDocument` when it has ended. To our extension these commands are not advertised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from ensign.lsp.guard import INVALID_PARAMS, RpcError, decode_params, encode
from ensign.lsp.lifecycle import COMMANDS
from ensign.lsp.target import Target, target_at
from ensign.protocol import wire
from ensign.protocol.tasks import TaskRecord
from ensign.protocol.value import Value, frozen

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer
    from ensign.lsp.standard import Standard

_ARGUMENT = "params.arguments.0"


@frozen
class Start(Value):
    """Argument of `explore` and `ask`: where the person points, and what they want."""

    uri: str | None = None
    range: wire.Range | None = None
    prompt: str = ""
    agent: str = ""


def register(server: LanguageServer, standard: Standard) -> None:
    """`workspace/executeCommand` and its commands."""

    async def explore(raw: Any) -> Any:
        start = decode_params(Start, raw, what=_ARGUMENT)
        if start.uri is None:
            raise RpcError(INVALID_PARAMS, f"{_ARGUMENT}.uri: Field required")
        target = _target(server, start)
        prompt = start.prompt.strip() or (
            f"Explore {target.name}: what it is, where it is defined and used, and how it works. "
            "Give path:line evidence for each statement."
        )
        return await server.reports.run(start.agent or "Explore", prompt, target)

    async def ask(raw: Any) -> Any:
        start = decode_params(Start, raw, what=_ARGUMENT)
        target = _target(server, start) if start.uri is not None else None
        prompt = start.prompt.strip() or (target.selection if target else "")
        if not prompt:
            raise RpcError(INVALID_PARAMS, f"{_ARGUMENT}.prompt: pass a prompt, or select the text that asks")
        return await server.reports.run(start.agent or "general-purpose", prompt, target)

    async def listed(raw: Any) -> Any:
        found = await server.app.api.task_list(decode_params(wire.TaskList, raw, what=_ARGUMENT))
        lines = [_line(record) for record in found.tasks] or ["No tasks yet"]
        server.peer.notify("window/showMessage", {"type": types.MessageType.Info.value, "message": "\n".join(lines)})
        return encode(found)

    async def stop(raw: Any) -> Any:
        return encode(await server.app.api.task_stop(decode_params(wire.TaskStop, raw, what=_ARGUMENT)))

    async def resume(raw: Any) -> Any:
        return await server.reports.resume(decode_params(wire.TaskSend, raw, what=_ARGUMENT))

    async def send(raw: Any) -> Any:
        return encode(await server.app.api.task_send(decode_params(wire.TaskSend, raw, what=_ARGUMENT)))

    for name, handler in zip(COMMANDS, (explore, ask, listed, stop, resume, send), strict=True):
        standard.command(name, handler)

    async def execute(params: types.ExecuteCommandParams) -> Any:
        handler = standard.commands.get(params.command)
        if handler is None:
            raise RpcError(INVALID_PARAMS, f"params.command: no command {params.command!r}; there are {[*COMMANDS]}")
        return await handler(params.arguments[0] if params.arguments else None)

    standard.feature(types.WORKSPACE_EXECUTE_COMMAND, types.ExecuteCommandParams, execute)


def _target(server: LanguageServer, start: Start) -> Target:
    assert start.uri is not None
    return target_at(server, start.uri, start.range, what=f"{_ARGUMENT}.uri")


def _line(record: TaskRecord) -> str:
    return f"{record.short_id}  {record.state.value}  {record.agent}: {record.description}"
