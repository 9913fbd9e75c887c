"""How numbers are written on a page: the same way everywhere, and a dash where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NONE = "–"


def number(value: float | None, digits: int = 3) -> str:
    """A score: `0.579`, with a minus that is as wide as a plus."""
    if value is None:
        return NONE
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def signed(value: float | None, digits: int = 3) -> str:
    """A difference: `+0.021`."""
    text = number(value, digits)
    return text if value is None or value <= 0 or float(text) == 0 else f"+{text}"


def interval(pair: Sequence[float] | None, digits: int = 3) -> str:
    """An interval: `[0.540, 0.618]`."""
    return NONE if pair is None else f"[{number(pair[0], digits)}, {number(pair[1], digits)}]"


def arm(pair: Sequence[float], value: float, digits: int = 2) -> str:
    """An interval as its longer arm: `±0.06`. One that ends where a share does is cut there."""
    return f"±{max(pair[1] - value, value - pair[0]):.{digits}f}"


def percent(share: float | None) -> str:
    """A share, short: `33%`."""
    return NONE if share is None else f"{share:.0%}".replace("-", "−")


def count(value: int | None) -> str:
    """A count: `12,345`."""
    return NONE if value is None else f"{value:,}"


def chance(p: float | None) -> str:
    """A p value: `0.031`, `< 0.001`."""
    return NONE if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def tokens(used: Mapping[str, Any] | None, what: str) -> str:
    """Tokens of one direction, marked where they are estimated: `~12,345`."""
    if used is None:
        return NONE
    return f"{'~' if used['estimated'] else ''}{count(used[what])}"


def dollars(value: float | None, estimated: bool = False) -> str:
    """US dollars: `12.30`, `0.0042`, marked where the tokens are estimated."""
    if value is None:
        return NONE
    if 0 < value < 0.0001:
        text = "< 0.0001"
    else:
        text = "0" if value == 0 else f"{value:,.4f}" if value < 1 else f"{value:,.2f}"
    return f"{'~' if estimated and value else ''}{text}"


FILTERS = {f.__name__: f for f in (number, signed, interval, arm, percent, count, chance, tokens, dollars)}
