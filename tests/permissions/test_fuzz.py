"""Shell pieces thrown together: judgement never fails, and what bash does with an allowed line does no harm."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensign.protocol.access import Decision
from tests.permissions.bench import Bench, make_bench

_ATOMS = (
    *("touch CANARY", "touch", "CANARY", "rm -rf victim", "rm", "victim", "ls", "echo", "cat", "f.txt", "true"),
    *("cd src", "sed", "-n", "p", "w CANARY", "find .", "-exec", "{}", "\\;", "+", "-print", "test", "[", "]", "[["),
    *("]]", "-v", "printf", "sort", "-o", "x=", "$x", "${x}", "${x:-", "}", "$(", ")", "`", '"', "'", "$'", "\\", "\n"),
    *("\\\n", "#", " #", "&&", "||", ";", "|", "&", "{", "}", "(", ")", "<<E", "<<'E'", "\nE\n", "E", "<<<", ">", ">>"),
    *("<", ">&", "2>", "&>", "<(", ">(", "if", "then", "fi", "while", "do", "done", "for", "i", "in", "case", "esac"),
    *(";;", "!", "time", "eval", "bash -c", "env", "xargs", "=", "*", "?", "~", "$", "$((", "))", "1", "a[", "@", "%"),
    *(",", "..", "{a,", "b}", "\t", "-", "--", "coproc", "function f", "f()", "\u00e9"),
)
_HARM = ("touch", "rm", "CANARY", "-o")


@pytest.fixture(name="bench")
def fixture_bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


def _lines(count: int, seed: int) -> Iterator[str]:
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    for _ in range(count):
        pieces = chance.choices(_ATOMS, k=chance.randint(2, 9))
        yield "".join(piece + chance.choice(("", " ", " ", " ")) for piece in pieces)


def _harmful_though_allowed(bench: Bench, lines: Iterator[str]) -> list[str]:
    allowed = (line for line in lines if bench.judge(line).decision is Decision.ALLOW)
    return [line for line in allowed if any(word in line for word in _HARM) and bench.run(line)]


@pytest.mark.slow
def test_nothing_harmful_is_allowed_among_lines_of_random_pieces(bench: Bench) -> None:
    assert _harmful_though_allowed(bench, _lines(3000, seed=7)) == []


@pytest.mark.soak
def test_nothing_harmful_is_allowed_among_very_many_lines_of_random_pieces(bench: Bench) -> None:
    assert _harmful_though_allowed(bench, _lines(400_000, seed=8)) == []


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=60) | st.lists(st.sampled_from(_ATOMS), max_size=40).map("".join))
def test_any_text_gets_a_verdict(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    bench = make_bench(tmp_path_factory.mktemp("fuzz"))
    verdict = bench.judge(text)
    assert verdict.reason
    assert verdict.parts


@pytest.mark.parametrize(
    "line",
    [
        *("ls " + "a " * 20_000, "(" * 5000, "$(" * 5000, "echo " + "{a,b}" * 60, '"' * 9999, "ls;" * 5000),
        *("rm " * 30_000 + '"', "cat <<A\n" * 500, "if " * 3000, "env " * 3000 + "ls", "cd a;" * 3000 + "ls"),
        *("case x in " * 500, "cat " + "../" * 20_000, "sed '" + "s[" * 3000 + "' f", "A=1 " * 5000 + "ls"),
    ],
    ids=lambda line: line[:12].strip(),
)
def test_a_monstrous_line_is_judged_and_not_allowed(bench: Bench, line: str) -> None:
    assert bench.judge(line).decision is not Decision.ALLOW
