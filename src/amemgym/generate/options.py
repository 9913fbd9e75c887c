"""The options of a question: one for each variant that was true in some period, and others up to a minimum.

Lives change one variable at a time, so what was true for long shares values with much else that was true, and whoever
sees the options alone could take the one most like the others. The padding is chosen against that: of the variants that
were never true, those with which neither the option most like the others nor the one least like them is right more
often than by chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from random import Random

Variant = tuple[str, ...]

#: options beyond the minimum (or beyond those that were true) at most, where that hides better which were true for long
MORE = 2
#: how much more often than by chance such a choice may be right, above and below together, before another is added
SLIGHT = 0.04
#: sets of padding that are tried at most, for each number of them
TRIED = 150


def option_variants(
    states: Sequence[Mapping[str, str]],
    required: Sequence[str],
    schema: Mapping[str, Sequence[str]],
    at_least: int,
    random: Random,
) -> list[tuple[Variant, str]]:
    """(variant, `experience` or `random`) of each option, in drawn order: no place is likelier than another."""
    held = Counter(tuple(state[name] for name in required) for state in states)
    rest = [variant for variant in product(*(schema[name] for name in required)) if variant not in held]
    padding = _padding(held, rest, max(0, at_least - len(held)), random)
    options = [(variant, "experience") for variant in held] + [(variant, "random") for variant in padding]
    random.shuffle(options)
    return options


def telltale(options: Sequence[Variant], held: Mapping[Variant, int]) -> float:
    """How much more or less often than by chance (0 to 2, both added) the options most and least like the others are
    right, over the periods that each variant was true for."""
    likeness = [sum(a == b for other in options for a, b in zip(option, other, strict=True)) for option in options]
    periods, chance = sum(held.values()), 1 / len(options)
    found = 0.0
    for extreme in (max(likeness), min(likeness)):
        chosen = [option for option, score in zip(options, likeness, strict=True) if score == extreme]
        found += abs(sum(held.get(option, 0) for option in chosen) / len(chosen) / periods - chance)
    return found


def _padding(held: Mapping[Variant, int], rest: Sequence[Variant], least: int, random: Random) -> tuple[Variant, ...]:
    least = min(least, len(rest))
    best: tuple[Variant, ...] = ()
    shown = math.inf
    for count in range(least, min(least + MORE, len(rest)) + 1):
        for padding in _sets(rest, count, random):
            if (tells := telltale([*held, *padding], held)) < shown:
                best, shown = padding, tells
        if shown <= SLIGHT:
            break
    return best


def _sets(rest: Sequence[Variant], count: int, random: Random) -> Iterator[tuple[Variant, ...]]:
    """Sets of so many of them in drawn order: all there are, or a sample."""
    if math.comb(len(rest), count) <= TRIED:
        sets = list(combinations(rest, count))
        random.shuffle(sets)
        yield from sets
    else:
        for _ in range(TRIED):
            yield tuple(random.sample(rest, count))
