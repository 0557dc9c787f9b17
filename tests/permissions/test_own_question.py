"""An access may bring its own question: overwriting what a person has not saved asks, in every mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from ensign.permissions.engine import PermissionEngine
from ensign.permissions.policy import Policy, Question
from ensign.protocol.access import Access, Decision, Effect, Mode
from ensign.protocol.definition import Rules
from ensign.protocol.settings import Layer


@pytest.mark.parametrize("mode", [Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.BYPASS])
@pytest.mark.parametrize("rules", [Rules(), Rules(allow=("Edit(./**)",))])
def test_it_asks_whatever_allows_the_write(tmp_path: Path, mode: Mode, rules: Rules) -> None:
    policy = Policy(layers=(Layer(name="user", rules=rules),), roots=(tmp_path,), home=tmp_path / "h", mode=mode)
    access = Access(effect=Effect.WRITE, target="a.txt", path=tmp_path / "a.txt", ask="it has unsaved changes")
    verdict = PermissionEngine().judge(
        Question(tool="Write", effect=Effect.WRITE, accesses=(access,), cwd=tmp_path), policy
    )
    assert (verdict.decision, verdict.reason, verdict.suggestions) == (Decision.ASK, "it has unsaved changes", ())


def test_a_deny_still_denies(tmp_path: Path) -> None:
    layer = Layer(name="user", rules=Rules(deny=("Edit(./a.txt)",)))
    policy = Policy(layers=(layer,), roots=(tmp_path,), home=tmp_path / "h")
    access = Access(effect=Effect.WRITE, target="a.txt", path=tmp_path / "a.txt", ask="it has unsaved changes")
    verdict = PermissionEngine().judge(
        Question(tool="Write", effect=Effect.WRITE, accesses=(access,), cwd=tmp_path), policy
    )
    assert verdict.decision is Decision.DENY
