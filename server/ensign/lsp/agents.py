"""`ensign/agent/*`: the definitions, a person's start of one, and a new one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ensign.lsp.uris import absolute
from ensign.protocol import wire
from ensign.protocol.setup import AgentCreate

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer


def register(server: LanguageServer) -> None:
    """Agents: list, run and create."""
    server.method("ensign/agent/list", wire.AgentList, lambda app: app.api.agent_list, read=_in_folder)
    server.method("ensign/agent/create", AgentCreate, lambda app: app.api.agent_create, read=_for_folder)
    server.method("ensign/agent/run", wire.AgentRun, lambda app: app.api.agent_run, read=_at_place)


def _in_folder(params: wire.AgentList) -> wire.AgentList:
    return params if params.cwd is None else replace(params, cwd=absolute(params.cwd, what="params.cwd"))


def _for_folder(params: AgentCreate) -> AgentCreate:
    return params if params.cwd is None else replace(params, cwd=absolute(params.cwd, what="params.cwd"))


def _at_place(params: wire.AgentRun) -> wire.AgentRun:
    return params if params.uri is None else replace(params, uri=absolute(params.uri, what="params.uri"))
