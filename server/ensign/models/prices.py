"""What a request cost, where the vendor's list price is known (O2)."""

from __future__ import annotations

from ensign.models.vendors import traits_of
from ensign.protocol.messages import Usage


def price(model_id: str, usage: Usage | None) -> float | None:
    """Return US dollars at list price for a request to `provider/model`; None when price or usage are not known."""
    rates = traits_of(model_id.partition("/")[2]).price
    if model_id == "offline":
        return 0.0
    if rates is None or usage is None:
        return None
    counts = (usage.input, usage.output, usage.cache_write, usage.cache_read)
    return sum(rate * count for rate, count in zip(rates, counts, strict=True)) / 1_000_000
