"""Single points of shell judgement that no case shows alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ensign.protocol.access import Decision, Mode
from tests.permissions.bench import Bench, make_bench

A, K, D = Decision.ALLOW, Decision.ASK, Decision.DENY


@pytest.fixture(name="bench")
def fixture_bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ls &&", "it cannot be judged with certainty (is no complete shell line)"),
        ("l\\\ns", "it cannot be judged with certainty (can be read in more than one way)"),
        ("ls 'x", "it cannot be judged with certainty (a quote is not closed)"),
        ("ls\u200b", "it cannot be judged with certainty (holds the invisible character U+200B)"),
        ("cat < /dev/tcp/h/80", "'/dev/tcp/h/80' opens a network connection"),
        ("$X", "it may be what the rule 'Bash(rm:*)' denies"),
        ("npm test", "no rule allows 'npm test'"),
        ("ls; ls; touch x", "no rule allows 'touch x'"),
        ("cd / && ls", "'/' is outside the workspace"),
        ("PATH=. ls", "it sets 'PATH', which may change what runs"),
        (
            "sort --compress-program=x f.txt",
            "'--compress-program' runs a program, writes, or takes names from elsewhere",
        ),
    ],
)
def test_a_question_says_what_it_is_about(bench: Bench, line: str, reason: str) -> None:
    verdict = bench.judge(line)
    assert (verdict.decision, verdict.reason) == (K, reason)


@pytest.mark.parametrize("line", ["rm -rf victim &&", "rm -rf victim 'x", "ls | | 'r'm x", "echo $( ; rm x", "(rm x"])
def test_a_denied_command_is_found_in_what_cannot_be_read(bench: Bench, line: str) -> None:
    assert bench.judge(line).decision is D


def test_a_rule_that_spells_out_a_wrapper_and_its_command_covers_both_but_no_deny(bench: Bench) -> None:
    policy = bench.with_rules(allow=("Bash(timeout 5 npm test)", "Bash(timeout 5 rm x)"), deny=("Bash(rm:*)",))
    lines = {"timeout 5 npm test": A, "timeout 9 npm test": K, "npm test": K, "timeout 5 rm x": D}
    assert {line: bench.judge(line, policy).decision for line in lines} == lines


def test_a_rule_for_a_wrapper_does_not_cover_what_it_runs(bench: Bench) -> None:
    rules = ("timeout", "env", "xargs", "sudo", "bash", "find", "eval", "ssh", "nice")
    policy = bench.with_rules(allow=tuple(f"Bash({name}:*)" for name in rules))
    lines = (
        *("timeout 5 foo", "env foo", "xargs foo", "sudo foo", "bash -c foo", "find . -exec foo \\;"),
        *("eval foo", "ssh h foo", "nice foo"),
    )
    assert {line: bench.judge(line, policy).decision for line in lines} == dict.fromkeys(lines, K)


def test_where_a_command_runs_matters_even_if_it_is_allowed(bench: Bench) -> None:
    policy = bench.with_rules(allow=("Bash(npm test)", "Bash(cd:*)", "Bash(git commit:*)"), mode=Mode.BYPASS)
    lines = {
        "npm test": A,
        "cd src && npm test": A,
        "cd $X && npm test": K,
        "cd .. && npm test": K,
        "cd /; npm test": K,
        "cd / && cd - && npm test": K,
        "pushd x && npm test": K,
    }
    assert {line: bench.judge(line, policy).decision for line in lines} == lines


def test_git_in_a_repository_inside_the_workspace_asks(bench: Bench) -> None:
    for name in ("evil/.git", "bare/objects"):
        (bench.work / name).mkdir(parents=True)
    (bench.work / "bare" / "HEAD").write_text("ref: refs/heads/main\n")
    lines = {
        "git status": A,
        "cd src && git status": A,
        "cd evil && git status": K,
        "git -C evil status": K,
        "cd evil; git log": K,
        "git -C bare log": K,
        "cd evil && ls": A,
    }
    assert {line: bench.judge(line).decision for line in lines} == lines


def test_a_glob_is_judged_by_what_it_stands_for_now(bench: Bench) -> None:
    assert bench.judge("cat *.txt").decision is A
    (bench.work / "link.txt").symlink_to(bench.home / ".ssh" / "id_rsa")
    assert bench.judge("cat *.txt").decision is D
    assert bench.judge("cat src/* .e*").decision is D


def test_a_file_named_like_an_option_makes_a_glob_ask(bench: Bench) -> None:
    assert bench.judge("sort *").decision is A
    (bench.work / "--compress-program=x").write_text("")
    assert bench.judge("sort *").decision is K
    assert bench.judge("sort ./*").decision is A


def test_a_moved_or_deleted_folder_takes_its_protected_files_along(bench: Bench) -> None:
    policy = bench.with_rules(allow=("Bash(rm:*)", "Bash(mv:*)", "Bash(cp:*)", "Bash(chmod:*)"))
    lines = {
        "rm -rf .": K,
        "rm -rf build": A,
        "rm -rf .git": K,
        "mv .vscode x": K,
        "mv src lib": A,
        "chmod -R 777 .": K,
        "cp -r src lib": A,
        "cp x .claude/settings.json": K,
        "cp x /etc/y": K,
        "cp -t .vscode x": K,
    }
    assert {line: bench.judge(line, policy).decision for line in lines} == lines


def test_the_way_to_a_file_and_the_model_supplied_folder_do_not_move_the_boundary(bench: Bench) -> None:
    inner = replace(bench.with_rules(mode=Mode.ACCEPT_EDITS), roots=(bench.work / "src",))
    assert bench.judge("touch ../CANARY", inner).decision is K
    assert bench.judge("echo x > ../CANARY", inner).decision is K
