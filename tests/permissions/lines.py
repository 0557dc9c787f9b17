"""Generates hostile lines: each dangerous leaf in each quoting, wrapper and structure."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

# (program, the rest); the effect is CANARY or the loss of `victim`.
LEAVES = (
    ("touch", "CANARY"),
    ("rm", "-rf victim"),
    ("rm", "-r -f ./victim"),
    ("cp", "f.txt CANARY"),
    ("tee", "CANARY"),
    ("mkdir", "CANARY"),
    ("ln", "-s f.txt CANARY"),
    ("mv", "victim CANARY"),
    ("install", "f.txt CANARY"),
    ("dd", "if=f.txt of=CANARY"),
    ("truncate", "-s 0 CANARY"),
    ("sort", "-o CANARY f.txt"),
    ("uniq", "f.txt CANARY"),
    ("sed", "-n 'w CANARY' f.txt"),
    ("find", "f.txt -fprint CANARY"),
    ("find", "victim -delete"),
    ("awk", "'BEGIN{print > \"CANARY\"}'"),
    ("bash", "p.sh"),
    ("echo", "x > CANARY"),
    ("cat", "f.txt >> CANARY"),
    ("ls", "&> CANARY"),
)
QUOTINGS = (
    "{0}",
    '"{0}"',
    "'{0}'",
    "{1}''{2}",
    '{1}""{2}',
    '{1}"{2}"',
    "\\{1}{2}",
    "{1}\\{2}",
    "$'{0}'",
    "{1}$'{2}'",
    "{1}\\\n{2}",
    "$'\\x{3:02x}{2}'",
    "$'\\{3:03o}'{2}",
    "{1}{{{2},}}",
    "{{{0},}}",
)
WRAPPERS = (
    "{}",
    "env {}",
    "env -i PATH=/usr/bin:/bin {}",
    "env -u X {}",
    "nice {}",
    "nice -n 5 {}",
    "timeout 5 {}",
    "timeout -s KILL 5 {}",
    "setsid -w {}",
    "nohup {}",
    "stdbuf -o0 {}",
    "command {}",
    "command -p {}",
    "builtin command {}",
    "exec {}",
    "exec -a x {}",
    "time {}",
    "time -p {}",
    "! {}",
    "ionice -c 3 {}",
    "flock f.txt {}",
    "xargs {} </dev/null",
    "echo | xargs -n1 {}",
    "find f.txt -exec {} \\;",
    "find . -maxdepth 0 -exec {} \\;",
    "X=1 {}",
    "LC_ALL=C {}",
    "PATH=/usr/bin:/bin {}",
    "timeout 5 env nice {}",
    "eval {}",
    "busybox {}",
    "taskset 1 {}",
    "chrt -o 0 {}",
    "setarch -R {}",
)
SHELLS = (
    "bash -c {}",
    "sh -c {}",
    "bash -ec {}",
    "bash --norc -c {}",
    "eval {}",
    "env bash -c {}",
    "timeout 5 bash -c {}",
    "bash <<< {}",
    "echo {} | bash",
    "find . -maxdepth 0 -exec sh -c {} \\;",
    "xargs bash -c {} </dev/null",
    "script -qec {} /dev/null",
    "flock f.txt -c {}",
    "env -S bash -c {}",
    "trap {} EXIT",
)
STRUCTURES = (
    "{}",
    "ls && {}",
    "ls; {}",
    "ls;{}",
    "false || {}",
    "ls | {}",
    "ls |& {}",
    "ls & {}",
    "ls\n{}",
    "{}\n",
    "{} && ls",
    "{}; ls",
    "{} | cat",
    "{} &\nwait",
    "({})",
    "( ls; {} )",
    "{{ {}; }}",
    "if true; then {}\nfi",
    "if {}; then ls; fi",
    "if false; then ls; else {}\nfi",
    "if false; then ls; elif {}\nthen ls; fi",
    "while {}\ndo break; done",
    "until {}\ndo break; done",
    "for i in 1; do {}\ndone",
    "while true; do {}\nbreak; done",
    "case x in x) {} ;; esac",
    "f() {{ {}\n}}; f",
    "echo $({})",
    'echo "$({})"',
    "echo a$({})b",
    "echo <({})",
    "cat <({})",
    "ls > >({})",
    "echo ${{x:-$({})}}",
    'echo "${{x:-$({})}}"',
    "x=$({})",
    "x=$({}) ls",
    "cat <<EOF\n$({})\nEOF",
    "cat <<-EOF\n\t$({})\n\tEOF",
    "cat <<< $({})",
    '[ -n "$({})" ]',
    "[[ -n $({}) ]]",
    "echo $(( $({}) 0 + 1 ))",
    "coproc {}",
    "a=($({}))",
    "ls # x\n{}",
    "ls 2>/dev/null; {}",
    "cd src; cd ..; {}",
    "cd . && {}",
    "echo 'a' \"b\" \\\n; {}",
    "ls >/dev/null && {}",
    "true; ls; {}",
    "echo $(echo $({}))",
    "select x in a; do {}\nbreak; done <<< 1",
)
NO_OPERATORS = frozenset((">", "|", "&", ";", "<"))


@dataclass(frozen=True, slots=True)
class Line:
    """A generated line and the leaf inside it, on its own."""

    leaf: str
    text: str


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def every() -> Iterator[Line]:
    """All combinations, in a fixed order."""
    for program, rest in LEAVES:
        leaf = f"{program} {rest}"
        redirects = any(mark in rest for mark in NO_OPERATORS)
        for quoting in QUOTINGS:
            named = quoting.format(program, program[0], program[1:], ord(program[0]))
            simple = f"{named} {rest}"
            inner = [wrapper.format(simple) for wrapper in WRAPPERS if not (redirects and wrapper != "{}")]
            inner += [shell.format(_quote(simple)) for shell in SHELLS]
            for text in inner:
                for structure in STRUCTURES:
                    yield Line(leaf=leaf, text=structure.format(text))


def sample(count: int, seed: int) -> list[Line]:
    """Some of them, the same for the same seed."""
    return random.Random(seed).sample(list(every()), count)  # noqa: S311 - repeatable, not secret
