"""Permission rules: from the text of settings to something that matches a call, or a fault that says why not.

A rule that is not understood is left out and reported; it never widens what is allowed. Deny and ask rules are read
broadly (any spelling of the program, any depth for a bare name), allow rules narrowly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import IntEnum

from ensign.permissions import patterns
from ensign.permissions.programs import names
from ensign.permissions.shell_braces import words_of
from ensign.permissions.shell_words import Word
from ensign.protocol.access import Decision
from ensign.protocol.settings import Layer
from ensign.protocol.value import frozen

READERS = frozenset(("Read", "Glob", "Grep"))
WRITERS = frozenset(("Edit", "Write", "NotebookEdit"))
_NAMED = frozenset(("Agent", "Task", "Skill"))
_PLAIN = names(
    "TodoWrite WebSearch ToolSearch EnterWorktree ExitWorktree SyntheticOutput AskUserQuestion SendMessage "
    "TaskList TaskGet TaskOutput TaskStop TaskCreate TaskUpdate TeamCreate TeamDelete"
)
READ_ONLY = "@read-only"
"""`Bash(@read-only)`: every line that is judged to read only, inside the workspace."""

_SHAPE = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*\*?)(?:\((.*)\))?", re.DOTALL)
_DOMAIN = re.compile(r"(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*|\*")


class Match(IntEnum):
    """How surely a rule is meant."""

    NO = 0
    MAYBE = 1
    YES = 2


class Form(IntEnum):
    """How a `Bash` rule's words are compared."""

    EXACT = 0
    PREFIX = 1
    GLOB = 2
    ALL = 3
    READ_ONLY = 4


@frozen
class CommandPattern:
    """The inside of `Bash(…)`. `words` are literal; for a glob, those before the first wildcard."""

    form: Form
    words: tuple[str, ...] = ()
    glob: re.Pattern[str] | None = None


@frozen
class Rule:
    """One rule of one layer, understood.

    Attributes:
        text: as written.
        tool: `Agent` for `Task`, else as written.
        path, command, name: the pattern, by kind of tool; all None for a bare tool.
    """

    text: str
    tool: str
    layer: str
    decision: Decision
    path: patterns.PathPattern | None = None
    command: CommandPattern | None = None
    name: str | None = None


@frozen
class RuleFault:
    """A rule that does not hold, and why. Shown to people by its layer's origin."""

    layer: str
    origin: str
    decision: Decision
    text: str
    message: str


@frozen
class RuleSet:
    """The rules of all layers, in the order in which they are asked."""

    deny: tuple[Rule, ...]
    ask: tuple[Rule, ...]
    allow: tuple[Rule, ...]
    faults: tuple[RuleFault, ...]


def compile_rules(layers: Iterable[Layer]) -> RuleSet:
    """Parse the rules of `layers`, nearest first. The `policy` layer can only deny and ask."""
    found: dict[Decision, list[Rule]] = {decision: [] for decision in Decision}
    faults: list[RuleFault] = []
    for layer in layers:
        written = {Decision.DENY: layer.rules.deny, Decision.ASK: layer.rules.ask, Decision.ALLOW: layer.rules.allow}
        for decision, texts in written.items():
            for text in texts:
                try:
                    if layer.name == "policy" and decision is Decision.ALLOW:
                        raise ValueError("the policy file can only deny and ask")
                    found[decision].append(parse_rule(text, layer=layer.name, decision=decision))
                except ValueError as error:
                    faults.append(
                        RuleFault(
                            layer=layer.name, origin=layer.origin, decision=decision, text=str(text), message=str(error)
                        )
                    )
    return RuleSet(
        deny=tuple(found[Decision.DENY]),
        ask=tuple(found[Decision.ASK]),
        allow=tuple(found[Decision.ALLOW]),
        faults=tuple(faults),
    )


