"""When a session's main agent is told of the tools of MCP servers: before its first request, or by a note (C2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from ensign.mcp.tools import is_remote
from ensign.models.base import Head
from ensign.protocol import events
from ensign.protocol.messages import AssistantMessage, UserMessage
from ensign.runtime.agent import Agent
from ensign.session.mcp import RemoteTools
from ensign.tools.base import Tool
from ensign.tools.tool_search import MAX_NAMES


@dataclass(slots=True, kw_only=True)
class LateTools:
    """What the main agent knows of the servers' tools.

    Attributes:
        main, subagents: read at each use.
        renew: renders the main agent's prompt and tools anew.
        renewed: records that.
    """

    remote: Callable[[], RemoteTools]
    main: Callable[[], Agent]
    subagents: Callable[[], Iterable[Agent]]
    renew: Callable[[], Awaitable[Head]]
    renewed: Callable[[Agent], None]
    emit: Callable[[events.Event], None]
    is_ready: bool = False
    _told: set[str] = field(default_factory=set[str])

    async def ready(self) -> None:
        """Wait for servers that are starting, once; a conversation that has not begun is then told of their tools."""
        if self.is_ready:
            return
        faults = await self.remote().settled()
        self.is_ready = True
        main = self.main()
        for fault in faults:
            self.emit(events.Notice(**main.who, level="warning", text=fault))
        if any(isinstance(message, AssistantMessage) for message in main.conversation.messages):
            self.changed()
        elif self.remote().tools():
            main.conversation.retarget(main.conversation.model, await self.renew())
            self.renewed(main)

    def found(self, agent_id: str) -> list[Tool]:
        """The servers' tools that an agent may call although its conversation was not told of them."""
        agent = next((one for one in self.subagents() if one.context.agent_id == agent_id), self.main())
        told = {schema.name for schema in agent.conversation.head.tools}
        every = (tool for tool in agent.tools.values() if is_remote(tool) and tool.name not in told)
        return [tool for tool in every if agent.refused(tool) is None]

    def changed(self) -> None:
        """Tell the main agent of tools that came after its conversation had begun."""
        if not self.is_ready:
            return
        main = self.main()
        new = [tool.name for tool in self.found(main.context.agent_id) if tool.name not in self._told]
        self._told.update(new)
        if new:
            text = (
                "This comes from the Ensign runtime: there are more tools of MCP servers now, which ToolSearch loads: "
                f"{', '.join(new[:MAX_NAMES])}"
            )
            main.inbox.put(UserMessage(text=text, origin="runtime"), rouses=False)
