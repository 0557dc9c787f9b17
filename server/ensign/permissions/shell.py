"""The verdict on a shell line: every simple command on its own, whatever it is wrapped in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ensign.permissions import programs
from ensign.permissions.context import Context, of_tool
from ensign.permissions.findings import PLAN_READS, Finding, allowed, refused
from ensign.permissions.folders import Folders, folders_of
from ensign.permissions.irreversible import Irreversible, kind_of
from ensign.permissions.rules import Form, Match, Rule, allows, base_name, protects, quoted
from ensign.permissions.shell_files import file_findings
from ensign.permissions.shell_words import Command, Fault, Script, Word, literal
from ensign.permissions.suggest import suggestion
from ensign.permissions.uses import Doubt, Uses
from ensign.permissions.uses_of import uses_of
from ensign.protocol.access import Decision
from ensign.protocol.value import frozen

_DEPTH = 6
_LOCAL = re.compile(r"[a-z_][a-z0-9_]*")
_TREACHEROUS = re.compile(
    r"(?:PATH|LD_.*|DYLD_.*|BASH_.*|ENV|IFS|HOME|CDPATH|PS[0-4]|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|GLOBIGNORE|GIT_.*|PWD)"
)


@frozen
class LineJudge:
    """Judges the commands of one line under one policy. `read` is the engine's remembered reading."""

    ctx: Context
    cwd: Path
    read: Callable[[str], Script]

    def judge(self, line: str) -> list[Finding]:
        """Decide on every piece of a line, in order."""
        whole = f"Bash({line})"
        script = self.read(line)
        found = list(self._whole_line(line))
        for suspect in script.suspects:
            found += self._held_against(suspect, line, surely=False)
        for command in script.commands:
            found += self.command(command, 0)
        found += [self._fault(fault, line) for fault in script.faults]
        if not found:
            found.append(allowed(line, "it runs nothing", "effect"))
        if whole in self.ctx.policy.grants and all(item.decision is not Decision.DENY for item in found):
            return [allowed(line, "allowed by an earlier answer", "grant", whole)]
        return [_with_grant(item, whole) for item in found]

    def _whole_line(self, line: str) -> Iterator[Finding]:
        for rule in of_tool(self.ctx.rules.deny, "Bash"):
            pattern = rule.command
            if pattern and pattern.glob and pattern.glob.fullmatch(line.strip()):
                yield refused(line, f"the rule {rule.text!r} denies it", "rule", rule.text)

    def _fault(self, fault: Fault, text: str) -> Finding:
        if self.ctx.reading_only and not fault.hidden:
            return allowed(text, fault.reason, "syntax")
        return self._or_refuse(
            Finding(
                text=text,
                decision=Decision.ASK,
                reason=f"it cannot be judged with certainty ({fault.reason})",
                by="syntax",
                by_mode=not fault.hidden,
            )
        )

    def _or_refuse(self, finding: Finding) -> Finding:
        """Where only reading is allowed, what would ask about a command is refused."""
        if self.ctx.reading_only and finding.decision is Decision.ASK and finding.by in ("mode", "syntax", "effect"):
            return refused(finding.text, f"{PLAN_READS}: {finding.reason}", "mode")
        return finding

    def command(self, command: Command, depth: int) -> list[Finding]:
        """Decide on one command and on those it runs."""
        if depth > _DEPTH:
            return [self._fault(Fault(reason="commands are nested too deeply"), command.text)]
        uses = uses_of(command, self.read)
        folders = folders_of(command, uses, self.cwd, self.ctx)
        rule = self._rule(command, uses)
        found = [self._fault(fault, command.text) for fault in (*command.faults, *uses.inner_faults)]
        protected = list(self._protected(command, uses))
        found += protected
        found += file_findings(command, uses, folders, self.ctx, covered=_covers_writing(rule, command))
        if not any(item.decision is Decision.DENY for item in protected):
            found += self._itself(command, uses, folders, rule)
        reach = len(rule.command.words) if rule and rule.command else 0
        named = rule is not None and uses.inner_at < reach
        for inner in uses.inner:
            below = self.command(inner, depth + 1)
            found += [item for item in below if item.decision is Decision.DENY or not named or item.by == "protected"]
        return found

    def _protected(self, command: Command, uses: Uses) -> Iterator[Finding]:
        """Hold the command, in every spelling, against deny and ask rules."""
        found: list[Finding] = []
        spellings = [command.words] if command.words == uses.words else [command.words, uses.words]
        for words in spellings:
            found += self._held_against(words, command.text, surely=True)
        for words in uses.suspects:
            found += self._held_against(words, command.text, surely=True)
        if not uses.known and not uses.inner and not uses.pure:
            found += self._named_inside(command)
        denied = [item for item in found if item.decision is Decision.DENY]
        yield from (denied or found)[:1]

    def _held_against(self, words: Sequence[Word], text: str, *, surely: bool) -> list[Finding]:
        if not words:
            return []
        for rule in of_tool(self.ctx.rules.deny, "Bash"):
            match = protects(rule.command, words) if rule.command else Match.NO
            if match is Match.YES:
                return [refused(text, f"the rule {rule.text!r} denies it", "rule", rule.text)]
            if match is Match.MAYBE and surely:
                return [self._rule_asks(text, f"it may be what the rule {rule.text!r} denies", rule)]
        if not surely or self._granted(words):
            return []
        for rule in of_tool(self.ctx.rules.ask, "Bash"):
            if rule.command and protects(rule.command, words) is not Match.NO:
                return [self._rule_asks(text, f"the rule {rule.text!r} asks", rule)]
        return []

    @staticmethod
    def _rule_asks(text: str, reason: str, rule: Rule) -> Finding:
        return Finding(text=text, decision=Decision.ASK, reason=reason, by="rule", rule=rule.text)

    def _granted(self, words: Sequence[Word]) -> bool:
        return any(rule.command and allows(rule.command, words) for rule in of_tool(self.ctx.grants, "Bash"))

    def _named_inside(self, command: Command) -> list[Finding]:
        """A program that is not understood may run what its words name."""
        first = 2 if base_name(command.words[0].prefix) in programs.PREFIXES else 1
        for rule in of_tool(self.ctx.rules.deny, "Bash"):
            if rule.command is None or rule.command.form not in (Form.EXACT, Form.PREFIX):
                continue
            for at in range(first, len(command.words)):
                word = command.words[at]
                if word.known and protects(rule.command, command.words[at:]) is Match.YES:
                    reason = f"it may run {word.raw!r}, which the rule {rule.text!r} denies"
                    return [self._rule_asks(command.text, reason, rule)]
        return []

    def _rule(self, command: Command, uses: Uses) -> Rule | None:
        """The nearest allow rule for the command, granted answers first."""
        set_words = tuple(literal(f"{name}={value.prefix}") for name, value in command.assignments if value.known)
        spellings = [(*set_words, *command.words), command.words, uses.words]
        for rule in (*of_tool(self.ctx.grants, "Bash"), *of_tool(self.ctx.rules.allow, "Bash")):
            pattern = rule.command
            if pattern is None:
                continue
            if pattern.form is Form.READ_ONLY and uses.read_only and not uses.doubts:
                return rule
            if any(allows(pattern, words) for words in spellings):
                return rule
        return None

    def _itself(self, command: Command, uses: Uses, folders: Folders, rule: Rule | None) -> list[Finding]:
        found = self._variables(command, rule)
        if folders.fault and not (uses.pure and not uses.doubts):
            found.append(folders.fault)
        if not command.words:
            return found
        open_doubts = [doubt for doubt in uses.doubts if not _answers(rule, doubt)]
        found += [self._doubt(doubt, command) for doubt in open_doubts]
        if self.ctx.reading_only:
            if not uses.read_only and uses.needs_rule and not open_doubts:
                found.append(refused(command.text, f"{PLAN_READS}: not known to read only", "mode"))
            return found or [allowed(command.text, "reads only", "mode")]
        taken_back = _irreversible(uses)
        if taken_back and not _names(rule, taken_back):
            reason = f"it {taken_back.kind}, which cannot be undone"
            found.append(
                Finding(
                    text=command.text,
                    decision=Decision.ASK,
                    reason=reason,
                    by="effect",
                    suggestion=None if open_doubts else suggestion(command, uses, exact=True),
                )
            )
            return found
        return found or [self._permission(command, uses, rule)]

    def _permission(self, command: Command, uses: Uses, rule: Rule | None) -> Finding:
        if rule:
            by = "grant" if rule.layer == "grants" else "rule"
            return allowed(command.text, f"allowed by the rule {rule.text!r}", by, rule.text)
        if not uses.needs_rule:
            return allowed(command.text, "only what it runs matters", "effect")
        if command.words[0].text in programs.NO_RULE_NEEDED:
            return allowed(command.text, "it only steers the line", "effect")
        name = " ".join(quoted(word.text or word.raw) for word in command.words[:2])
        return Finding(
            text=command.text,
            decision=Decision.ASK,
            reason=f"no rule allows {name!r}",
            by="mode",
            suggestion=suggestion(command, uses, exact=False),
            by_mode=True,
        )

    def _doubt(self, doubt: Doubt, command: Command) -> Finding:
        return self._or_refuse(
            Finding(
                text=command.text,
                decision=Decision.ASK,
                reason=doubt.reason,
                by="syntax" if doubt.hidden else "mode",
                by_mode=not doubt.hidden,
            )
        )

    def _variables(self, command: Command, rule: Rule | None) -> list[Finding]:
        if rule and rule.command and command.assignments and "=" in "".join(rule.command.words[:1]):
            return []
        found: list[Finding] = []
        for name, _ in command.assignments:
            local = not command.words and _LOCAL.fullmatch(name) and not name.endswith("_proxy")
            if local or name in programs.SAFE_VARIABLES:
                continue
            finding = Finding(
                text=command.text,
                decision=Decision.ASK,
                reason=f"it sets {name!r}, which may change what runs",
                by="mode",
                by_mode=not _TREACHEROUS.fullmatch(name),
            )
            found.append(self._or_refuse(finding))
        return found


