"""Which states a task may go to from which; the only place that knows (B1)."""

from __future__ import annotations

from ensign.protocol.errors import TransitionError
from ensign.protocol.tasks import TERMINAL, TaskState

S = TaskState

MAY_GO: dict[TaskState, frozenset[TaskState]] = {
    S.QUEUED: frozenset({S.RUNNING, S.STOPPING, S.FAILED, S.INTERRUPTED}),
    S.RUNNING: frozenset({S.WAITING, S.STOPPING, S.COMPLETED, S.PARTIAL, S.FAILED, S.INTERRUPTED}),
    S.WAITING: frozenset({S.RUNNING, S.STOPPING, S.FAILED, S.PARTIAL, S.INTERRUPTED}),
    # A run may reach its own end in the moment it is stopped; what it reached is then the truth.
    S.STOPPING: frozenset({S.STOPPED, S.COMPLETED, S.PARTIAL, S.FAILED, S.INTERRUPTED}),
    **{state: frozenset({S.QUEUED}) for state in TERMINAL},
}


def checked(old: TaskState, new: TaskState) -> TaskState:
    """Return `new`.

    Raises:
        TransitionError: `old` does not lead there.
    """
    if new not in MAY_GO[old]:
        raise TransitionError(f"a task cannot go from {old.value!r} to {new.value!r}")
    return new
