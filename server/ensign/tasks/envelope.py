"""The envelope a task hands back, built when its run is over or has just been let go (A6)."""

from __future__ import annotations

from ensign.protocol.tasks import Envelope, EnvelopeStatus, TaskState
from ensign.tasks.facts import shortened
from ensign.tasks.report import cut_report
from ensign.tasks.task import Task

CHARS_PER_TOKEN = 4
"""Rough, and said to be (A12)."""

_STATUS: dict[TaskState, EnvelopeStatus] = {
    TaskState.COMPLETED: "completed",
    TaskState.PARTIAL: "partial",
    TaskState.FAILED: "failed",
    TaskState.STOPPED: "stopped",
    TaskState.INTERRUPTED: "interrupted",
}


def envelope_of(task: Task, state: TaskState, reason: str, report_chars: int) -> Envelope:
    """What an ended run hands back."""
    return _envelope(task, _STATUS[state], reason, report_chars)


def launched(task: Task) -> Envelope:
    """What the call that started a background run gets at once."""
    return _envelope(task, "async_launched", "it works in the background; a notification brings the report", 0)


def moved(task: Task, report_chars: int) -> Envelope:
    """What the call of a run gets that was moved to the background."""
    return _envelope(task, "moved_to_background", task.record.reason, report_chars)


def _envelope(task: Task, status: EnvelopeStatus, reason: str, report_chars: int) -> Envelope:
    report, cut = cut_report(task.report, report_chars)
    record = task.record
    return Envelope(
        status=status,
        reason=shortened(reason),
        agent_id=record.agent_id,
        task_id=record.id,
        report=report,
        cut=cut,
        facts=task.facts.facts(),
        usage=record.usage,
        output_file=record.output_file,
        can_read_output_file=True,
        report_tokens=len(report) // CHARS_PER_TOKEN,
    )