def _covers_writing(rule: Rule | None, command: Command) -> bool:
    """Whether writing inside the workspace is decided with the command itself: it writes by nature, or a rule is it."""
    by_nature = bool(command.words) and base_name(command.words[0].prefix) in programs.WRITERS
    exact = rule is not None and rule.command is not None and rule.command.form is Form.EXACT
    return by_nature or exact


def _answers(rule: Rule | None, doubt: Doubt) -> bool:
    """Whether a rule covers a doubt: it is the very command, means every command, or spells the option out."""
    if rule is None or rule.command is None or doubt.hidden:
        return False
    if rule.command.form in (Form.EXACT, Form.ALL):
        return True
    return bool(doubt.token) and doubt.token in rule.command.words


def _irreversible(uses: Uses) -> Irreversible | None:
    if not uses.words or not uses.words[0].known:
        return None
    texts = [word.text or word.prefix for word in uses.words[1:]]
    return kind_of(base_name(uses.words[0].text or ""), texts)


def _names(rule: Rule | None, kind: Irreversible) -> bool:
    """Whether a rule spells out the act itself, not just the program that can do it."""
    if rule is None or rule.command is None or rule.command.form in (Form.ALL, Form.READ_ONLY):
        return False
    words = rule.command.words
    return bool(words) and base_name(words[0]) == kind.program and kind.meant_by(words[1:])


def _with_grant(finding: Finding, whole: str) -> Finding:
    """For a session's answer: the rule that would be saved, else this very line."""
    if finding.decision is not Decision.ASK or finding.grant:
        return finding
    return replace(finding, grant=finding.suggestion or whole)
