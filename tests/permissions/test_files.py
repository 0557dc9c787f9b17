"""Paths: where they lead, what protects them, what counts as inside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ensign.protocol.access import Decision, Mode
from tests.permissions.bench import Bench, make_bench

A, K, D = Decision.ALLOW, Decision.ASK, Decision.DENY


@pytest.fixture(name="bench")
def fixture_bench(tmp_path: Path) -> Bench:
    bench = make_bench(tmp_path)
    (tmp_path / "outside").mkdir()
    (bench.work / "notes.txt").symlink_to(bench.home / ".ssh" / "id_rsa")
    (bench.work / "d").symlink_to(tmp_path / "outside")
    (bench.work / "keys").symlink_to(bench.home / ".ssh")
    return bench


@pytest.mark.parametrize(
    "path",
    [
        "~/.ssh/id_rsa",
        "$HOME/.ssh/id_rsa",
        "${HOME}/.ssh/id_rsa",
        "{home}/./.ssh//id_rsa",
        "{home}/x/../.ssh/id_rsa",
        "/proc/self/root{home}/.ssh/id_rsa",
        "/proc/self{home}{home}/.ssh/id_rsa",
        "/proc/123/root/{home}/.ssh/id_rsa",
        "//{home}/.ssh/id_rsa",
        "notes.txt",
        "keys/id_rsa",
        "keys/new",
        ".env",
        "./src/../.env",
        "src/../src/../.env",
        "/proc/self/cwd/.env",
        "\\\\attacker\\share\\x",
        "\\??\\UNC\\attacker\\x",
    ],
)
def test_a_denied_file_is_denied_in_every_spelling(bench: Bench, path: str) -> None:
    if path.startswith("\\??"):
        path = "\\" + path
    assert bench.file("Read", path.replace("{home}", str(bench.home))).decision is D


@pytest.mark.parametrize(
    ("tool", "path", "decision", "by"),
    [
        ("Read", "f.txt", A, "rule"),
        ("Read", "missing.txt", A, "rule"),
        ("Read", "/etc/hosts", K, "containment"),
        ("Read", "../x", K, "containment"),
        ("Read", "d/x", K, "containment"),
        ("Glob", ".", A, "rule"),
        ("Grep", "src", A, "rule"),
        ("Write", "new.txt", K, "mode"),
        ("Write", "d/new.txt", K, "containment"),
        ("Edit", "src/../../outside.txt", K, "containment"),
        ("Edit", ".git/config", D, "rule"),
        ("Write", ".git/new/x", D, "rule"),
        ("Write", "/dev/null", A, "effect"),
    ],
)
def test_a_path_is_judged_by_where_it_leads(bench: Bench, tool: str, path: str, decision: Decision, by: str) -> None:
    verdict = bench.file(tool, path)
    assert (verdict.decision, verdict.by) == (decision, by), verdict.reason


PROTECTED = (
    *(".vscode/settings.json", ".VSCODE/tasks.json", ".Vscode./x", ".vscode /x", "sub/.vscode/x", "my.code-workspace"),
    *(".git/hooks/pre-commit", ".GIT/config", "git~1/config", ".g\u200cit/config", ".git::$INDEX_ALLOCATION/x"),
    *(".mcp.json", ".MCP.json", ".bashrc", ".zshenv", ".profile", ".idea/workspace.xml", ".husky/pre-commit"),
    *(".ripgreprc", ".ensign/settings.json", ".claude/settings.json", ".CURSOR/mcp.json", ".envrc", ".gitconfig"),
    *(
        "src/../.vscode/x",
        "~/.bashrc",
        "~/.ssh/config",
        "~/.aws/credentials",
        "~/.kube/config",
        "~/.config/gh/hosts.yml",
    ),
    *("~/.netrc", "~/.npmrc", "~/.git-credentials"),
)


@pytest.mark.parametrize("mode", [Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.BYPASS, Mode.BUBBLE])
@pytest.mark.parametrize("path", PROTECTED)
def test_a_protected_path_asks_in_every_mode_and_never_for_good(bench: Bench, path: str, mode: Mode) -> None:
    policy = bench.with_rules(allow=("Edit", "Write", "Edit(./**)", "Edit(~/**)"), mode=mode)
    verdict = bench.file("Write", path, policy)
    assert (verdict.decision, verdict.by, verdict.suggestions) == (K, "protected", ())
    assert len(verdict.grants) == 1
    granted = replace(policy, grants=verdict.grants)
    assert bench.file("Write", path, granted).decision is A


def test_a_link_to_a_protected_file_is_protected(bench: Bench) -> None:
    (bench.work / "innocent").symlink_to(bench.work / ".vscode")
    policy = bench.with_rules(mode=Mode.ACCEPT_EDITS)
    assert bench.file("Write", "innocent/settings.json", policy).by == "protected"


def test_reading_credentials_asks_even_in_bypass_and_reading_settings_does_not(bench: Bench) -> None:
    policy = bench.with_rules(mode=Mode.BYPASS)
    assert bench.file("Read", "~/.aws/credentials", policy).by == "protected"
    assert bench.file("Read", ".vscode/settings.json", policy).decision is A


@pytest.mark.parametrize(
    ("rule", "path", "hit"),
    [
        ("Read(~/.aws/)", "~/.aws/credentials", True),
        ("Read(~/.aws)", "~/.aws/credentials", True),
        ("Read(./secrets/**)", "secrets/a/b", True),
        ("Read(./secrets/**)", "secrets", True),
        ("Read(secrets)", "src/secrets/x", True),
        ("Read(*.pem)", "src/a.pem", True),
        ("Read(./*.pem)", "src/a.pem", False),
        ("Read(**/*.pem)", "src/deep/a.pem", True),
        ("Read(./a?.txt)", "ab.txt", True),
        ("Read(./[ab].txt)", "a.txt", True),
        ("Read(./[!ab].txt)", "a.txt", False),
        ("Read(/src/x)", "src/x", True),
        ("Read(/etc/x)", "/etc/x", True),
        ("Read(//etc/x)", "/etc/x", True),
        ("Read(./a\\*b)", "a*b", True),
        ("Read(./a\\*b)", "axb", False),
        ("Read(./src/*)", "src/a/b", True),
        ("Grep(./src/**)", "src/a", False),
    ],
)
def test_a_denied_pattern_means_what_it_says(bench: Bench, rule: str, path: str, hit: bool) -> None:
    policy = bench.with_rules(allow=("Read(~/**)", "Read(//**)"), deny=(rule,))
    assert (bench.file("Read", path, policy).decision is D) is hit


@pytest.mark.parametrize(
    ("rule", "path", "hit"),
    [
        ("Edit(./src/**)", "src/a/b.py", True),
        ("Edit(src/*.py)", "src/a.py", True),
        ("Edit(src/*.py)", "src/a/b.py", False),
        ("Edit(./src)", "src/a.py", False),
        ("Edit(README.md)", "README.md", True),
        ("Edit(README.md)", "sub/README.md", False),
        ("Edit(/etc/x)", "/etc/x", False),
        ("Edit(//etc/x)", "/etc/x", True),
        ("Edit", "src/a.py", True),
        ("Edit", "../x", False),
        ("Edit(./**)", "d/x", False),
        ("Read(./**)", "f.txt", False),
        ("Write(./**)", "f.txt", True),
        ("NotebookEdit(./**)", "f.txt", False),
    ],
)
def test_an_allowed_pattern_is_read_narrowly(bench: Bench, rule: str, path: str, hit: bool) -> None:
    policy = bench.with_rules(allow=(rule,))
    assert (bench.file("Write", path, policy).decision is A) is hit


def test_case_is_ignored_where_the_file_system_ignores_it(bench: Bench) -> None:
    policy = bench.with_rules(deny=("Read(./Secret.txt)",))
    assert bench.file("Read", "SECRET.TXT", policy).decision is A
    assert bench.file("Read", "SECRET.TXT", replace(policy, fold_case=True)).decision is D


def test_several_roots_worktrees_and_own_output_count_as_inside(bench: Bench, tmp_path: Path) -> None:
    other, tree, output = tmp_path / "other", tmp_path / "tree", tmp_path / "output"
    policy = replace(
        bench.with_rules(mode=Mode.ACCEPT_EDITS), roots=(bench.work, other), worktrees=(tree,), readable=(output,)
    )
    got = {
        (tool, path.name): bench.file(tool, str(path / "x"), policy).decision
        for tool in ("Read", "Write")
        for path in (other, tree, output, tmp_path)
    }
    assert got == {
        ("Read", "other"): A,
        ("Read", "tree"): A,
        ("Read", "output"): A,
        ("Read", tmp_path.name): K,
        ("Write", "other"): A,
        ("Write", "tree"): A,
        ("Write", "output"): K,
        ("Write", tmp_path.name): K,
    }


def test_a_search_is_told_what_to_leave_out(bench: Bench) -> None:
    policy = bench.with_rules(
        deny=("Read(./.env)", "Read(./src/secret/**)", "Read(*.pem)", "Read(~/.ssh/**)", "Grep(./only.txt)")
    )
    globs = bench.engine.excluded_globs
    assert globs(policy, bench.work, "Grep") == ("/.env", "/src/secret/**", "/**/*.pem", "/only.txt")
    assert globs(policy, bench.work, "Glob") == ("/.env", "/src/secret/**", "/**/*.pem")
    assert globs(policy, bench.work / "src", "Glob") == ("/secret/**", "/**/*.pem")
    assert globs(policy, bench.work / "docs", "Glob") == ("/**/*.pem",)
    assert "/.ssh/**" in globs(policy, bench.home, "Glob")


def test_the_main_checkout_is_off_limits_to_a_child_in_a_worktree(bench: Bench, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    policy = replace(bench.with_rules(allow=("Bash", "Edit(//**)")), roots=(tree,), off_limits=(bench.work,))
    bench, main = replace(bench, work=tree), bench.work
    lines = (
        f"git -C {main} reset --hard",
        f"cd {main} && git commit -m x",
        f"cd {main}; touch x",
        f"touch {main}/x",
        f"echo x > {main}/x",
        f"cp f.txt {main}/x",
        f"git --git-dir={main}/.git commit -m x",
        f"GIT_DIR={main}/.git git commit -m x",
        f"python3 x.py {main}/x",
        f"npm --prefix={main} test",
        f"find {main} -delete",
        f"sed -i s/a/b/ {main}/f.txt",
    )
    assert {line: bench.judge(line, policy).decision for line in lines} == dict.fromkeys(lines, D)
    assert bench.file("Edit", f"{main}/f.txt", policy).decision is D
    assert bench.judge(f"git -C {main} log", policy).decision is not D
    assert bench.judge("git commit -m x", policy).decision is A
