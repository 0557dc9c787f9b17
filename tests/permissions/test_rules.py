"""Rules: what is understood, what is reported, and that neither widens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ensign.permissions.rules import RuleFault, compile_rules
from ensign.protocol.access import Decision
from ensign.protocol.definition import Rules
from ensign.protocol.settings import Layer
from tests.permissions.bench import Bench, make_bench


@pytest.fixture(name="bench")
def fixture_bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


@pytest.mark.parametrize(
    ("rule", "line", "allowed"),
    [
        ("Bash", "anything at all", True),
        ("Bash(*)", "anything at all", True),
        ("Bash(npm test)", "npm test", True),
        ("Bash(npm test)", "npm  test", True),
        ("Bash(npm test)", "npm test --x", False),
        ("Bash(npm test:*)", "npm test --x", True),
        ("Bash(npm test:*)", "npm tests", False),
        ("Bash(npm run test *)", "npm run test", True),
        ("Bash(npm run test *)", "npm run test --x", True),
        ("Bash(npm run test *)", "npm run tests", False),
        ("Bash(npm run test*)", "npm run test:unit -x", True),
        ("Bash(npm run test*)", "npm run build", False),
        ("Bash(* --version)", "foo --version", True),
        ("Bash(git log:*)", "git -P log -1", True),
        ("Bash(git log:*)", "git -C src log", True),
        ("Bash(git log:*)", "git logx", False),
        ("Bash(foo:*)", "/usr/bin/foo x", False),
        ("Bash(foo:*)", "./foo x", False),
        ("Bash(foo:*)", "FOO x", False),
        ("Bash(X=1 foo)", "X=1 foo", True),
        ("Bash(foo)", "X=1 foo", False),
        ("Bash(foo 'a b')", "foo 'a b'", True),
        ("Bash(foo 'a b')", "foo a b", False),
        ("Bash(foo a\\*)", "foo 'a*'", True),
        ("Bash(foo a\\*)", "foo abc", False),
        ("Bash(foo -delete:*)", "foo -delete x", True),
        ("Bash(find . -delete)", "find . -delete", False),  # the workspace itself, protected files included
        ("Bash(find src -delete)", "find src -delete", True),
        ("Bash(find:*)", "find src -delete", False),
        ("Bash(sort -o out f.txt)", "sort -o out f.txt", True),
        ("Bash(@read-only)", "rg foo src | head", True),
        ("Bash(@read-only)", "touch x", False),
        ("Bash(git:*)", "git push", False),
        ("Bash(git push:*)", "git push origin main", True),
        ("Bash(git push:*)", "git push --force", False),
        ("Bash(git push --force:*)", "git push --force", True),
        ("Bash", "rm -rf build", False),
        ("Bash(rm:*)", "rm -rf build", True),
        ("Bash(npm:*)", "npm publish", False),
        ("Bash(npm publish)", "npm publish", True),
    ],
)
def test_an_allow_rule_covers_what_it_says_and_no_more(bench: Bench, rule: str, line: str, allowed: bool) -> None:
    verdict = bench.judge(line, bench.with_rules(allow=(rule,)))
    assert (verdict.decision is Decision.ALLOW) is allowed, verdict.reason


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("Bash(*gcloud*)", "gcloud -h"),
        ("Bash(*gcloud*)", "ls; /opt/gcloud x"),
        ("Bash(git push:*)", "git -C . push"),
        ("Bash(git push:*)", "git -P push origin"),
        ("Bash(npm publish:*)", "npm --registry http://x publish"),
        ("Bash(npm publish)", "npm publish"),
        ("Bash(curl:*)", "/usr/bin/curl x"),
        ("Bash(curl:*)", "CURL x"),
        ("Bash(docker * prune)", "docker system prune"),
        ("Bash", "ls"),
        ("Read(./.env)", "cat .env"),
        ("Read", "cat f.txt"),
        ("Edit", "echo x > f.txt"),
        ("Edit(./src/)", "echo x > src/new"),
        ("Write(./src/**)", "echo x > src/new"),
    ],
)
def test_a_deny_rule_holds_in_every_spelling_and_mode(bench: Bench, rule: str, line: str) -> None:
    policy = bench.with_rules(allow=("Bash", "Edit", "Read"), deny=(rule,))
    assert bench.judge(line, policy).decision is Decision.DENY


def test_a_deny_rule_that_may_be_meant_asks_even_where_all_is_allowed(bench: Bench) -> None:
    policy = bench.with_rules(allow=("Bash(git:*)", "Bash(echo:*)"), deny=("Bash(git push:*)", "Bash(rm:*)"))
    asked = [bench.judge(line, policy).by for line in ("git $X", "$X f", "git $(echo push)", "r? x")]
    assert asked == ["rule", "rule", "rule", "rule"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("toString", "there is no tool named 'toString'"),
        ("bash(ls)", "there is no tool named 'bash'"),
        ("Bash(ls", "a rule looks like 'Tool' or 'Tool(pattern)'"),
        ("Bash()", "the parentheses are empty; leave them out to mean every call"),
        ("Bash(:*)", "a prefix rule needs a command before ':*'"),
        ("Bash(ls; rm x)", "one rule is one simple command, without operators and variables"),
        ("Bash(ls $X)", "one rule is one simple command, without operators and variables"),
        ("Bash(ls 'x)", "cannot be read: a quote is not closed"),
        ("Read(../x)", "a pattern cannot climb with '..'"),
        ("Read(~root/x)", "another user's home cannot be named"),
        ("WebFetch(example.org)", "a WebFetch rule looks like 'WebFetch(domain:example.org)'"),
        ("WebFetch(domain:a b)", "a WebFetch rule looks like 'WebFetch(domain:example.org)'"),
        ("TodoWrite(x)", "TodoWrite takes no pattern"),
        ("mcp__a__b(x)", "an MCP rule takes no pattern"),
        ("mcp__*", "an MCP rule looks like 'mcp__server' or 'mcp__server__tool'"),
        ("", "a rule looks like 'Tool' or 'Tool(pattern)'"),
    ],
)
def test_a_rule_that_is_not_understood_is_reported_and_the_others_hold(bench: Bench, rule: str, message: str) -> None:
    layer = Layer(name="project", rules=Rules(allow=(rule,), deny=(rule, "Bash(ls:*)")), origin="settings.json")
    rules = compile_rules((layer,))
    faults = tuple(
        RuleFault(layer="project", origin="settings.json", decision=decision, text=rule, message=message)
        for decision in (Decision.DENY, Decision.ALLOW)
    )
    assert rules.faults == faults
    assert [item.text for item in rules.deny] == ["Bash(ls:*)"]
    assert rules.allow == ()
    policy = bench.with_rules(allow=(rule,), deny=(rule, "Bash(ls:*)"))
    assert [bench.judge(line, policy).decision for line in ("ls", "foo")] == [Decision.DENY, Decision.ASK]


def test_the_policy_file_can_only_deny_and_ask(bench: Bench) -> None:
    rules = compile_rules((Layer(name="policy", rules=Rules(allow=("Bash",), deny=("Bash(rm:*)",))),))
    assert rules.allow == ()
    assert [fault.message for fault in rules.faults] == ["the policy file can only deny and ask"]


def test_deny_beats_ask_beats_allow_whatever_the_layer(bench: Bench) -> None:
    def layers(*named: tuple[str, Rules]) -> tuple[Layer, ...]:
        return tuple(Layer(name=name, rules=rules) for name, rules in named)

    policy = bench.with_rules()
    near_allow = layers(
        ("session", Rules(allow=("Bash(foo:*)", "Bash(bar:*)"))),
        ("user", Rules(ask=("Bash(foo:*)",))),
        ("policy", Rules(deny=("Bash(bar:*)",))),
    )
    policy = replace(policy, layers=near_allow)
    assert bench.judge("foo", policy).decision is Decision.ASK
    assert bench.judge("bar", policy).decision is Decision.DENY


def test_the_nearest_allow_rule_is_named(bench: Bench) -> None:
    layers = tuple(
        Layer(name=name, rules=Rules(allow=(rule,))) for name, rule in (("local", "Bash(foo)"), ("user", "Bash(foo:*)"))
    )
    assert bench.judge("foo", replace(bench.policy, layers=layers)).rule == "Bash(foo)"
