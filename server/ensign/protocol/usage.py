"""The cost ledger (O2) as clients see it: requests summed by what they were for."""

from __future__ import annotations

from typing import Literal

from ensign.protocol.messages import Usage
from ensign.protocol.value import Value, frozen

UsageBy = Literal["task", "agent", "model", "turn", "session"]


@frozen
class UsageGet(Value):
    """`ensign/usage/get`; without `session_id`, of all sessions."""

    session_id: str | None = None
    by: UsageBy = "session"


@frozen
class UsageSum(Value):
    """Several requests. Each request is in exactly one sum: that of the agent that sent it.

    Attributes:
        key: the id or name that the requests share; of a main agent's own requests by task, its session's id.
        agents: names of those who sent them.
        cache_share: cached tokens of all tokens that were sent, 0 to 1.
        first_token_s: mean time to the first token; None where no request has it.
        tokens_per_s: output tokens a second after the first token; None where it cannot be told.
        price_usd: what the requests with a known price cost; `unpriced` counts the others.
    """

    key: str
    agents: tuple[str, ...]
    requests: int
    usage: Usage
    cache_share: float
    wall_s: float
    first_token_s: float | None
    tokens_per_s: float | None
    price_usd: float
    unpriced: int


@frozen
class UsageListed(Value):
    """Answer to `ensign/usage/get`: the sums, the largest first, and their total."""

    by: UsageBy
    sums: tuple[UsageSum, ...]
    total: UsageSum
