"""Sums over requests (O2)."""

from __future__ import annotations

from collections.abc import Sequence

from ensign.protocol.messages import Usage
from ensign.protocol.usage import UsageBy, UsageListed, UsageSum
from ensign.store.index import UsageRow


def summed(rows: Sequence[UsageRow], by: UsageBy) -> UsageListed:
    """Group requests and add them up; the largest sum comes first."""
    groups: dict[str, list[UsageRow]] = {}
    for row in rows:
        groups.setdefault(_key(row, by), []).append(row)
    sums = [_sum(key, group) for key, group in groups.items()]
    return UsageListed(
        by=by, sums=tuple(sorted(sums, key=lambda one: (-one.usage.total, one.key))), total=_sum("total", rows)
    )


def _key(row: UsageRow, by: UsageBy) -> str:
    match by:
        case "task":
            return row.task_id or row.session_id
        case "agent":
            return row.agent
        case "model":
            return row.model
        case "turn":
            return row.turn_id or row.session_id
        case "session":
            return row.session_id


def _sum(key: str, rows: Sequence[UsageRow]) -> UsageSum:
    usage = sum((row.usage for row in rows), Usage())
    sent = usage.input + usage.cache_write + usage.cache_read
    timed = [(row.first_token_s, row) for row in rows if row.first_token_s is not None]
    speaking_s = sum(row.wall_s - first for first, row in timed)
    return UsageSum(
        key=key,
        agents=tuple(sorted({row.agent for row in rows})),
        requests=len(rows),
        usage=usage,
        cache_share=usage.cache_read / sent if sent else 0.0,
        wall_s=sum(row.wall_s for row in rows),
        first_token_s=sum(first for first, _ in timed) / len(timed) if timed else None,
        tokens_per_s=sum(row.usage.output for _, row in timed) / speaking_s if speaking_s > 0 else None,
        price_usd=sum(row.price_usd for row in rows if row.price_usd is not None),
        unpriced=sum(row.price_usd is None for row in rows),
    )