def parse_rule(text: object, *, layer: str = "", decision: Decision = Decision.ALLOW) -> Rule:
    """Understand one rule.

    Raises:
        ValueError: saying what is wrong with it.
    """
    if not isinstance(text, str):
        raise ValueError(f"a rule is text, not {type(text).__name__}")  # noqa: TRY004 - one kind of fault for a bad entry
    found = _SHAPE.fullmatch(text.strip())
    if not found:
        raise ValueError("a rule looks like 'Tool' or 'Tool(pattern)'")
    tool, pattern = found[1], found[2]
    tool = {"Task": "Agent", "MultiEdit": "Edit"}.get(tool, tool)
    rule = Rule(text=text.strip(), tool=tool, layer=layer, decision=decision)
    if tool.startswith("mcp__"):
        return _mcp(rule, pattern)
    if tool not in READERS | WRITERS | _NAMED | _PLAIN | {"Bash", "WebFetch"}:
        raise ValueError(f"there is no tool named {tool!r}")
    if pattern is None:
        return replace(rule, command=CommandPattern(form=Form.ALL)) if tool == "Bash" else rule
    if not pattern.strip():
        raise ValueError("the parentheses are empty; leave them out to mean every call")
    return _patterned(rule, pattern)


def _patterned(rule: Rule, pattern: str) -> Rule:
    if rule.tool in READERS | WRITERS:
        return replace(rule, path=patterns.parse(pattern))
    if rule.tool == "Bash":
        return replace(rule, command=parse_command(pattern))
    if rule.tool in _NAMED:
        if not re.fullmatch(r"[\w:*-]+", pattern.strip()):
            raise ValueError(f"{pattern!r} is no name")
        return replace(rule, name=pattern.strip().casefold())
    if rule.tool == "WebFetch":
        kind, _, domain = pattern.strip().partition(":")
        if kind != "domain" or not _DOMAIN.fullmatch(domain):
            raise ValueError("a WebFetch rule looks like 'WebFetch(domain:example.org)'")
        return replace(rule, name=domain.casefold().rstrip("."))
    raise ValueError(f"{rule.tool} takes no pattern")


def _mcp(rule: Rule, pattern: str | None) -> Rule:
    """`mcp__server`, `mcp__server__*` or `mcp__server__tool`; compared whole, never split on underscores."""
    if pattern is not None:
        raise ValueError("an MCP rule takes no pattern")
    name = rule.tool.removesuffix("__*")
    if "*" in name or not re.fullmatch(r"mcp__\w[\w.-]*", name):
        raise ValueError("an MCP rule looks like 'mcp__server' or 'mcp__server__tool'")
    return replace(rule, tool=name)


def parse_command(pattern: str) -> CommandPattern:
    """Understand the inside of `Bash(…)`.

    Raises:
        ValueError: it is no simple command, or a wildcard stands for nothing in particular.
    """
    text = pattern.strip()
    if text == READ_ONLY:
        return CommandPattern(form=Form.READ_ONLY)
    if text == "*":
        return CommandPattern(form=Form.ALL)
    if text.endswith(":*") or re.search(r"\s\*$", text):
        text, form = text[:-2].rstrip(), Form.PREFIX
    else:
        form = Form.EXACT
    if not text:
        raise ValueError("a prefix rule needs a command before ':*'")
    words = words_of(text)
    if not any(word.glob and "*" in (word.text or "") for word in words):
        return CommandPattern(form=form, words=tuple(word.text or "" for word in words))
    literal = [word.text or "" for word in words]
    first = next(at for at, word in enumerate(words) if word.glob)
    body = " ".join(_wildcards(word) if word.glob else re.escape(quoted(word.text or "")) for word in words)
    tail = "(?: .*)?" if form is Form.PREFIX else ""
    return CommandPattern(form=Form.GLOB, words=tuple(literal[:first]), glob=re.compile(body + tail, re.DOTALL))


def _wildcards(word: Word) -> str:
    return ".*".join(re.escape(part) for part in (word.text or "").split("*"))


def quoted(text: str) -> str:
    """A word as it stands in a normalised command: quoted when it would otherwise look like several."""
    return text if text and not re.search(r"[\s'\"\\;&|<>()$`]", text) else "'" + text.replace("'", "'\\''") + "'"


