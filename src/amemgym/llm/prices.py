"""What tokens cost, by the price list in the package `genai-prices`; nothing is ever fetched.

A model or an endpoint that the list does not know has no price: unknown is said, not 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from amemgym.llm.models import DEFAULT_URL, ModelSettings

#: what a rate is asked for: one request of ordinary length, as some models charge more for very long ones
_REQUEST = 1000


@dataclass(frozen=True)
class Rate:
    """US dollars a token; `cached` for input that the endpoint had read before, None where that costs the same."""

    input: float
    output: float
    cached: float | None = None

    def of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """US dollars for so many tokens; those cached are part of the input."""
        cached = self.input if self.cached is None else self.cached
        return self.input * (input_tokens - cached_tokens) + cached * cached_tokens + self.output * output_tokens


def rate_of(settings: ModelSettings) -> Rate | None:
    """What a model costs at its endpoint, or None where that is not known. Raises UsageError for a broken address."""
    from genai_prices import Usage, calc_price  # 3 MB of prices, so only where they are asked for

    kind, _, name = settings.model.partition(":")
    if kind != "openai" or not name:
        return None
    try:
        price = calc_price(
            Usage(input_tokens=_REQUEST, output_tokens=_REQUEST),
            model_ref=name,
            provider_api_url=settings.resolved_url() or DEFAULT_URL,
        )
    except LookupError:
        return None
    return Rate(float(price.input_price) / _REQUEST, float(price.output_price) / _REQUEST)
