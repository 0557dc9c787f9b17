"""One judged piece of a call, and how the pieces become a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ensign.permissions.policy import Policy
from ensign.protocol.access import Decision, Mode, Part, Verdict
from ensign.protocol.value import frozen

PLAN_READS = "the mode 'plan' allows reading only"

_WEIGHT = {Decision.ALLOW: 0, Decision.ASK: 1, Decision.DENY: 2}


@frozen
class Finding:
    """What was decided on one piece.

    Attributes:
        by: as in `Verdict.by`.
        suggestion: the rule that would answer it for good; None where no rule could, or none may (P15).
        grant: the exact rule that an answer for the task or session stands for.
        by_mode: only the mode stands in the way.
    """

    text: str
    decision: Decision
    reason: str
    by: str
    rule: str | None = None
    suggestion: str | None = None
    grant: str | None = None
    by_mode: bool = False


def allowed(text: str, reason: str, by: str, rule: str | None = None) -> Finding:
    """A piece that may run."""
    return Finding(text=text, decision=Decision.ALLOW, reason=reason, by=by, rule=rule)


def refused(text: str, reason: str, by: str, rule: str | None = None) -> Finding:
    """A piece that may not run, whoever says so."""
    return Finding(text=text, decision=Decision.DENY, reason=reason, by=by, rule=rule)


def settle(finding: Finding, policy: Policy) -> Finding:
    """Let the mode have its say on a piece that asks."""
    if finding.decision is not Decision.ASK:
        return finding
    if finding.by_mode and policy.mode is Mode.BYPASS:
        return replace(
            finding,
            decision=Decision.ALLOW,
            reason="the mode 'bypassPermissions' allows it",
            by="mode",
            suggestion=None,
        )
    if policy.mode is Mode.DONT_ASK:
        if finding.by_mode and policy.dont_ask_allows:
            return replace(finding, decision=Decision.ALLOW, reason="the mode 'dontAsk' allows it", suggestion=None)
        reason = f"{finding.reason}; the mode 'dontAsk' denies what would be asked"
        return replace(finding, decision=Decision.DENY, reason=reason, suggestion=None, grant=None)
    return finding


def conclude(found: Sequence[Finding], policy: Policy) -> Verdict:
    """Make one verdict: the strongest piece decides, the first of them gives the reason."""
    settled = [settle(finding, policy) for finding in found]
    if not settled:
        return Verdict(decision=Decision.ALLOW, reason="it touches nothing", by="effect")
    strongest = max(settled, key=lambda finding: _WEIGHT[finding.decision])
    asking = [finding for finding in settled if finding.decision is Decision.ASK]
    is_ask = strongest.decision is Decision.ASK
    always = is_ask and all(finding.suggestion for finding in asking)
    parts = tuple(
        Part(text=finding.text, decision=finding.decision, reason=finding.reason, rule=finding.rule)
        for finding in settled
    )
    return Verdict(
        decision=strongest.decision,
        reason=strongest.reason,
        rule=strongest.rule,
        by=strongest.by,
        parts=parts,
        suggestions=_unique(finding.suggestion for finding in asking) if always else (),
        grants=_unique(finding.grant for finding in asking) if is_ask else (),
        asked_by_mode=is_ask and all(finding.by_mode for finding in asking),
    )


def _unique(items: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for item in items if item))