def allows(pattern: CommandPattern, words: Sequence[Word]) -> bool:
    """Whether an allow rule covers exactly this command, read narrowly: nothing unknown where the rule is literal."""
    if pattern.form is Form.ALL:
        return bool(words) and words[0].known
    if pattern.form is Form.READ_ONLY:
        return False
    if pattern.form is Form.GLOB:
        if any(word.text is None for word in words) or pattern.glob is None or not words or words[0].glob:
            return False
        return bool(pattern.glob.fullmatch(" ".join(quoted(word.text or "") for word in words)))
    count = len(pattern.words)
    if len(words) < count or (pattern.form is Form.EXACT and len(words) != count):
        return False
    return not words[0].glob and all(word.text == text for word, text in zip(words, pattern.words, strict=False))


def protects(pattern: CommandPattern, words: Sequence[Word]) -> Match:
    """Whether a deny or ask rule covers this command in any spelling: by base name, past options, quoted or not."""
    if pattern.form is Form.ALL:
        return Match.YES
    if not words or pattern.form is Form.READ_ONLY:
        return Match.NO
    if pattern.form is Form.GLOB:
        return _glob_protects(pattern, words)
    name = words[0]
    if not name.known:
        return Match.MAYBE if _could_be(name, pattern.words[0]) else Match.NO
    if not same_program(name.text or "", pattern.words[0]):
        return Match.NO
    if pattern.form is Form.EXACT:
        return _exact_protects(pattern.words, words)
    return _prefix_protects(pattern.words[1:], words[1:])


def _could_be(word: Word, name: str) -> bool:
    base = word.prefix.rpartition("/")[2]
    stem = re.split(r"[*?\[]", base)[0] if word.glob else base
    return name.rpartition("/")[2].casefold().startswith(stem.casefold())


def base_name(program: str) -> str:
    """The program behind a path or an `.exe`, without case."""
    name = program.rpartition("/")[2].rpartition("\\")[2].casefold()
    return name.removesuffix(".exe")


def same_program(program: str, named: str) -> bool:
    """Whether `program`, in whatever spelling, is the one that a rule names."""
    return base_name(program) == base_name(named)


def _exact_protects(wanted: Sequence[str], words: Sequence[Word]) -> Match:
    if any(word.splits for word in words):
        return Match.MAYBE
    if len(words) != len(wanted):
        return Match.NO
    pairs = list(zip(words[1:], wanted[1:], strict=True))
    if all(word.text == text for word, text in pairs):
        return Match.YES
    return Match.MAYBE if all(word.text in (text, None) for word, text in pairs) else Match.NO


def _prefix_protects(wanted: Sequence[str], words: Sequence[Word]) -> Match:
    """Find `wanted` in order; between them only options and what may be their values."""
    at, after_option = 0, False
    for word in words:
        if at == len(wanted):
            return Match.YES
        if not word.known:
            return Match.MAYBE
        text = word.text or ""
        if text == wanted[at]:
            at, after_option = at + 1, False
        elif text.startswith("-") and text != "--":
            after_option = "=" not in text
        elif after_option:
            after_option = False
        else:
            return Match.NO
    return Match.YES if at == len(wanted) else Match.NO


def _glob_protects(pattern: CommandPattern, words: Sequence[Word]) -> Match:
    if pattern.glob is None:
        return Match.NO
    texts = [word.text or word.prefix for word in words]
    bases = [base_name(texts[0]), *texts[1:]]
    for form in (texts, bases):
        for joined in (" ".join(form), " ".join(quoted(text) for text in form)):
            if pattern.glob.fullmatch(joined):
                return Match.YES
    unknown = any(not word.known for word in words)
    named = not pattern.words or same_program(texts[0], pattern.words[0])
    return Match.MAYBE if unknown and named and pattern.words else Match.NO


def domain_matches(name: str, host: str) -> bool:
    """Whether `WebFetch(domain:name)` covers `host`; `*.x` covers sub-domains alone."""
    host = host.casefold().rstrip(".")
    if name == "*":
        return True
    return host.endswith(name[1:]) and host != name[2:] if name.startswith("*.") else host == name


def escape(text: str) -> str:
    """Make wildcards in a path literal."""
    return re.sub(r"([*?\[\\])", r"\\\1", text)
