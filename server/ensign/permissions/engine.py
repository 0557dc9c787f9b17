"""The one decision: may this call run, under these rules? Start here.

Order (P1): deny rules of every layer, ask rules, protected paths, allow rules nearest layer first, outside the
workspace, the mode. Nothing here asks, waits or runs; the disk is touched only to follow links.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ensign.permissions import context, files
from ensign.permissions.context import Context
from ensign.permissions.files import FileUse, judge_file
from ensign.permissions.findings import PLAN_READS, Finding, allowed, conclude, refused
from ensign.permissions.paths import resolve
from ensign.permissions.policy import Policy, Question
from ensign.permissions.rules import READERS, WRITERS, Rule, RuleFault, domain_matches
from ensign.protocol.access import Access, Decision, Effect, Mode, Verdict

if TYPE_CHECKING:
    from tree_sitter import Parser

    from ensign.permissions.shell_words import Script

_REMEMBERED = 512
_MCP = "mcp__"


class PermissionEngine:
    """Holds the shell grammar and remembers readings of lines and policies.

    Every verdict is a pure function of its question, its policy and the links on disk.
    """

    def __init__(self) -> None:
        self._parser: Parser | None = None
        self._scripts: dict[tuple[str, str], Script] = {}
        self._contexts: dict[Policy, Context] = {}

    def judge(self, question: Question, policy: Policy) -> Verdict:
        """Decide on one call."""
        ctx = self._context(policy)
        if question.tool == "Bash":
            lines = [item for access in question.accesses for item in self._line(access, question, ctx)]
            return conclude(lines or [_by_effect(question, ctx)], policy)
        found: list[Finding] = []
        file_tool = question.tool in READERS | WRITERS
        if not file_tool or not question.accesses:
            finding = _judge_tool(question, ctx)
            for access in question.accesses:
                asks = access.effect is Effect.SESSION or question.tool.startswith(_MCP)
                finding = _with_own_question(access, finding) if asks else finding
            found.append(finding)
        for access in question.accesses:
            found += self._access(access, question, ctx)
        return conclude(found, policy)

    def excluded_globs(self, policy: Policy, folder: Path, tool: str) -> tuple[str, ...]:
        """What a search by `tool` below `folder` must leave out: `.gitignore` lines anchored at `folder`."""
        target = resolve(str(folder), folder, policy.home)
        ctx = self._context(policy)
        lines = [line for path in target.both for line in files.excluded_globs(ctx, path, tool)]
        return tuple(dict.fromkeys(lines))

    def faults(self, policy: Policy) -> tuple[RuleFault, ...]:
        """The rules of a policy that do not hold, and why; to report when settings are read."""
        return self._context(policy).rules.faults

    def may_spawn(self, name: str, policy: Policy) -> Decision:
        """What the `Agent(name)` rules say of a type; denied ones leave the tool's description (A14)."""
        access = Access(effect=Effect.SESSION, target=name)
        question = Question(tool="Agent", effect=Effect.SESSION, accesses=(access,), cwd=Path("/"))
        return self.judge(question, policy).decision

    def _context(self, policy: Policy) -> Context:
        found = self._contexts.get(policy)
        if found is None:
            if len(self._contexts) >= _REMEMBERED:
                self._contexts.clear()
            found = self._contexts[policy] = context.make(policy)
        return found

    def _line(self, access: Access, question: Question, ctx: Context) -> list[Finding]:
        if access.effect is not Effect.EXECUTE:
            return self._access(access, question, ctx)
        # Half of this package, which most starts of the server do not need for a long time.
        from ensign.permissions import shell_reader
        from ensign.permissions.shell import LineJudge

        home = str(ctx.policy.home)

        def read(line: str) -> Script:
            key = (line, home)
            script = self._scripts.get(key)
            if script is None:
                if len(self._scripts) >= _REMEMBERED:
                    self._scripts.clear()
                script = self._scripts[key] = shell_reader.read(line, self._grammar().parse, {"HOME": home})
            return script

        return LineJudge(ctx=ctx, cwd=question.cwd, read=read).judge(access.target)

    def _grammar(self) -> Parser:
        if self._parser is None:
            import tree_sitter_bash
            from tree_sitter import Language, Parser

            self._parser = Parser(Language(tree_sitter_bash.language()))
        return self._parser

    def _access(self, access: Access, question: Question, ctx: Context) -> list[Finding]:
        if access.effect in (Effect.READ, Effect.WRITE) and (access.path or question.tool in READERS | WRITERS):
            return [_with_own_question(access, _judge_path(access, question, ctx))]
        return []


def _with_own_question(access: Access, finding: Finding) -> Finding:
    """Let an access that must be asked about ask, whatever rules and mode allow; each time anew, so without a rule."""
    if access.ask is None or finding.decision is Decision.DENY:
        return finding
    return Finding(text=finding.text, decision=Decision.ASK, reason=access.ask, by="unsaved")


