"""A session over time as a trace that Perfetto and Chrome show: a row for each agent, a slice for what it did (O3).

The format is Chrome's trace events in JSON; times are microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ensign.store.records import Loaded, Record

Json = Mapping[str, Any]

PID = 1


@dataclass(slots=True, kw_only=True)
class _Slice:
    """Something that took time."""

    name: str
    category: str
    begin: float
    end: float
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


def as_trace(transcripts: Iterable[Loaded]) -> str:
    """Return the trace of these agents, of one session."""
    rows = [_Row(loaded) for loaded in transcripts]
    starts = {row.call_id: row for row in rows if row.call_id}
    events: list[Json] = [_meta("process_name", 0, "session")]
    thread = 0
    for row in sorted(rows, key=lambda row: row.born):
        for lane in _lanes(row.slices):
            thread += 1
            events.append(_meta("thread_name", thread, row.name))
            events.append(
                {"ph": "M", "pid": PID, "tid": thread, "name": "thread_sort_index", "args": {"sort_index": thread}}
            )
            for one in lane:
                events.append(_complete(one, thread))
                child = starts.get(one.arguments.get("callId", "")) if one.category == "tool" else None
                if child is not None and child is not row:
                    events.append(_flow("s", thread, one.begin, child.name, one.arguments["callId"]))
            if row.call_id and lane and lane[0].category == "turn":
                events.append(_flow("f", thread, lane[0].begin, row.name, row.call_id))
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, ensure_ascii=False) + "\n"


class _Row:
    """The slices of one agent: its turns, the requests in them, and its calls."""

    def __init__(self, loaded: Loaded) -> None:
        head = loaded.records[0]
        spec = head.body.get("spec")
        self.born = head.at
        self.name = "main" if not spec else f"{spec['agent'] or 'fork'}: {spec['description']}"
        self.call_id = str(spec.get("callId") or "") if spec else ""
        self.slices: list[_Slice] = []
        self._open: dict[str, _Slice] = {}
        self._last = self._turn_began = head.at
        for record in loaded.records:
            self._last = max(self._last, record.at)
            if record.kind == "event" and record.body["event"]["agentId"] == head.body["agentId"]:
                self._take(record, record.body["event"])
        for one in self._open.values():
            # It was running when its process ended; the last record is the last that is known of it.
            one.end = max(one.begin, self._last)
            one.arguments["unfinished"] = True

    def _take(self, record: Record, event: Json) -> None:
        match event["kind"]:
            case "turn_started":
                self._turn_began = record.at
                self._begin(event["turnId"], "turn", "turn", record.at, {})
            case "turn_ended" | "turn_failed" as kind:
                how = event["stop"] if kind == "turn_ended" else "failed"
                self._end(
                    event["turnId"], record.at, {"how": how, "why": event.get("reason") or event.get("message", "")}
                )
            case "usage_reported":
                used = {name: event[name] for name in ("model", "usage", "priceUsd", "firstTokenS") if name in event}
                # Clocks differ by rounding; a request never began before its turn.
                begin = max(record.at - event["wallS"], self._turn_began)
                name = f"{event['purpose']}: {event['model']}"
                self.slices.append(_Slice(name=name, category="model", begin=begin, end=record.at, arguments=used))
            case "tool_started":
                arguments = {"callId": event["call"]["callId"], "activity": event["activity"]}
                self._begin(event["call"]["callId"], event["call"]["name"], "tool", record.at, arguments)
            case "tool_finished":
                self._end(event["callId"], record.at, {"isError": event["isError"]})
            case _:
                pass

    def _begin(self, key: str, name: str, category: str, at: float, arguments: dict[str, Any]) -> None:
        one = self._open[key] = _Slice(name=name, category=category, begin=at, end=at, arguments=arguments)
        self.slices.append(one)

    def _end(self, key: str, at: float, arguments: Json) -> None:
        one = self._open.pop(key, None)
        if one is not None:
            one.end = at
            one.arguments.update(arguments)


def _lanes(slices: Iterable[_Slice]) -> Iterator[list[_Slice]]:
    """Share slices out so that in a lane each is inside another or beside it; calls side by side need several."""
    lanes: list[list[_Slice]] = []
    stacks: list[list[_Slice]] = []
    for one in sorted(slices, key=lambda one: (one.begin, -one.end)):
        for stack in stacks:
            while stack and stack[-1].end <= one.begin:
                stack.pop()
        place = next((n for n, stack in enumerate(stacks) if not stack or one.end <= stack[-1].end), len(lanes))
        if place == len(lanes):
            lanes.append([])
            stacks.append([])
        lanes[place].append(one)
        stacks[place].append(one)
    yield from lanes


def _complete(one: _Slice, thread: int) -> Json:
    return {
        "ph": "X",
        "pid": PID,
        "tid": thread,
        "name": one.name,
        "cat": one.category,
        "ts": _micros(one.begin),
        "dur": _micros(one.end) - _micros(one.begin),
        "args": one.arguments,
    }


def _flow(phase: str, thread: int, at: float, name: str, identifier: str) -> Json:
    """One end of the arrow from a call to the agent it started."""
    event = {"ph": phase, "pid": PID, "tid": thread, "name": name, "cat": "spawn", "ts": _micros(at), "id": identifier}
    return {**event, "bp": "e"} if phase == "f" else event


def _meta(name: str, thread: int, value: str) -> Json:
    return {"ph": "M", "pid": PID, "tid": thread, "name": name, "args": {"name": value}}


def _micros(seconds: float) -> int:
    return round(seconds * 1_000_000)
