"""What the offline mode does next: a pure function of the conversation and the tools."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ensign.models.jsons import a_string, an_object, loads
from ensign.models.offline.evidence import first_line, gather, pairs
from ensign.models.offline.orders import Order, next_call, orders_report, read_orders
from ensign.models.offline.query import read_query
from ensign.models.offline.report import NOT_A_MODEL, findings_report
from ensign.models.offline.searching import STEPS, Planned, plan
from ensign.protocol.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSchema,
    UserMessage,
)

_BACKGROUND = re.compile(r"\bin (?:the )?background\b", re.IGNORECASE)
_DELEGATE = re.compile(
    r"\b(?:delegate|(?:with|using|use|by|ask|tell|let|have|through) an? (?:[\w-]+ )?(?:sub-?agent|agent))\b",
    re.IGNORECASE,
)
_NOTIFICATION = "<task-notification>"
_MAX_QUESTIONS = 4
_HELP = (
    "This task names nothing to search for or to do. The offline mode can explore the workspace (`Where is the "
    "configuration read?`), run a command (`` run `git log -3` ``) and edit (`` replace `a` with `b` in PATH ``)."
)

Move = str | list[Planned]
"""The words that end the turn, or the calls to make."""


def decide(history: Sequence[Message], tools: Mapping[str, ToolSchema], *, tools_off: bool) -> Move:
    """Return the next move."""
    start, task = _task(history)
    since = history[start:]
    last = history[-1] if history else None
    if isinstance(last, UserMessage) and last.origin == "runtime" and _NOTIFICATION in last.text:
        return _background_ended(last.text)
    asked_for_summary = isinstance(last, UserMessage) and last.origin == "runtime" and "summar" in last.text.lower()
    off = tools_off or asked_for_summary
    orders = read_orders(task)
    delegated = _delegated(since)
    if delegated and not any(result.is_error for _, result in delegated):
        return _with_reports(delegated)
    if not delegated and (agent := tools.get("Agent")) and not off and (calls := _delegation(task, orders)):
        can_leave = "run_in_background" in an_object(agent.parameters.get("properties"))
        background = {"run_in_background": True} if can_leave and _BACKGROUND.search(task) else {}
        return [("Agent", {**arguments, **background}) for arguments in calls]
    if orders:
        return _carry_out(orders, since, tools, off=off)
    return _explore(task, since, tools, off=off)


def _task(history: Sequence[Message]) -> tuple[int, str]:
    """Return where the work of this turn begins and what it is: the last word of a person or a parent."""
    for place in range(len(history) - 1, -1, -1):
        message = history[place]
        if isinstance(message, UserMessage) and message.origin != "runtime":
            return place, message.text
        if isinstance(message, ToolMessage) and message.note:
            return place + 1, message.note
    return 0, ""


# ---- delegating --------------------------------------------------------------------------------------------------


def _delegation(task: str, orders: Sequence[Order]) -> list[dict[str, Any]]:
    """Return the inputs of the calls of `Agent` that a task is worth: orders only when a subagent is asked for."""
    if orders:
        return [_agent("general-purpose", task)] if _DELEGATE.search(task) else []
    questions = [part.strip() for part in re.findall(r"[^?\n]+\?", task)]
    questions = [question for question in questions if read_query(question).groups]
    if len(questions) < 2:
        return [_agent("Explore", task)] if read_query(task).groups or read_query(task).paths else []
    return [_agent("Explore", question) for question in questions[:_MAX_QUESTIONS]]


def _agent(kind: str, prompt: str) -> dict[str, Any]:
    query = read_query(prompt)
    words = [group.name for group in query.groups] or [path for path, _ in query.paths] or ["the task"]
    verb = "Explore" if kind == "Explore" else "Carry out"
    return {"description": f"{verb} {' '.join(words[:4])}", "prompt": prompt, "subagent_type": kind}


def _delegated(since: Sequence[Message]) -> list[tuple[ToolCall, ToolResult]]:
    return [(call, result) for call, result in pairs(since) if call.name == "Agent"]


def _with_reports(delegated: Sequence[tuple[ToolCall, ToolResult]]) -> str:
    return "\n\n".join(_report_of(result.text) for _, result in delegated)


def _report_of(text: str) -> str:
    """Return what an envelope says to a person; text that is none, as it is."""
    envelope = an_object(loads(text))
    if not envelope:
        return text.strip() or "The subagent returned nothing."
    status = a_string(envelope.get("status"))
    report = a_string(envelope.get("report")).strip()
    task_id = a_string(envelope.get("taskId"))
    if status in ("async_launched", "moved_to_background"):
        return f"A subagent works on it in the background (task {task_id}); its report will follow.\n\n{NOT_A_MODEL}"
    if status in ("completed", ""):
        return report or "The subagent returned no report."
    reason = a_string(envelope.get("reason"))
    return f"The subagent's run ended as **{status}**{': ' if reason else ''}{reason}.\n\n{report}".rstrip()


def _background_ended(text: str) -> str:
    """Show the reports that notifications brought."""
    envelopes = [line for line in text.splitlines() if line.lstrip().startswith("{") and an_object(loads(line))]
    reports = "\n\n".join(_report_of(line.strip()) for line in envelopes)
    return reports or f"A background task ended.\n\n{NOT_A_MODEL}"


# ---- doing it oneself --------------------------------------------------------------------------------------------


def _carry_out(orders: Sequence[Order], since: Sequence[Message], tools: Collection[str], *, off: bool) -> Move:
    done = [(call, result) for call, result in pairs(since) if call.name in ("Bash", "Read", "Edit")]
    if not off and (call := next_call(orders, done, tools)):
        return [call]
    return "\n\n".join([*orders_report(orders, done, tools), NOT_A_MODEL])


def _explore(task: str, since: Sequence[Message], tools: Collection[str], *, off: bool) -> Move:
    query = read_query(task)
    if not query.groups and not query.paths:
        return f"{_HELP}\n\n{NOT_A_MODEL}"
    evidence = gather(since)
    made = sum(
        isinstance(message, AssistantMessage) and any(call.name in ("Glob", "Grep", "Read") for call in message.calls)
        for message in since
    )
    for step in range(made, STEPS) if not off else ():
        if calls := plan(step, query, evidence, tools):
            return calls
    refused = [first_line(result.text) for _, result in _delegated(since) if result.is_error]
    troubles = [f"Agent: {text}" for text in refused]
    if not evidence.searches and not {"Glob", "Grep", "Read"} & set(tools):
        troubles.append("there is no tool to search with here")
    evidence.troubles[:0] = troubles
    return findings_report(task, query, evidence)
