"""A policy made ready: rules parsed, folders resolved."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ensign.permissions import patterns
from ensign.permissions.policy import Policy
from ensign.permissions.rules import Rule, RuleSet, compile_rules
from ensign.protocol.access import Decision, Mode
from ensign.protocol.definition import Rules
from ensign.protocol.settings import Layer
from ensign.protocol.value import frozen


@frozen
class Context:
    """What the judges of files, lines and names share.

    Attributes:
        rules: deny rules of all layers and ancestors, ask rules, allow rules nearest first.
        grants: the remembered answers that are rules; whole lines are compared as text.
        folders: everything that counts as inside, as spelled and resolved.
        readable: the same and what may be read beside it.
    """

    policy: Policy
    rules: RuleSet
    grants: tuple[Rule, ...]
    bases: patterns.Bases
    folders: tuple[Path, ...]
    readable: tuple[Path, ...]
    off_limits: tuple[Path, ...]

    @property
    def reading_only(self) -> bool:
        """Whether what is not known to read only is refused rather than asked."""
        return self.policy.mode is Mode.PLAN


def make(policy: Policy) -> Context:
    """Parse and resolve once; the result is kept for as long as the policy is the same."""
    layers = (*policy.layers, Layer(name="ancestors", rules=Rules(deny=policy.denied)))
    folders = _resolved(policy.roots + policy.worktrees)
    bases = patterns.Bases(roots=folders, home=_resolved((policy.home,)), fold=policy.fold_case)
    granted = compile_rules((Layer(name="grants", rules=Rules(allow=policy.grants)),))
    return Context(
        policy=policy,
        rules=compile_rules(layers),
        grants=granted.allow,
        bases=bases,
        folders=folders,
        readable=folders + _resolved(policy.readable),
        off_limits=_resolved(policy.off_limits),
    )


def _resolved(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    spelled = [Path(os.path.normpath(path)) for path in paths]
    return tuple(dict.fromkeys([*spelled, *(Path(os.path.realpath(path)) for path in spelled)]))


def of_tool(rules: tuple[Rule, ...], *tools: str) -> Iterator[Rule]:
    """The rules of some tools."""
    return (rule for rule in rules if rule.tool in tools)


def protecting(rule: Rule) -> bool:
    """Whether a rule is read broadly."""
    return rule.decision is not Decision.ALLOW
