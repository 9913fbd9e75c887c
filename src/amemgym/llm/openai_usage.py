"""What an endpoint says a call used, in the words of several makers; what is no count is not taken for one."""

from __future__ import annotations

from typing import Any

from amemgym.llm.provider import Usage

#: no call uses so many tokens
_MOST = 1 << 40
#: where it stands how much of the input was read before, and how much of the output is reasoning
_CACHED = (
    ("prompt_tokens_details", "cached_tokens"),
    ("input_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),
    ("cached_tokens",),
    ("num_cached_tokens",),
    ("cache_read_input_tokens",),
)
_REASONING = (
    ("completion_tokens_details", "reasoning_tokens"),
    ("output_tokens_details", "reasoning_tokens"),
    ("reasoning_tokens",),
)


def read_usage(said: Any) -> Usage | None:
    """The usage, or None where input and output are not both counted."""
    if not isinstance(said, dict):
        return None
    read, written = as_count(said.get("prompt_tokens")), as_count(said.get("completion_tokens"))
    if read is None or written is None:
        return None
    cached, reasoning = _first(said, _CACHED), _first(said, _REASONING)
    if reasoning and as_count(said.get("total_tokens")) == read + written + reasoning:
        written += reasoning  # some count it apart; it is paid for as output all the same
    return Usage(
        read,
        written,
        cached=cached if cached is not None and cached <= read else None,
        reasoning=reasoning if reasoning is not None and reasoning <= written else None,
    )


def _first(said: dict[str, Any], places: tuple[tuple[str, ...], ...]) -> int | None:
    for place in places:
        value: Any = said
        for name in place:
            value = value.get(name) if isinstance(value, dict) else None
        if (count := as_count(value)) is not None:
            return count
    return None


def as_count(value: Any) -> int | None:
    """The value, where it is a number of tokens; None where it is something else."""
    return value if type(value) is int and 0 <= value < _MOST else None
