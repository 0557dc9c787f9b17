"""Modes, tools that are not files, answers that are remembered, and what a child inherits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ensign.permissions.child import child_mode, child_policy, in_worktree
from ensign.permissions.grants import Grants, offered
from ensign.permissions.policy import Policy, Question
from ensign.protocol.access import Access, Decision, Effect, Mode, Verdict
from ensign.protocol.approvals import Outcome
from ensign.protocol.definition import AgentDefinition, Rules, Source
from ensign.protocol.settings import Layer
from tests.permissions.bench import Bench, bash, make_bench

A, K, D = Decision.ALLOW, Decision.ASK, Decision.DENY


@pytest.fixture(name="bench")
def fixture_bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


def call(bench: Bench, what: tuple[str, Effect, str], policy: Policy) -> Verdict:
    tool, effect, target = what
    accesses = (Access(effect=effect, target=target),) if target else ()
    return bench.engine.judge(Question(tool=tool, effect=effect, accesses=accesses, cwd=bench.work), policy)


@pytest.mark.parametrize(
    ("mode", "decisions"),
    [
        (Mode.DEFAULT, (A, K, K, K, K)),
        (Mode.ACCEPT_EDITS, (A, A, K, K, K)),
        (Mode.PLAN, (A, D, D, D, D)),
        (Mode.BYPASS, (A, A, A, A, K)),
        (Mode.BUBBLE, (A, K, K, K, K)),
        (Mode.DONT_ASK, (A, D, D, D, D)),
    ],
)
def test_a_mode_decides_what_no_rule_does(bench: Bench, mode: Mode, decisions: tuple[Decision, ...]) -> None:
    """Of reading, writing, running, fetching, and writing outside."""
    policy = bench.with_rules(mode=mode)
    verdicts = (
        bench.file("Read", "f.txt", policy),
        bench.file("Write", "f.txt", policy),
        bench.judge("npm test", policy),
        call(bench, ("WebFetch", Effect.NETWORK, "https://example.org/"), policy),
        bench.file("Write", "../x", policy),
    )
    assert tuple(verdict.decision for verdict in verdicts) == decisions


def test_plan_reads_by_command_too_and_no_rule_widens_it(bench: Bench) -> None:
    policy = bench.with_rules(allow=("Bash", "Edit", "WebFetch"), mode=Mode.PLAN)
    lines = {
        "ls -la src": A,
        "rg foo src | head -5": A,
        "git log --oneline | wc -l": A,
        "cd src && cat a.py": A,
        'for f in src/*.py; do head -3 "$f"; done': A,
        "find src -name '*.py' -exec grep -l foo {} +": A,
        "[ -f f.txt ] && cat f.txt": A,
        "cat f.txt 2>/dev/null": A,
        "npm test": D,
        "touch x": D,
        "echo x > f": D,
        "sort -o x f.txt": D,
        "sed -i s/a/b/ f.txt": D,
        "git commit -m x": D,
        "git branch new": D,
        "python3 -c 1": D,
        "ls $(touch x)": D,
        "$X": D,
        "ls |": D,
        "xargs touch < list": D,
        "tail -f f.txt > log": D,
        "cat /etc/hosts": K,
    }
    assert {line: bench.judge(line, policy).decision for line in lines} == lines


def test_bypass_lifts_only_what_the_mode_asks(bench: Bench) -> None:
    policy = bench.with_rules(ask=("Bash(make:*)",), deny=("Bash(rm:*)", "Read(./.env)"), mode=Mode.BYPASS)
    lines = {
        "python3 x.py": A,
        "FOO=1 npm test": A,
        "f() { ls; }; f": A,
        "find . -name x -execdir touch y \\;": K,
        "echo x > f.txt": A,
        "make all": K,
        "env make all": K,
        "rm x": D,
        "$X x": K,
        "ls |": K,
        "git push": K,
        "cat .env": D,
        "cat $X": K,
        "echo x > ../x": K,
        "echo x > .vscode/x": K,
        "rm -r build || true": D,
        "hash -p /bin/rm ls; ls f": K,
    }
    assert {line: bench.judge(line, policy).decision for line in lines} == lines


def test_dont_ask_allows_only_what_the_setting_lets_it(bench: Bench) -> None:
    policy = replace(bench.with_rules(ask=("Bash(make:*)",), mode=Mode.DONT_ASK), dont_ask_allows=True)
    assert [bench.judge(line, policy).decision for line in ("npm test", "make", "git push", "$X")] == [A, D, D, D]


@pytest.mark.parametrize(
    ("rules", "what", "decision"),
    [
        (Rules(), ("TodoWrite", Effect.SESSION, ""), A),
        (Rules(deny=("TodoWrite",)), ("TodoWrite", Effect.SESSION, ""), D),
        (Rules(), ("Agent", Effect.SESSION, "Explore"), A),
        (Rules(deny=("Agent(explore)",)), ("Agent", Effect.SESSION, "Explore"), D),
        (Rules(deny=("Task(Explore)",)), ("Agent", Effect.SESSION, "explore"), D),
        (Rules(ask=("Agent",), allow=("Agent(Plan)",)), ("Agent", Effect.SESSION, "Plan"), K),
        (Rules(deny=("Agent(Explore)",)), ("Agent", Effect.SESSION, "Explorer"), A),
        (Rules(allow=("WebFetch(domain:example.org)",)), ("WebFetch", Effect.NETWORK, "https://example.org/x"), A),
        (Rules(allow=("WebFetch(domain:example.org)",)), ("WebFetch", Effect.NETWORK, "https://EXAMPLE.org./x"), A),
        (Rules(allow=("WebFetch(domain:example.org)",)), ("WebFetch", Effect.NETWORK, "https://a.example.org/"), K),
        (Rules(allow=("WebFetch(domain:*.example.org)",)), ("WebFetch", Effect.NETWORK, "https://a.example.org/"), A),
        (Rules(allow=("WebFetch(domain:example.org)",)), ("WebFetch", Effect.NETWORK, "https://example.org@evil/"), K),
        (Rules(allow=("WebFetch(domain:example.org)",)), ("WebFetch", Effect.NETWORK, "https://example.org.evil/"), K),
        (
            Rules(allow=("WebFetch(domain:example.org)",)),
            ("WebFetch", Effect.NETWORK, "https://evil\\@example.org/"),
            D,
        ),
        (Rules(allow=("WebFetch",)), ("WebFetch", Effect.NETWORK, "file:///etc/passwd"), D),
        (Rules(allow=("WebFetch",)), ("WebFetch", Effect.NETWORK, "gopher://x/"), D),
        (Rules(), ("mcp__s__t", Effect.WRITE, ""), K),
        (Rules(), ("mcp__s__t", Effect.READ, ""), K),
        (Rules(allow=("mcp__s",)), ("mcp__s__t", Effect.READ, ""), A),
        (Rules(allow=("mcp__s__t",)), ("mcp__s__t", Effect.WRITE, ""), A),
        (Rules(allow=("mcp__s",)), ("mcp__s__t", Effect.WRITE, ""), A),
        (Rules(allow=("mcp__s__*",)), ("mcp__s__t", Effect.WRITE, ""), A),
        (Rules(allow=("mcp__my",)), ("mcp__my_server__x_y", Effect.WRITE, ""), K),
        (Rules(allow=("mcp__s__t",)), ("mcp__s__t2", Effect.WRITE, ""), K),
        (Rules(allow=("Bash",)), ("mcp__s__Bash", Effect.WRITE, ""), K),
        (Rules(allow=("Read",)), ("mcp__s__Read", Effect.WRITE, ""), K),
    ],
)
def test_tools_are_ruled_by_their_whole_name(
    bench: Bench, rules: Rules, what: tuple[str, Effect, str], decision: Decision
) -> None:
    policy = replace(bench.with_rules(), layers=(Layer(name="user", rules=rules),))
    assert call(bench, what, policy).decision is decision


def test_denied_agents_can_be_left_out_of_the_description(bench: Bench) -> None:
    policy = bench.with_rules(deny=("Agent(Explore)",), ask=("Agent(Plan)",))
    assert [bench.engine.may_spawn(name, policy) for name in ("explore", "Plan", "x")] == [D, K, A]


@pytest.mark.parametrize(
    ("line", "suggested"),
    [
        ("cd src && npm test", ("Bash(npm test:*)",)),
        ("npm test && git commit -m x", ("Bash(npm test:*)", "Bash(git commit:*)")),
        ("npm run lint -- --fix", ("Bash(npm run lint:*)",)),
        ("npm install left-pad", ("Bash(npm install left-pad)",)),
        ("python3 x.py", ("Bash(python3 x.py)",)),
        ("uv run pytest -q", ("Bash(uv run pytest:*)",)),
        ("uv run python x.py", ("Bash(uv run python x.py)",)),
        ("docker run -it x", ("Bash(docker run -it x)",)),
        ("git push origin main", ("Bash(git push origin main)",)),
        ("foo 'a b' c", ("Bash(foo 'a b' c)",)),
        ("foo a*b", ("Bash(foo a\\*b)",)),
        ("FOO=1 foo", ()),
        ("foo $X", ()),
        ("echo x > out", ("Bash(echo:*)", "Edit({work}/out)")),
        ("echo x > .vscode/x", ()),
        ("ls |", ()),
        ("cat /etc/hosts", ("Read(//etc/hosts)", "Bash(cat:*)")),
        ("timeout 5 foo x", ("Bash(foo x)",)),
        ("find src -exec foo {} \\;", ()),
    ],
)
def test_always_saves_one_exact_rule_for_each_part_that_asks(
    bench: Bench, line: str, suggested: tuple[str, ...]
) -> None:
    verdict = bench.judge(line, bench.with_rules())
    wanted = tuple(rule.replace("{work}", f"/{bench.work.resolve()}") for rule in suggested)
    assert sorted(verdict.suggestions) == sorted(wanted)
    if wanted:
        assert bench.judge(line, bench.with_rules(allow=verdict.suggestions)).decision is A


@pytest.mark.parametrize(
    ("allowed", "other"),
    [
        ("npm test", "npm testx"),
        ("foo a*b", "foo axxb"),
        ("npm install left-pad", "npm install left-pad evil"),
        ("python3 x.py", "python3 x.py y"),
        ("git push origin main", "git push origin main --force"),
        ("FOO=1 foo", "FOO=2 foo"),
        ("foo $X", "foo $X y"),
        ("ls |", "ls | rm"),
        ("echo x > .vscode/x", "echo y > .vscode/x; touch z"),
    ],
)
def test_an_answer_holds_for_what_was_shown_and_nothing_else(bench: Bench, allowed: str, other: str) -> None:
    policy = bench.with_rules()
    verdict = bench.judge(allowed, policy)
    assert verdict.decision is K
    granted = replace(policy, grants=verdict.grants)
    assert [bench.judge(line, granted).decision for line in (allowed, other)] == [A, K]


def test_a_grant_never_beats_a_deny_rule(bench: Bench) -> None:
    grants = ("Bash(rm -rf victim)", "Bash(rm:*)", "Read(./.env)", "Bash(ls; rm x)")
    policy = replace(bench.policy, grants=grants)
    assert bench.judge("rm -rf victim", policy).decision is D
    assert bench.judge("ls; rm x", policy).decision is D
    assert bench.file("Read", ".env", policy).decision is D


def test_answers_are_kept_for_as_long_as_they_were_given(bench: Bench) -> None:
    policy = bench.with_rules()
    verdict = bench.judge("npm test", policy)
    grants = Grants()
    assert grants.remember(Outcome.ALLOW_ONCE, verdict, "a") == ()
    assert grants.of("a") == ()
    assert grants.remember(Outcome.ALLOW_TASK, verdict, "a") == ()
    assert (grants.of("a"), grants.of("b"), grants.of_session()) == (("Bash(npm test:*)",), (), ())
    grants.forget("a")
    assert grants.of("a") == ()
    assert grants.remember(Outcome.DENY, verdict, "a") == ()
    grants.remember(Outcome.ALLOW_SESSION, verdict, "a")
    assert (grants.of("b"), grants.of_session()) == (("Bash(npm test:*)",), ("Bash(npm test:*)",))
    assert grants.remember(Outcome.ALLOW_ALWAYS, verdict, "a") == ("Bash(npm test:*)",)


def test_always_is_offered_only_where_a_rule_would_be_saved(bench: Bench) -> None:
    some = (Outcome.ALLOW_ONCE, Outcome.ALLOW_TASK, Outcome.ALLOW_SESSION)
    assert offered(bench.judge("npm test")) == (*some, Outcome.ALLOW_ALWAYS, Outcome.DENY)
    assert offered(bench.file("Write", ".vscode/x")) == (*some, Outcome.DENY)


def definition(
    *, mode: Mode | None = None, source: Source = Source.PROJECT, trusted: bool = True, rules: Rules | None = None
) -> AgentDefinition:
    return AgentDefinition(
        name="child",
        description="d",
        role="r",
        source=source,
        permission_mode=mode,
        permissions=rules or Rules(),
        trusted=trusted,
    )


@pytest.mark.parametrize(
    ("parent", "own", "trusted", "setting", "child"),
    [
        (Mode.DEFAULT, None, True, False, Mode.DEFAULT),
        (Mode.DEFAULT, Mode.PLAN, True, False, Mode.PLAN),
        (Mode.DEFAULT, Mode.PLAN, False, False, Mode.PLAN),
        (Mode.PLAN, Mode.BYPASS, True, True, Mode.PLAN),
        (Mode.BYPASS, Mode.PLAN, True, True, Mode.PLAN),
        (Mode.ACCEPT_EDITS, Mode.DEFAULT, True, False, Mode.ACCEPT_EDITS),
        (Mode.BYPASS, Mode.DONT_ASK, True, False, Mode.BYPASS),
        (Mode.DEFAULT, Mode.ACCEPT_EDITS, True, False, Mode.ACCEPT_EDITS),
        (Mode.DEFAULT, Mode.ACCEPT_EDITS, False, False, Mode.DEFAULT),
        (Mode.ACCEPT_EDITS, Mode.ACCEPT_EDITS, False, False, Mode.DEFAULT),
        (Mode.DEFAULT, Mode.BYPASS, True, False, Mode.DEFAULT),
        (Mode.DEFAULT, Mode.BYPASS, True, True, Mode.BYPASS),
        (Mode.DEFAULT, Mode.BYPASS, False, True, Mode.DEFAULT),
        (Mode.DEFAULT, Mode.BUBBLE, True, False, Mode.BUBBLE),
        (Mode.DEFAULT, Mode.DONT_ASK, True, False, Mode.DONT_ASK),
    ],
)
def test_the_mode_of_a_child(parent: Mode, own: Mode | None, trusted: bool, setting: bool, child: Mode) -> None:
    assert child_mode(parent, definition(mode=own, trusted=trusted), allow_dont_ask=setting) is child


def test_a_fork_escalates() -> None:
    modes = {mode: child_mode(mode, None, allow_dont_ask=False) for mode in Mode}
    assert modes == {mode: Mode.BUBBLE if mode is Mode.DEFAULT else mode for mode in Mode}


def child_of(
    parent: Policy, child: AgentDefinition | None, *, inherit: bool = True, grants: tuple[str, ...] = ()
) -> Policy:
    return child_policy(parent, child, allow_dont_ask=False, inherit_approvals=inherit, session_grants=grants)


def test_a_child_has_the_sessions_answers_only_if_they_are_inherited(bench: Bench) -> None:
    parent = replace(bench.with_rules(), grants=("Bash(once)", "Bash(npm test)"))
    kept = child_of(parent, definition(), grants=("Bash(npm test)",))
    assert [bench.judge(line, kept).decision for line in ("npm test", "once")] == [A, K]
    assert (
        bench.judge("npm test", child_of(parent, definition(), inherit=False, grants=("Bash(npm test)",))).decision is K
    )


def test_a_childs_own_rules_replace_the_sessions_and_never_the_starters(bench: Bench) -> None:
    layers = (
        Layer(name="session", rules=Rules(allow=("Bash(sess:*)",), deny=("Bash(bad1:*)",))),
        Layer(name="user", rules=Rules(allow=("Bash(user:*)",), deny=("Bash(bad2:*)",))),
        Layer(name="starter", rules=Rules(allow=("Bash(start:*)",), deny=("Bash(bad3:*)",))),
    )
    parent = replace(bench.with_rules(), layers=layers)
    own = Rules(allow=("Bash(own:*)", "Bash(bad1:*)", "Bash(bad2:*)", "Bash(bad3:*)"), deny=("Bash(bad4:*)",))
    child = child_of(parent, definition(rules=own))
    got = {
        name: bench.judge(f"{name} x", child).decision
        for name in ["own", "sess", "user", "start", "bad1", "bad2", "bad3", "bad4"]
    }
    assert got == {"own": A, "sess": K, "user": A, "start": A, "bad1": D, "bad2": D, "bad3": D, "bad4": D}


def test_an_untrusted_definition_allows_nothing_and_may_still_deny(bench: Bench) -> None:
    own = Rules(allow=("Bash",), deny=("Bash(ls:*)",))
    child = child_of(bench.with_rules(), definition(rules=own, trusted=False, mode=Mode.BYPASS))
    assert [bench.judge(line, child).decision for line in ("npm test", "ls")] == [K, D]


def test_a_child_is_never_wider_than_its_parent(bench: Bench) -> None:
    own = Rules(allow=("Bash", "Edit", "Read(//**)"))
    lines = ("rm x", "cat .env", "echo x > .git/config", "cat ~/.ssh/id_rsa")
    for mode in Mode:
        child = child_of(bench.policy, definition(rules=own, mode=mode))
        assert {bench.judge(line, child).decision for line in lines} == {D}
    planned = child_of(replace(bench.policy, mode=Mode.PLAN), definition(rules=own, mode=Mode.BYPASS))
    assert bench.judge("npm test", planned).decision is D
    stripped = replace(child_of(bench.policy, definition()), layers=())
    assert bench.judge("rm x", stripped).decision is D


def test_a_child_in_a_worktree_has_that_folder_alone(bench: Bench, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    child = in_worktree(bench.with_rules(mode=Mode.ACCEPT_EDITS), tree, (bench.work,))
    assert bench.file("Write", str(tree / "x"), child).decision is A
    assert bench.file("Write", str(bench.work / "x"), child).decision is D


def test_the_verdict_explains_every_part(bench: Bench) -> None:
    verdict = bench.judge("ls && rm x; touch y")
    assert [(part.text, part.decision, part.rule) for part in verdict.parts] == [
        ("ls", A, "Bash(ls:*)"),
        ("rm x", D, "Bash(rm:*)"),
        ("touch y", K, None),
    ]
    assert (verdict.decision, verdict.rule, verdict.by) == (D, "Bash(rm:*)", "rule")
    question = Question(tool="Bash", effect=Effect.EXECUTE, accesses=bash("ls"), cwd=bench.work)
    assert bench.engine.judge(question, bench.policy).reason == "allowed by the rule 'Bash(ls:*)'"
