"""The way of every call: find, check, verdict, run, in this order and on the same arguments (P12)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from ensign.protocol import events
from ensign.protocol.access import Access, Decision, Effect, Verdict
from ensign.protocol.approvals import Answer
from ensign.protocol.errors import DeniedError, ToolError
from ensign.protocol.messages import ToolCall, ToolResult
from ensign.protocol.value import frozen
from ensign.tools.base import Preview, Tool, ToolContext, ToolOutput
from ensign.tools.check import check

_REVIEW = "edits are shown to you before they are made (reviewEdits)"


@frozen
class CallOutcome:
    """What a call came to. `missed`: it named a tool that this agent does not have (T4)."""

    result: ToolResult
    missed: bool = False


@frozen
class Question:
    """What a person is asked about a call."""

    call: ToolCall
    tool: Tool
    verdict: Verdict
    preview: Preview | None


class MissedError(ToolError):
    """The call named a tool that does not exist, or that this agent may not have."""


@frozen
class Gate:
    """What stands between an agent and its tools.

    Attributes:
        tools: every registered tool by name; `refused` narrows it for this agent.
        refused: why this agent may not have a tool, or None (T3).
        judge: the permission engine with this agent's policy, read at each call so that new rules hold at once.
        ask: puts the question to a person; returns only with an answer, or raises `DeniedError`.
        reviews: whether a person sees every edit before it is made, whatever rules and mode allow.
        context: what a call may touch.
        intend: makes the intent of a call with effects durable before it runs (B7).
    """

    who: events.Who
    tools: Mapping[str, Tool]
    refused: Callable[[Tool], str | None]
    judge: Callable[[Tool, Sequence[Access]], Verdict]
    ask: Callable[[Question], Awaitable[Answer]]
    reviews: Callable[[], bool]
    context: Callable[[ToolCall, Tool, Gate], ToolContext]
    intend: Callable[[ToolCall], Awaitable[None]]
    emit: Callable[[events.Event], None]

    async def run(self, turn_id: str, call: ToolCall) -> CallOutcome:
        """Run one call and return its one result; only a bug or a cancellation gets out as an exception."""
        try:
            output = await self._permitted(turn_id, call)
        except DeniedError as error:
            return self._finished(turn_id, call, ToolOutput(text=str(error), is_error=True), denied=error)
        except ToolError as error:
            output = ToolOutput(text=str(error), is_error=True)
            return replace(self._finished(turn_id, call, output), missed=isinstance(error, MissedError))
        return self._finished(turn_id, call, output)

    async def _permitted(self, turn_id: str, call: ToolCall) -> ToolOutput:
        tool = self._find(call)
        if call.arguments is None:
            raise ToolError(f"the arguments of {tool.name} are not a JSON object: {call.raw[:200]!r}")
        check(tool, call.arguments)
        context = self.context(call, tool, self)
        accesses = tool.accesses(context, call.arguments)
        if tool.preview is not None and self.reviews():
            accesses = [replace(access, ask=access.ask or _REVIEW) for access in accesses]
        await self.permit(call, tool, context, accesses)
        started = events.ToolStarted(**self.who, turn_id=turn_id, call=call, activity=tool.activity(call.arguments))
        if tool.effect not in {Effect.READ, Effect.SESSION}:
            await self.intend(call)
        self.emit(started)
        return await tool.run(context, call.arguments)

    def _find(self, call: ToolCall) -> Tool:
        tool = self.tools.get(call.name)
        if tool is None:
            have = ", ".join(sorted(name for name, tool in self.tools.items() if self.refused(tool) is None))
            raise MissedError(f"no tool named {call.name!r}; there are: {have}")
        if reason := self.refused(tool):
            raise DeniedError(f"{tool.name} is not available to this agent: {reason}", by="filter", target=tool.name)
        return tool

    async def permit(self, call: ToolCall, tool: Tool, context: ToolContext, accesses: Sequence[Access]) -> None:
        """Return when these accesses are allowed, by rule or by a person.

        Raises:
            DeniedError: they are not, and by whom.
            ToolError: they would have to be asked for, but the call could not be carried out.
        """
        arguments = call.arguments or {}
        verdict = self.judge(tool, accesses)
        if verdict.decision is Decision.ASK:
            # A change that cannot be made is refused here: nobody is asked in vain.
            preview = await tool.preview(context, arguments) if tool.preview is not None else None
            answer = await self.ask(Question(call=call, tool=tool, verdict=verdict, preview=preview))
            target = target_of(accesses, tool)
            if not answer.outcome.allows:
                said = f": {answer.message}" if answer.message else ""
                raise DeniedError(
                    f"the user did not allow this call{said}. Do not try it again in another form; go on without it, "
                    "or say what you need it for",
                    by="person",
                    target=target,
                )
            # Rules may have changed while the question was open: a deny that came since holds (P10).
            verdict = self.judge(tool, accesses)
        if verdict.decision is Decision.DENY:
            raise DeniedError(verdict.reason, by=verdict.by, target=target_of(accesses, tool))

    def _finished(
        self, turn_id: str, call: ToolCall, output: ToolOutput, *, denied: DeniedError | None = None
    ) -> CallOutcome:
        self.emit(
            events.ToolFinished(
                **self.who,
                turn_id=turn_id,
                call_id=call.call_id,
                tool=call.name,
                text=output.text,
                is_error=output.is_error,
                denied_by=denied.by if denied else None,
                target=denied.target if denied else "",
                diff=output.diff,
                files=output.files,
                command=output.command,
            )
        )
        result = ToolResult(call_id=call.call_id, text=output.text, is_error=output.is_error, images=output.images)
        return CallOutcome(result=result, missed=denied is not None and denied.by == "filter")


def target_of(accesses: Sequence[Access], tool: Tool) -> str:
    """What a call would touch, for the record."""
    return ", ".join(access.target for access in accesses) or tool.name
