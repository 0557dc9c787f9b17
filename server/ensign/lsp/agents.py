"""`ensign/agent/*`: the definitions, and a person's start of one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ensign.lsp.uris import absolute
from ensign.protocol import wire

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer


def register(server: LanguageServer) -> None:
    """Agents: list and run."""
    server.method("ensign/agent/list", wire.AgentList, lambda app: app.api.agent_list, read=_in_folder)
    server.method("ensign/agent/run", wire.AgentRun, lambda app: app.api.agent_run, read=_at_place)


def _in_folder(params: wire.AgentList) -> wire.AgentList:
    return params if params.cwd is None else replace(params, cwd=absolute(params.cwd, what="params.cwd"))


def _at_place(params: wire.AgentRun) -> wire.AgentRun:
    return params if params.uri is None else replace(params, uri=absolute(params.uri, what="params.uri"))
