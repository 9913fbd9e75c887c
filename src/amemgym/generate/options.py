"""The options of a question: one for each variant that was true in some period, and others up to a minimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from random import Random

Variant = tuple[str, ...]


def experienced(states: Sequence[Mapping[str, str]], required: Sequence[str]) -> list[Variant]:
    """The different variants that the states go through, in order."""
    return list(dict.fromkeys(tuple(state[name] for name in required) for state in states))


def option_variants(
    states: Sequence[Mapping[str, str]],
    required: Sequence[str],
    schema: Mapping[str, Sequence[str]],
    at_least: int,
    random: Random,
) -> list[tuple[Variant, str]]:
    """(variant, `experience` or `random`) of each option, in drawn order: no place is likelier than another."""
    lived = experienced(states, required)
    rest = [variant for variant in product(*(schema[name] for name in required)) if variant not in lived]
    padding = random.sample(rest, max(0, min(len(rest), at_least - len(lived))))
    options = [(variant, "experience") for variant in lived] + [(variant, "random") for variant in padding]
    random.shuffle(options)
    return options
