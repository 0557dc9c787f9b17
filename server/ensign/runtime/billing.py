"""What a request used and cost, as an event: once for each request, by the agent that sent it (O2)."""

from __future__ import annotations

from typing import Literal

from ensign.models.base import Reply
from ensign.models.prices import price
from ensign.protocol import events
from ensign.protocol.messages import Usage

Purpose = Literal["step", "wrap_up", "summary", "compaction"]


def usage_reported(who: events.Who, model_id: str, reply: Reply, purpose: Purpose) -> events.UsageReported:
    """The event for a request that was answered; without figures from the provider it counts nothing."""
    return events.UsageReported(
        **who,
        model=model_id,
        usage=reply.usage or Usage(),
        first_token_s=reply.first_token_s,
        wall_s=reply.wall_s,
        price_usd=price(model_id, reply.usage),
        purpose=purpose,
    )
