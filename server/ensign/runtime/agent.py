"""An agent: a conversation with everything its turns need, owned by the session (main) or by its task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ensign.models.base import Effort, Head, Model
from ensign.permissions.engine import PermissionEngine
from ensign.permissions.policy import Policy
from ensign.permissions.policy import Question as Asked
from ensign.protocol import events
from ensign.protocol.access import Access, Decision, Verdict
from ensign.protocol.approvals import Answer
from ensign.protocol.messages import ToolCall
from ensign.runtime.confinement import confinement_under
from ensign.runtime.context import AgentContext
from ensign.runtime.conversation import Conversation
from ensign.runtime.gate import Gate, Question
from ensign.runtime.inbox import Inbox
from ensign.tools.base import TodoList, Tool, ToolContext
from ensign.workspace.processes import Processes
from ensign.workspace.view import FileView


@dataclass(slots=True, kw_only=True)
class Agent:
    """What one agent is.

    Attributes:
        tools: every registered tool by name; `offered` is the part the model was told of, fixed for the conversation.
        system: its rendered system prompt, never rendered anew within a conversation.
        policy: what it may do now; asked at each call, so that a grant, a mode or a rule holds from then on.
        ask: the agent's way to a person.
        reviews: whether every edit is shown to a person first.
        refused: why a registered tool is not for this agent (T3).
    """

    context: AgentContext
    conversation: Conversation
    tools: Mapping[str, Tool]
    offered: tuple[Tool, ...]
    policy: Callable[[], Policy]
    engine: PermissionEngine
    ask: Callable[[Question], Awaitable[Answer]]
    reviews: Callable[[], bool]
    refused: Callable[[Tool], str | None]
    emit: Callable[[events.Event], None]
    intend: Callable[[ToolCall], Awaitable[None]]
    files: FileView
    processes: Processes
    cwd: Path
    roots: tuple[Path, ...]
    output_dir: Path
    inbox: Inbox
    system: str
    effort: Effort | None = None
    todos: TodoList = field(default_factory=TodoList)

    @property
    def who(self) -> events.Who:
        """Whose events this agent's are."""
        return {"agent_id": self.context.agent_id, "task_id": self.context.task_id}

    def head(self, *, tools_off: bool = False) -> Head:
        """What stands before the messages of this agent's requests; the same bytes for the same agent (C2)."""
        return self.head_for(self.conversation.model, tools_off=tools_off)

    def head_for(self, model: Model, *, tools_off: bool = False) -> Head:
        """The same for another model."""
        return model.head(
            system=self.system,
            tools=self.conversation.head.tools,
            cache_key=self.conversation.head.cache_key,
            effort=self.effort,
            tools_off=tools_off,
        )

    def gate(self) -> Gate:
        """The gate that this agent's calls pass."""
        return Gate(
            who=self.who,
            tools=self.tools,
            refused=self.refused,
            judge=self._judge,
            ask=self.ask,
            reviews=self.reviews,
            context=self._tool_context,
            intend=self.intend,
            emit=self.emit,
        )

    def parallel(self, name: str) -> bool:
        """Whether neighbouring calls of this tool may run side by side."""
        tool = self.tools.get(name)
        return tool is not None and tool.parallel

    def _judge(self, tool: Tool, accesses: Sequence[Access]) -> Verdict:
        asked = Asked(tool=tool.name, effect=tool.effect, accesses=tuple(accesses), cwd=self.cwd)
        return self.engine.judge(asked, self.policy())

    def _tool_context(self, call: ToolCall, tool: Tool, gate: Gate) -> ToolContext:
        async def require(accesses: Sequence[Access]) -> None:
            await gate.permit(call, tool, context, accesses)

        def progress(text: str) -> None:
            self.emit(events.ToolProgress(**self.who, call_id=call.call_id, text=text))

        context = ToolContext(
            session_id=self.context.session_id,
            agent_id=self.context.agent_id,
            task_id=self.context.task_id,
            call_id=call.call_id,
            agent_name=self.context.agent_name,
            cwd=self.cwd,
            roots=self.roots,
            files=self.files,
            processes=self.processes,
            todos=self.todos,
            output_dir=self.output_dir,
            progress=progress,
            require=require,
            confinement=confinement_under(self.policy()),
            allows=lambda accesses: self._judge(tool, accesses).decision is Decision.ALLOW,
        )
        return context
