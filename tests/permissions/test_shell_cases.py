"""Every shell case, judged under profile P1 and, where it may run, run for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from ensign.protocol.access import Decision
from tests.permissions.bench import WEIGHT, Bench, ShellCase, make_bench, shell_cases
from tests.permissions.lines import Line, every, sample


@pytest.fixture(name="bench")
def fixture_bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


@pytest.mark.parametrize("case", list(shell_cases()), ids=lambda case: case.id)
def test_a_case_gets_the_verdict_it_states(bench: Bench, case: ShellCase) -> None:
    verdict = bench.judge(case.line)
    assert verdict.decision.value in case.want, (case.line, verdict.reason)


@pytest.mark.slow
def test_what_is_allowed_leaves_the_folder_as_it_was(bench: Bench) -> None:
    allowed = [case.line for case in shell_cases() if bench.judge(case.line).decision is Decision.ALLOW]
    assert len(allowed) > 80
    assert {line: seen for line in allowed if (seen := bench.run(line))} == {}


@pytest.mark.slow
def test_no_case_that_has_an_effect_is_allowed(bench: Bench) -> None:
    """The stand-ins for harm only touch the throw-away folder; what would leave it is not run."""
    local = [case.line for case in shell_cases() if not any(word in case.line for word in _NOT_RUN)]
    harmful = [line for line in local if bench.run(line)]
    assert len(harmful) > 90
    assert [line for line in harmful if bench.judge(line).decision is Decision.ALLOW] == []


_NOT_RUN = (
    *("sudo", "doas", "su root", "ssh", "chroot", "watch", "npx", "vim", "while true", ":|:"),
    *("\0", "/dev/", "ping", "http", "/etc", "find /", "f.txt /", "cd /", "-C /", "pushd /", "ls /"),
)


def _weaker(bench: Bench, lines: list[Line]) -> list[str]:
    leaves = {leaf: bench.judge(leaf).decision for leaf in {line.leaf for line in lines}}
    assert Decision.ALLOW not in leaves.values()
    return [line.text for line in lines if WEIGHT[bench.judge(line.text).decision] < WEIGHT[leaves[line.leaf]]]


@pytest.mark.slow
def test_wrapping_never_weakens_a_verdict(bench: Bench) -> None:
    assert _weaker(bench, sample(2000, seed=20)) == []


@pytest.mark.slow
def test_a_generated_line_that_has_an_effect_is_not_allowed(bench: Bench) -> None:
    lines = [line.text for line in sample(150, seed=21)]
    harmful = [line for line in lines if bench.run(line)]
    assert len(harmful) > 90
    assert [line for line in harmful if bench.judge(line).decision is Decision.ALLOW] == []


@pytest.mark.soak
def test_no_generated_line_is_weaker_than_what_it_wraps(bench: Bench) -> None:
    lines = list(every())
    assert len(lines) > 700_000
    assert _weaker(bench, lines) == []


@pytest.mark.soak
def test_no_generated_line_with_an_effect_is_allowed(bench: Bench) -> None:
    for line in sample(20_000, seed=22):
        if bench.judge(line.text).decision is Decision.ALLOW:
            assert bench.run(line.text) == [], line.text
