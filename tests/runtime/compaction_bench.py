"""The one place in the tests of compaction that knows how an agent is built and how the scripted server counts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ensign.models.base import Head, Model
from ensign.models.catalog import Catalog
from ensign.models.clock import SystemClock
from ensign.models.http import HttpPool
from ensign.models.remote import Policies
from ensign.permissions.engine import PermissionEngine
from ensign.permissions.policy import Policy
from ensign.protocol.access import Effect
from ensign.protocol.approvals import Answer
from ensign.protocol.events import Compacted, Event, UsageReported
from ensign.protocol.messages import AssistantMessage, Message, ToolCall, ToolMessage, ToolResult, Usage, UserMessage
from ensign.protocol.settings import ModelSettings, ProviderSettings
from ensign.runtime.agent import Agent
from ensign.runtime.compaction import Compaction, same_head
from ensign.runtime.context import AgentContext
from ensign.runtime.conversation import Conversation
from ensign.runtime.gate import Question
from ensign.runtime.inbox import Inbox
from ensign.runtime.interrupt import Interrupt
from ensign.runtime.turn import Ending, Turn, run_turn
from ensign.testing.http_server import RecordedRequest
from ensign.testing.model_server import ModelServer
from ensign.testing.replies import Reply, calls
from ensign.tools.base import Arguments, Tool, ToolContext, ToolOutput, no_accesses
from ensign.workspace.processes import Processes
from ensign.workspace.registry import FileRegistry
from ensign.workspace.view import FileView

WINDOW = 10_000
BYTES_PER_TOKEN = 3.5
DONE = Reply(text="done")
QUESTION = "The conversation has nearly filled your context window"


def tool(name: str, effect: Effect) -> Tool:
    """Return a tool whose output has as many characters as its argument `size` says."""

    async def run(_ctx: ToolContext, arguments: Arguments) -> ToolOutput:
        size = int(arguments["size"])
        return ToolOutput(text=(f"{name} {arguments.get('of', '')} " + "x" * size)[:size])

    return Tool(
        name=name,
        description=f"{name} something",
        parameters={
            "type": "object",
            "properties": {"size": {"type": "integer"}, "of": {"type": "string"}},
            "required": ["size"],
        },
        effect=effect,
        parallel=False,
        subagent=True,
        background=True,
        run=run,
        accesses=no_accesses,
        activity=lambda _arguments: name,
    )


TOOLS = (tool("Look", Effect.READ), tool("Launch", Effect.SESSION))


@dataclass
class Script:
    """Answers as a model with a real tokenizer would be billed: by the size of what it was sent.

    Attributes:
        steps: answers to ordinary requests, in order; the last one is given again and again.
        summaries: answers to requests for a summary, likewise.
        requests, asked: the bodies of either kind.
        counted: the tokens that a body is billed as.
    """

    steps: list[Reply]
    summaries: list[Reply] = field(default_factory=lambda: [Reply(text="SUMMARY")])
    requests: list[bytes] = field(default_factory=list[bytes])
    asked: list[bytes] = field(default_factory=list[bytes])
    counted: Callable[[bytes], int] = lambda body: int(len(body) / BYTES_PER_TOKEN)

    def __call__(self, request: RecordedRequest) -> Reply:
        """Answer one request."""
        is_question = QUESTION in request.json["messages"][-1]["content"]
        bodies, replies = (self.asked, self.summaries) if is_question else (self.requests, self.steps)
        bodies.append(request.body)
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if reply.body is not None:
            return reply
        usage = Usage(input=self.counted(request.body), output=int(len(reply.text) / BYTES_PER_TOKEN) + 10)
        return Reply(text=reply.text, calls=reply.calls, usage=usage if reply.usage is not None else None)

    def messages(self, number: int) -> list[dict[str, Any]]:
        """The messages of an ordinary request, without the system prompt."""
        messages: list[dict[str, Any]] = json.loads(self.requests[number])["messages"]
        return messages[1:]


@dataclass(frozen=True)
class Provider:
    """A scripted server and the way to it."""

    server: ModelServer
    http: HttpPool

    def script(self, script: Script) -> Script:
        """Answer every request from now on by this script."""
        self.server.add(script)
        return script

    def model(self, *, window: int = WINDOW) -> Model:
        """Return a model of the server."""
        provider = ProviderSettings(kind="openai", base_url=self.server.base_url, context_window=window)
        settings = ModelSettings(providers={"scripted": provider})
        return Catalog(settings, {}, self.http, Policies(clock=SystemClock())).model("scripted/one")


@asynccontextmanager
async def provider() -> AsyncIterator[Provider]:
    """A provider that leaves nothing open."""
    http = HttpPool({})
    async with ModelServer() as server:
        try:
            yield Provider(server, http)
        finally:
            await http.aclose()


async def recorded(_call: ToolCall) -> None:
    """Intents go nowhere here."""


async def allowed(_question: Question) -> Answer:
    """Nothing here asks."""
    raise AssertionError


class Bench:
    """An agent with its compaction, and what it said."""

    def __init__(
        self,
        model: Model,
        *,
        root: Path,
        messages: Sequence[Message] = (),
        system: str = "You are an agent.",
        tasks: Callable[[], str] = str,
        renew: Callable[[], Awaitable[Head | None]] = same_head,
    ) -> None:
        self.events: list[Event] = []
        self.on_recorded: Callable[[], None] = lambda: None
        self.recorded: list[tuple[int, list[Message]]] = []
        head = model.head(system=system, tools=[tool.schema() for tool in TOOLS], cache_key="k")
        self.agent = Agent(
            context=AgentContext(
                session_id="s",
                agent_id="a",
                agent_name="main",
                task_id=None,
                parent_agent_id=None,
                depth=0,
                query_source="main",
                built_in=True,
            ),
            conversation=Conversation(model, head, messages),
            tools={tool.name: tool for tool in TOOLS},
            offered=TOOLS,
            policy=Policy,
            engine=PermissionEngine(),
            reviews=lambda: False,
            ask=allowed,
            refused=lambda _tool: None,
            emit=self.events.append,
            intend=recorded,
            files=FileView(agent_id="a", agent_name="main", registry=FileRegistry(home=root)),
            processes=Processes({}),
            cwd=root,
            roots=(root,),
            output_dir=root / "output",
            inbox=Inbox(),
            system=system,
        )
        self.compaction = Compaction(self.agent, tasks=tasks, record=self._record, renew=renew)

    def _record(self, messages: Sequence[Message]) -> None:
        self.recorded.append((len(self.compacted), list(messages)))
        self.on_recorded()

    @property
    def messages(self) -> list[Message]:
        """The conversation as it stands."""
        return list(self.agent.conversation.messages)

    @property
    def compacted(self) -> list[Compacted]:
        """The events of compactions."""
        return [event for event in self.events if isinstance(event, Compacted)]

    @property
    def purposes(self) -> list[str]:
        """What each request was for."""
        return [event.purpose for event in self.events if isinstance(event, UsageReported)]

    async def turn(self, text: str = "go", *, max_steps: int = 30) -> Ending:
        """Run one turn for a person's prompt."""
        agent = self.agent

        async def before_step() -> str | None:
            await self.compaction.before_step()
            return self.compaction.stuck

        turn = Turn(
            turn_id="t",
            who=agent.who,
            conversation=agent.conversation,
            call=agent.gate().run,
            parallel=agent.parallel,
            emit=agent.emit,
            inbox=agent.inbox,
            interrupt=Interrupt(),
            before_step=before_step,
            compact=self.compaction.shorten,
            report=None,
            max_steps=max_steps,
            max_misses=3,
            wrap_up_s=1.0,
            leaving=str,
        )
        return await run_turn(turn, (UserMessage(text=text),))


def looks(*sizes: int, tool: str = "Look") -> list[Reply]:
    """Steps of the model that call a tool, each for another thing."""
    return [calls((tool, {"size": size, "of": f"file {number}"})) for number, size in enumerate(sizes)]


def exchange(number: int, size: int, *, tool: str = "Look") -> list[Message]:
    """A call and its result, as they stand in a conversation."""
    call = ToolCall(call_id=f"old{number}", name=tool, arguments={"size": size}, raw=json.dumps({"size": size}))
    result = ToolResult(call_id=call.call_id, text=f"result {number} " + "y" * size)
    return [AssistantMessage(parts=(call,)), ToolMessage(results=(result,))]


def beginnings(bench: Bench) -> list[str]:
    """What the results of the conversation begin with."""
    return [r.text[:30] for message in bench.messages if isinstance(message, ToolMessage) for r in message.results]
