"""A trace: rows that a viewer can draw, arrows from calls to the agents they started."""

from __future__ import annotations

import json
from typing import Any

from ensign.store.records import Loaded, Record
from ensign.store.trace import as_trace


def transcript(*events: tuple[float, dict[str, Any]], spec: dict[str, Any] | None = None) -> Loaded:
    """A transcript of the agent `a`, born at second 0."""
    head = Record(0, 1, 0.0, "head", {"agentId": "a", "spec": spec})
    records = [
        Record(n, 1, at, "event", {"event": {"agentId": "a", **event}}) for n, (at, event) in enumerate(events, 1)
    ]
    return Loaded(records=(head, *records), notices=(), whole_bytes=0, unterminated=False, head_whole=True)


def started(call_id: str) -> dict[str, Any]:
    return {"kind": "tool_started", "call": {"callId": call_id, "name": call_id}, "activity": ""}


def finished(call_id: str) -> dict[str, Any]:
    return {"kind": "tool_finished", "callId": call_id, "isError": False}


def slices(text: str) -> list[tuple[str, int, int, int]]:
    """Name, row, begin and length of every slice."""
    events = json.loads(text)["traceEvents"]
    return [(one["name"], one["tid"], one["ts"], one["dur"]) for one in events if one["ph"] == "X"]


def test_calls_that_overlap_have_rows_of_their_own() -> None:
    loaded = transcript((1, started("x")), (2, started("y")), (3, finished("x")), (4, finished("y")), (5, started("z")))
    assert slices(as_trace([loaded])) == [
        ("x", 1, 1_000_000, 2_000_000),
        ("z", 1, 5_000_000, 0),
        ("y", 2, 2_000_000, 2_000_000),
    ]


def test_a_request_is_inside_its_turn_and_says_what_it_used() -> None:
    usage = {"input": 1, "output": 2, "cacheWrite": 0, "cacheRead": 0}
    reported = {
        "kind": "usage_reported",
        "model": "m",
        "usage": usage,
        "firstTokenS": 0.5,
        "wallS": 1.5,
        "purpose": "step",
    }
    text = as_trace(
        [
            transcript(
                (1, {"kind": "turn_started", "turnId": "t"}),
                (2, reported),
                (3, {"kind": "turn_ended", "turnId": "t", "stop": "end_turn", "reason": ""}),
            )
        ]
    )
    assert slices(text) == [("turn", 1, 1_000_000, 2_000_000), ("step: m", 1, 1_000_000, 1_000_000)]
    (request,) = (one for one in json.loads(text)["traceEvents"] if one["name"] == "step: m")
    assert request["args"] == {"model": "m", "usage": usage, "firstTokenS": 0.5}


def test_what_a_crash_cut_off_lasts_until_the_last_that_is_known() -> None:
    text = as_trace([transcript((1, started("x")), (2, started("y")))])
    assert slices(text) == [("x", 1, 1_000_000, 1_000_000), ("y", 1, 2_000_000, 0)]
    assert all(one["args"]["unfinished"] for one in json.loads(text)["traceEvents"] if one["ph"] == "X")
