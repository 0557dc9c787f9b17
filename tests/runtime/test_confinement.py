"""Which commands run in a sandbox: those of agents that only read or ask for one, and of all below these."""

from dataclasses import replace
from pathlib import Path

import pytest

from ensign.permissions.child import child_policy
from ensign.permissions.policy import Policy
from ensign.protocol.access import Mode
from ensign.protocol.definition import AgentDefinition, Source
from ensign.runtime.confinement import confinement_under
from ensign.workspace.sandbox import Confinement

ROOT, OUTPUT = Path("/w"), Path("/out")
POLICY = Policy(roots=(ROOT,), readable=(OUTPUT,))
READING = Confinement(folders=(ROOT,), writable=False, readable=(OUTPUT,), required=False)


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        (POLICY, None),
        (replace(POLICY, mode=Mode.BYPASS, sandbox="required"), None),
        (replace(POLICY, mode=Mode.PLAN), READING),
        (replace(POLICY, mode=Mode.PLAN, sandbox="required"), replace(READING, required=True)),
        (replace(POLICY, mode=Mode.PLAN, sandbox="off"), None),
        (replace(POLICY, mode=Mode.PLAN, sandbox="off", confined=True), replace(READING, required=True)),
    ],
)
def test_the_mode_the_setting_and_the_definition_decide(policy: Policy, found: Confinement | None) -> None:
    assert confinement_under(policy) == found


def test_who_may_write_does_so_in_the_workspace_but_not_what_others_run_later(tmp_path: Path) -> None:
    worktree = tmp_path / "tree"
    worktree.mkdir()
    (worktree / ".git").write_text("gitdir: /main/.git/worktrees/tree\n")
    policy = replace(POLICY, roots=(worktree,), off_limits=(Path("/main"),), confined=True)
    found = confinement_under(policy)
    assert found is not None
    assert (found.folders, found.writable, found.required) == ((worktree,), True, True)
    assert {worktree / ".git", worktree / ".git/hooks", worktree / ".vscode", Path("/main")} <= set(found.kept)
    assert ROOT / ".git" not in (confinement_under(replace(POLICY, confined=True)) or READING).kept


def test_a_child_is_confined_as_its_parent_is_or_by_its_own_definition() -> None:
    open_ = AgentDefinition(name="a", description="", role="", source=Source.USER)
    confined = replace(open_, sandbox=True)

    def child(parent: Policy, definition: AgentDefinition | None) -> Policy:
        return child_policy(parent, definition, allow_dont_ask=False, inherit_approvals=True, session_grants=())

    below = child(POLICY, confined)
    assert [child(POLICY, open_).confined, below.confined, child(below, open_).confined] == [False, True, True]
    assert child(below, None).confined
