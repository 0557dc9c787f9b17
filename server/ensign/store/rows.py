"""What the index says of a transcript: a fold of its records, the same live as when the index is made anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from ensign.protocol.value import frozen
from ensign.store.records import Record

Table = Literal["sessions", "tasks", "usage", "notifications"]
Json = Mapping[str, Any]

TITLE_CHARS = 80


@frozen(kw_only=False)
class Row:
    """A row as it stands now; `values` begin with the table's key."""

    table: Table
    values: tuple[Any, ...]

    @property
    def key(self) -> tuple[str, Any]:
        """What a later row replaces."""
        return self.table, self.values[0]


class Fold:
    """The rows of one transcript. Holds the little that a row needs from records before."""

    __slots__ = ("_agent", "_agent_id", "_letters", "_session", "_session_id", "_task", "_turn_id")

    def __init__(self) -> None:
        self._session_id = self._agent_id = self._agent = ""
        self._turn_id: str | None = None
        self._session: dict[str, Any] | None = None
        self._task: dict[str, Any] | None = None
        self._letters: dict[str, tuple[str, float]] = {}

    def rows(self, record: Record) -> list[Row]:
        """Return what this record changes; nothing for one that another version or a damaged disk wrote otherwise."""
        try:
            return list(self._rows(record))
        except (KeyError, TypeError, ValueError, AttributeError):
            return []

    def _rows(self, record: Record) -> Iterator[Row]:
        body = record.body
        match record.kind:
            case "head" if record.n == 0:
                yield from self._head(record)
            case "message":
                yield from self._message(record)
            case "title":
                yield from self._titled(str(body["title"]), record.at)
            case "event":
                yield from self._event(record)
            case "inbox" if body["what"] == "notification":
                self._letters[body["messageId"]] = (str(body["body"].get("taskId", "")), record.at)
                yield self._notification(body["messageId"], None)
            case "delivered":
                yield from self._delivered(body["ids"], record.at)
            case "end" if self._task is not None:
                envelope = body.get("envelope")
                self._task |= {"state": body["state"], "endedAt": record.at, "envelope": envelope}
                self._task["reason"] = envelope["reason"] if envelope else self._task["reason"]
                yield self._task_row(self._task)
            case _:
                pass

    def _head(self, record: Record) -> Iterator[Row]:
        body = record.body
        spec = body.get("spec")
        self._session_id, self._agent_id = body["sessionId"], body["agentId"]
        if spec:
            self._agent = spec["agent"] or "fork"
            return
        self._agent = "main"
        self._session = {"title": "", "cwd": body["cwd"], "created": record.at}
        yield self._session_row(record.at)

    def _message(self, record: Record) -> Iterator[Row]:
        message = record.body["message"]
        yield from self._delivered(message.get("delivers", ()), record.at)
        if self._session is None:
            return
        if not self._session["title"] and message["kind"] == "user" and message["origin"] == "person":
            self._session["title"] = (message["text"].strip().splitlines() or [""])[0][:TITLE_CHARS]
        yield self._session_row(record.at)

    def _titled(self, title: str, at: float) -> Iterator[Row]:
        if self._session is not None:
            self._session["title"] = title
            yield self._session_row(at)

    def _event(self, record: Record) -> Iterator[Row]:
        event = record.body["event"]
        match event["kind"]:
            case "turn_started":
                self._turn_id = event["turnId"]
            case "usage_reported":
                yield self._usage_row(record, event)
            case "task_changed":
                task = dict(event["record"])
                if task["agentId"] == self._agent_id:
                    self._task = task
                yield self._task_row(task)
            case _:
                pass

    def _session_row(self, at: float) -> Row:
        assert self._session is not None
        session = self._session
        return Row("sessions", (self._session_id, session["title"], session["cwd"], session["created"], at))

    def _task_row(self, task: Json) -> Row:
        return Row("tasks", (task["id"], self._session_id, task["state"], task["createdAt"], dict(task)))

    def _usage_row(self, record: Record, event: Json) -> Row:
        usage = event["usage"]
        return Row(
            "usage",
            (
                f"{self._agent_id}:{record.n}",
                self._session_id,
                self._turn_id,
                event.get("taskId"),
                self._agent,
                event["model"],
                event["purpose"],
                usage["input"],
                usage["output"],
                usage["cacheWrite"],
                usage["cacheRead"],
                event["firstTokenS"],
                event["wallS"],
                event.get("priceUsd"),
                record.at,
            ),
        )

    def _delivered(self, message_ids: list[str], at: float) -> Iterator[Row]:
        for message_id in message_ids:
            if message_id in self._letters:
                yield self._notification(message_id, at)
                del self._letters[message_id]

    def _notification(self, message_id: str, delivered_at: float | None) -> Row:
        task_id, at = self._letters[message_id]
        return Row("notifications", (message_id, self._session_id, self._agent_id, task_id, at, delivered_at))
