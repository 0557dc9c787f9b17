"""The standard half of the protocol, on pygls' feature manager and lsprotocol's types.

Imported at the first message that needs it: 554 classes take longer to import than all of the rest (docs/decisions/
0041), and what an editor waits for when it opens, a session, is in the other half.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from lsprotocol import types
from pygls.feature_manager import FeatureManager

from ensign.lsp import actions, agent_files, commands, configuration, sync
from ensign.lsp.guard import decode_standard, encode_standard
from ensign.lsp.rpc import Handler

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer

P = TypeVar("P")


class Standard:
    """Handlers of standard messages, typed on both sides."""

    def __init__(self, server: LanguageServer) -> None:
        self._manager = FeatureManager()  # type: ignore[no-untyped-call]
        sync.register(server, self)
        actions.register(server, self)
        commands.register(server, self)
        agent_files.register(server, self)
        configuration.register(server, self)
        self.feature(
            types.WINDOW_WORK_DONE_PROGRESS_CANCEL,
            types.WorkDoneProgressCancelParams,
            lambda params: server.progress.cancel(params.token),
        )

    def feature(self, name: str, params: type[P], call: Callable[[P], Any]) -> None:
        """Handle a request or notification; `call` may be a coroutine function."""

        def handle(raw: Any) -> Any:
            result = call(decode_standard(params, raw))
            return _encoded(result) if inspect.iscoroutine(result) else encode_standard(result)

        self._manager.feature(name)(handle)  # pyright: ignore[reportUnknownMemberType]

    def command(self, name: str, call: Callable[[Any], Awaitable[Any]]) -> None:
        """Run `call` for a command, with its first argument."""
        self._manager.command(name)(call)  # pyright: ignore[reportUnknownMemberType]

    @property
    def features(self) -> dict[str, Handler]:
        """The handlers by method."""
        return cast("dict[str, Handler]", self._manager.features)  # pyright: ignore[reportUnknownMemberType]

    @property
    def commands(self) -> dict[str, Callable[[Any], Awaitable[Any]]]:
        """The commands by id."""
        found = self._manager.commands  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return cast("dict[str, Callable[[Any], Awaitable[Any]]]", found)


async def _encoded(result: Awaitable[Any]) -> Any:
    return encode_standard(await result)
