"""A child's policy from its parent's: narrower in everything that protects (P3, P4, P10)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ensign.permissions.policy import Policy
from ensign.protocol.access import Mode
from ensign.protocol.definition import AgentDefinition, Rules, Source
from ensign.protocol.settings import Layer

_CLAUDE = frozenset((Source.PROJECT_CLAUDE, Source.USER_CLAUDE))


def child_mode(parent: Mode, definition: AgentDefinition | None, *, allow_dont_ask: bool) -> Mode:
    """The mode a child runs in (P3); a fork (no definition) has its parent's and escalates.

    `plan` on either side narrows; a parent in `acceptEdits` or `bypassPermissions` wins; else the definition's, which
    may be looser than the parent's only from a trusted file, and `bypassPermissions` only with
    **subagents.allowDontAsk**. An untrusted definition runs in `default`, narrowed as its parent is (D8).
    """
    wanted = definition.permission_mode if definition else None
    if Mode.PLAN in (parent, wanted):
        return Mode.PLAN
    if definition is None:
        return Mode.BUBBLE if parent is Mode.DEFAULT else parent
    if not definition.trusted:
        return parent if parent in (Mode.BUBBLE, Mode.DONT_ASK) else Mode.DEFAULT
    if parent in (Mode.ACCEPT_EDITS, Mode.BYPASS):
        return parent
    if wanted is None:
        return parent
    if wanted is Mode.BYPASS and not allow_dont_ask:
        return parent
    return wanted


def child_policy(
    parent: Policy,
    definition: AgentDefinition | None,
    *,
    allow_dont_ask: bool,
    inherit_approvals: bool,
    session_grants: tuple[str, ...],
) -> Policy:
    """What a child is judged under. Deny rules, containment, reading-only and the starter's rules all pass down.

    `session_grants` are the answers that hold for the whole session; they pass only with **inheritApprovals**. Answers
    for one call or one task stay with the parent (P4).
    """
    own = definition.permissions if definition else Rules()
    if definition and not definition.trusted:
        own = replace(own, allow=())
    replaces = bool(own.allow or own.ask)
    layers = tuple(_session(layer, own, replaces=replaces) for layer in parent.layers)
    if own != Rules() and not any(layer.name == "session" for layer in layers):
        layers = (Layer(name="session", rules=own, origin=_origin(definition)), *layers)
    mode = child_mode(parent.mode, definition, allow_dont_ask=allow_dont_ask)
    return replace(
        parent,
        layers=layers,
        mode=mode,
        grants=session_grants if inherit_approvals and not replaces else (),
        denied=tuple(dict.fromkeys((*parent.denied, *_denied(parent)))),
        confined=parent.confined or (definition is not None and definition.sandbox),
        dont_ask_allows=allow_dont_ask and definition is not None and definition.source not in _CLAUDE,
    )


def _session(layer: Layer, own: Rules, *, replaces: bool) -> Layer:
    """The definition's allow and ask rules stand in for the session's; deny rules only add up."""
    if layer.name != "session":
        return layer
    rules = layer.rules
    return replace(
        layer,
        rules=Rules(
            allow=own.allow if replaces else rules.allow,
            ask=own.ask if replaces else rules.ask,
            deny=tuple(dict.fromkeys((*rules.deny, *own.deny))),
        ),
    )


def _origin(definition: AgentDefinition | None) -> str:
    return str(definition.path or definition.name) if definition else ""


def _denied(parent: Policy) -> tuple[str, ...]:
    return tuple(rule for layer in parent.layers for rule in layer.rules.deny)


def in_worktree(policy: Policy, worktree: Path, main: tuple[Path, ...]) -> Policy:
    """The policy of a child in its own worktree: that folder is its workspace, the main checkout is off limits."""
    return replace(policy, roots=(worktree,), worktrees=(), off_limits=(*policy.off_limits, *main))
