"""A year of ordinary commands under a sensible profile: how many ask, and how often a careful person would agree."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ensign.protocol.access import Decision, Mode
from ensign.protocol.definition import Rules
from ensign.protocol.settings import Layer
from tests.permissions.bench import CASES, Bench, make_bench

_ALLOWED = (
    "@read-only",
    *("pytest:*", "python -m pytest:*", "python3 -m pytest:*", "ruff:*", "mypy:*", "coverage report:*", "tox:*"),
    *("uv run pytest:*", "uv run ruff:*", "uv run mypy:*", "pip list:*", "pip show:*"),
    *(
        "npm test:*",
        "npm run build:*",
        "npm run lint:*",
        "npm run test\\:unit:*",
        "npm run typecheck:*",
        "npm run -s:*",
    ),
    *("npm ls:*", "npm outdated:*", "yarn test:*", "yarn build:*", "pnpm test:*", "pnpm -r build:*"),
    *("npx tsc:*", "npx eslint:*", "npx prettier:*", "npx jest:*", "npx vitest:*"),
    *("cargo build:*", "cargo test:*", "cargo check:*", "cargo clippy:*", "cargo fmt:*", "cargo tree:*"),
    *("go build:*", "go test:*", "go vet:*", "go list:*", "gofmt:*", "cmake --build:*", "ctest:*"),
    *(
        "make",
        "make test:*",
        "make -j4 build:*",
        "make -C docs:*",
        "mvn:*",
        "./gradlew:*",
        "dotnet test:*",
        "dotnet build:*",
    ),
    *("git add:*", "git commit:*", "git fetch:*", "git switch:*", "git stash:*"),
    *("mkdir:*", "touch:*", "cp:*", "mv:*", "sed:*", "tee:*", "sleep:*"),
    *("docker ps:*", "docker images:*", "docker logs:*", "docker compose ps:*", "docker compose logs:*"),
    *("docker inspect:*", "gh pr view:*", "gh pr list:*", "gh issue view:*"),
)
PROFILE = Rules(
    allow=tuple(f"Bash({pattern})" for pattern in _ALLOWED),
    deny=("Bash(sudo:*)", "Read(./.env)", "Read(~/.ssh/**)"),
)


def ordinary() -> list[tuple[str, str]]:
    lines = (CASES / "ordinary.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(" ", 1) for line in lines if not line.startswith("#"))
    return [(want, line.replace("⏎", "\n")) for want, line in pairs]


@pytest.fixture(name="bench")
def fixture_bench(tmp_path: Path) -> Bench:
    bench = make_bench(tmp_path)
    layer = Layer(name="user", rules=PROFILE)
    bench.policy = replace(bench.policy, layers=(layer,), mode=Mode.ACCEPT_EDITS)
    for name in ("src", "tests", "extension", "docs", "build"):
        (bench.work / name).mkdir(exist_ok=True)
    for name in ("src/app.py", "tests/test_app.py", "README.md", "package.json"):
        (bench.work / name).write_text("")
    return bench


def test_the_profile_is_understood(bench: Bench) -> None:
    assert bench.engine.faults(bench.policy) == ()


@pytest.mark.slow
def test_a_careful_person_agrees_with_nearly_every_verdict(bench: Bench) -> None:
    commands = ordinary()
    assert len(commands) >= 300
    got = [(want, bench.judge(line).decision.value, line) for want, line in commands]
    looser = [item for item in got if item[1] == "allow" and item[0] != "allow"]
    wrong = [item for item in got if item[0] != item[1]]
    assert looser == []
    assert len(wrong) <= 4, wrong
    asked = Counter(decision for _, decision, _ in got)
    assert asked["ask"] <= 140


def test_every_question_says_why_in_words(bench: Bench) -> None:
    for _, line in ordinary():
        verdict = bench.judge(line)
        if verdict.decision is Decision.ASK:
            assert verdict.reason, line
            assert verdict.grants, line
