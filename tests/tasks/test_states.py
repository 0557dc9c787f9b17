"""The states of a task: what leads where, and nothing else (B1)."""

from __future__ import annotations

from itertools import product

import pytest

from ensign.protocol.errors import TransitionError
from ensign.protocol.tasks import TERMINAL, TaskState
from ensign.tasks.states import MAY_GO, checked

S = TaskState
LIVE = frozenset(S) - TERMINAL


@pytest.mark.parametrize(("old", "new"), list(product(S, S)))
def test_a_task_goes_only_where_its_state_leads(old: TaskState, new: TaskState) -> None:
    if new in MAY_GO[old]:
        assert checked(old, new) is new
    else:
        with pytest.raises(TransitionError, match=f"from '{old.value}' to '{new.value}'"):
            checked(old, new)


def test_an_end_leads_only_to_another_run() -> None:
    assert {state: MAY_GO[state] for state in TERMINAL} == dict.fromkeys(TERMINAL, frozenset({S.QUEUED}))


def test_nothing_completes_without_having_run_and_every_live_state_can_be_stopped_or_fail() -> None:
    assert {old for old in S if S.COMPLETED in MAY_GO[old]} == {S.RUNNING, S.STOPPING}
    assert all({S.STOPPING, S.FAILED} & MAY_GO[old] for old in LIVE)
    assert {old for old in S if S.STOPPED in MAY_GO[old]} == {S.STOPPING}
