"""What tokens cost, from a table of prices that comes with a package and asks no network; unknown stays unknown."""

from __future__ import annotations


def price(model: str, input: int, output: int) -> float | None:
    """US dollars for so many tokens of `openai:<name>` at its list price; None where that model's is not known."""
    kind, _, name = model.partition(":")
    if kind != "openai":
        return None
    from genai_prices import Usage, calc_price  # its table takes its time to load

    try:
        return float(calc_price(Usage(input_tokens=input, output_tokens=output), model_ref=name).total_price)
    except LookupError:
        return None