def _judge_path(access: Access, question: Question, ctx: Context) -> Finding:
    write = access.effect is Effect.WRITE
    tool = question.tool if question.tool in READERS | WRITERS else "Bash"
    target = resolve(access.target, question.cwd, ctx.policy.home)
    finding = judge_file(FileUse(tool=tool, write=write, target=target, text=access.target), ctx)
    if access.path is None or access.path in target.both or finding.decision is Decision.DENY:
        return finding
    as_resolved = resolve(str(access.path), question.cwd, ctx.policy.home)
    other = judge_file(FileUse(tool=tool, write=write, target=as_resolved, text=access.target), ctx)
    return other if other.decision is not Decision.ALLOW else finding


def _judge_tool(question: Question, ctx: Context) -> Finding:
    """Decide on a tool by its name: MCP tools, web, agents, the session's own."""
    if question.tool == "WebFetch" and (bad := _bad_address(question)):
        return refused(question.tool, bad, "containment")
    text = next((access.target for access in question.accesses), question.tool)
    for rule in ctx.rules.deny:
        if _named(rule, question):
            return refused(text, f"the rule {rule.text!r} denies it", "rule", rule.text)
    if ctx.reading_only and question.effect in (Effect.WRITE, Effect.EXECUTE, Effect.NETWORK):
        return refused(text, PLAN_READS, "mode")
    for rule in ctx.grants:
        if _named(rule, question):
            return allowed(text, "allowed by an earlier answer", "grant", rule.text)
    own = _own_rule(question)
    for rule in ctx.rules.ask:
        if _named(rule, question):
            return Finding(
                text=text,
                decision=Decision.ASK,
                reason=f"the rule {rule.text!r} asks",
                by="rule",
                rule=rule.text,
                grant=own,
            )
    for rule in ctx.rules.allow:
        if _named(rule, question):
            return allowed(text, f"allowed by the rule {rule.text!r}", "rule", rule.text)
    return _by_effect(question, ctx)


def _by_effect(question: Question, ctx: Context) -> Finding:
    text = next((access.target for access in question.accesses), question.tool)
    if question.effect is Effect.SESSION:
        return allowed(text, "it changes only the session's own records", "effect")
    claims = question.tool.startswith(_MCP)
    if question.effect is Effect.READ and not claims:
        return allowed(text, "it only reads", "mode")
    if ctx.reading_only and question.effect is not Effect.READ:
        return refused(text, PLAN_READS, "mode")
    if question.effect is Effect.WRITE and ctx.policy.mode is Mode.ACCEPT_EDITS and question.tool in WRITERS:
        return allowed(text, "the mode 'acceptEdits' allows writing", "mode")
    words = {
        Effect.READ: "says of itself that it only reads, which nobody has confirmed",
        Effect.WRITE: "may change things",
        Effect.EXECUTE: "runs a program",
        Effect.NETWORK: "uses the network",
    }
    own = _own_rule(question)
    return Finding(
        text=text,
        decision=Decision.ASK,
        reason=f"{question.tool} {words[question.effect]}",
        by="mode",
        suggestion=own,
        grant=own,
        by_mode=True,
    )


def _own_rule(question: Question) -> str | None:
    """The rule that means this tool, or this address."""
    if question.tool == "WebFetch":
        host = _host(question)
        return f"WebFetch(domain:{host})" if host else None
    if question.tool in ("Agent", "Skill") and question.accesses:
        name = question.accesses[0].target
        return f"{question.tool}({name})" if re.fullmatch(r"[\w:-]+", name) else None
    return question.tool if question.tool not in READERS | WRITERS | {"Bash"} else None


def _named(rule: Rule, question: Question) -> bool:
    if rule.tool.startswith("mcp__"):
        return question.tool == rule.tool or _server(question.tool) == rule.tool
    if rule.tool != question.tool:
        return False
    if rule.name is None:
        return rule.path is None
    if question.tool == "WebFetch":
        return domain_matches(rule.name, _host(question) or "")
    pattern = re.escape(rule.name).replace(r"\*", ".*")
    return any(re.fullmatch(pattern, access.target.casefold()) for access in question.accesses)


def _server(tool: str) -> str:
    """`mcp__server` of `mcp__server__tool`; a server's name holds no double underscore."""
    parts = tool.split("__")
    return "__".join(parts[:2]) if len(parts) > 2 else ""


def _host(question: Question) -> str | None:
    for access in question.accesses:
        try:
            return urlsplit(access.target).hostname
        except ValueError:
            return None
    return None


def _bad_address(question: Question) -> str | None:
    for access in question.accesses:
        if re.search(r"[\s\\\x00-\x1f\x7f]", access.target):
            return f"{access.target!r} is no plain address"
        if urlsplit(access.target).scheme.lower() not in ("http", "https") or not _host(question):
            return "only http and https addresses are fetched"
    return None
