"""How a run went: a fold of its events, from which the last line, the report and the exit code are made."""

from __future__ import annotations

import re

from ensign.cli.console import DENIED, DONE, FAILED, INTERRUPTED, PARTIAL
from ensign.protocol import events
from ensign.protocol.messages import AssistantMessage, StopReason, Usage
from ensign.protocol.tasks import TaskRecord, TaskState

_READING = frozenset({"Read", "Glob", "Grep"})
_VERDICT = re.compile(r"^[*_`\s]*VERDICT:\s*(PASS|FAIL|PARTIAL)[*_`.\s]*$", re.MULTILINE)
_CODES = {"completed": DONE, "partial": PARTIAL, "denied": DENIED, "interrupted": INTERRUPTED, "stopped": INTERRUPTED}


class Outcome:
    """Reads the events of every agent.

    Attributes:
        report: what the main agent said last, or the report of the task that was run alone.
        reason: why the run is not `completed`, in words; the first reason stays.
    """

    def __init__(self) -> None:
        self.usage = Usage()
        self.tasks: dict[str, TaskRecord] = {}
        self.report = ""
        self.reason = ""
        self._denied: dict[str, tuple[str, bool]] = {}
        self._alone = ""
        self._failed = False
        self._ended = False
        self._partial: list[str] = []

    def read(self, event: events.Event) -> None:
        """Take in an event of any agent."""
        match event:
            case events.UsageReported(usage=usage):
                self.usage += usage
            case events.TaskChanged(record=record):
                self.tasks[record.id] = record
            case events.ToolFinished():
                self._finished(event)
            case _ if event.task_id is None:
                self._main(event)
            case _:
                pass

    def alone(self, task_id: str) -> None:
        """This task is the run; the main agent has no part in it."""
        self._alone = task_id

    def failed(self, reason: str) -> None:
        """Something other than a turn broke."""
        self._failed, self.reason = True, self.reason or reason

    def limited(self, reason: str) -> None:
        """A limit of the whole run was reached."""
        self.reason = self.reason or reason

    def end(self, whole_report: str | None) -> None:
        """Nothing comes any more. `whole_report` is what the report file of the task that ran alone holds."""
        record = self.tasks.get(self._alone)
        if record is not None:
            envelope = record.envelope
            self.report = whole_report or (envelope.report if envelope is not None else "")
            self.reason = record.reason
        elif not self._ended and self._partial:
            self.report = "".join(self._partial).strip()

    @property
    def output_file(self) -> str:
        """Where the whole report of the task that ran alone is."""
        record = self.tasks.get(self._alone)
        return record.output_file if record is not None else ""

    def status(self) -> str:
        """The word for how it ended: a task's, or `denied`."""
        if record := self.tasks.get(self._alone):
            status = record.state.value if record.state.terminal else TaskState.INTERRUPTED.value
        elif self._failed:
            status = "failed"
        elif not self._ended:
            status = "interrupted"
        else:
            status = "partial" if self.reason else "completed"
        return "denied" if status == "completed" and self._denied else status

    def code(self, *, verdict: bool) -> int:
        """The exit code. With `verdict`, that which the report ends with counts (D9); none is no pass."""
        status = self.status()
        code = _CODES.get(status, FAILED)
        if not verdict or code not in {DONE, PARTIAL, DENIED}:
            return code
        match _VERDICT.findall(self.report)[-1:]:
            case ["FAIL"]:
                return FAILED
            case ["PASS"]:
                return PARTIAL if status == "partial" else DONE
            case ["PARTIAL"]:
                return PARTIAL
            case _:
                return code if status == "denied" else PARTIAL

    def why(self) -> str:
        """What a person should know of the end; empty when all went well."""
        if self.status() != "denied":
            return self.reason
        calls = "; ".join(dict.fromkeys(text for text, _ in self._denied.values()))
        return f"not allowed: {calls} (see --allow and --mode)"

    def _main(self, event: events.Event) -> None:
        match event:
            case events.TurnStarted():
                self._ended = False
            case events.TextDelta(text=text):
                self._partial.append(text)
            case events.StepRestarted():
                self._partial.clear()
            case events.MessageAdded(message=message):
                self._partial.clear()
                if isinstance(message, AssistantMessage) and message.text.strip():
                    self.report = message.text.strip()
            case events.TurnEnded(stop=stop, reason=reason):
                self._ended = stop is not StopReason.CANCELLED
                if self._ended and (reason or stop is not StopReason.END_TURN):
                    self.limited(reason or _WORDS[stop])
            case events.TurnFailed(message=text, partial_text=partial):
                self._ended = True
                self.failed(text)
                self.report = partial.strip() or self.report
            case _:
                pass

    def _finished(self, event: events.ToolFinished) -> None:
        """A denied call is made up for by a later one with an effect, a denied look by any that works.

        An agent makes up for its own calls, the main agent for everybody's.
        """
        if event.denied_by is not None:
            if event.denied_by != "filter":
                self._denied[event.agent_id] = (f"{event.tool} {event.target}".strip(), event.tool in _READING)
            return
        effect = bool(event.files) or event.command is not None
        for agent_id, (_, look) in list(self._denied.items()):
            own = event.task_id is None or agent_id == event.agent_id
            if own and (effect or (look and not event.is_error)):
                del self._denied[agent_id]


_WORDS = {
    StopReason.MAX_TOKENS: "the model's limit of output tokens was reached",
    StopReason.MAX_TURN_REQUESTS: "the limit of steps was reached",
    StopReason.REFUSAL: "the model refused to go on",
}
