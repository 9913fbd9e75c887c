"""Choosing by scores: the probability of each option's number as the next token, over all rotations of the options.

In every rotation an option stands at another place, so over all of them each has been at each place once, and what a
model likes of a place weighs the same for all. The rotations are asked in an order of their own, so that the same
options in another order are the same requests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from amemgym.tasks import ChooseKnowing, ChooseOption

#: how the reply begins; the number comes next
BEGUN = '{"answer": '
#: options whose numbers are one digit, and so one token
MOST_OPTIONS = 9
#: tokens that are looked at; a number that is not among so many has next to no probability
LIKELIEST = 500


@dataclass(frozen=True)
class Rotation:
    """The task with the options from number `shift` (from 0) first, and those before it last."""

    shift: int
    task: ChooseOption | ChooseKnowing


def rotations(task: ChooseOption | ChooseKnowing) -> list[Rotation]:
    """Every rotation of the options, in an order that does not depend on the one they are given in."""
    turned = [
        Rotation(shift, replace(task, options=task.options[shift:] + task.options[:shift]))
        for shift in range(len(task.options))
    ]
    return sorted(turned, key=lambda rotation: rotation.task.options)


def best_option(shifts: Sequence[int], likeliest: Sequence[Iterable[tuple[str, float]]]) -> int | None:
    """The number (from 1, in the order given) with the highest mean probability, of several the smallest.

    Args:
        shifts: of each rotation.
        likeliest: of each rotation, tokens and their log probabilities.

    None where a rotation has none of the numbers.
    """
    count = len(shifts)
    shares: list[list[float]] = [[] for _ in range(count)]
    for shift, tokens in zip(shifts, likeliest, strict=True):
        found = number_probabilities(tokens, count)
        total = math.fsum(found)
        if total <= 0:
            return None
        for place, probability in enumerate(found):
            shares[(place + shift) % count].append(probability / total)
    means = [math.fsum(share) for share in shares]
    return means.index(max(means)) + 1


def number_probabilities(tokens: Iterable[tuple[str, float]], count: int) -> list[float]:
    """The probability of each number from 1 to `count`, over all tokens that write it (with a space or without)."""
    found: list[list[float]] = [[] for _ in range(count)]
    for token, log_probability in tokens:
        number = token.strip()
        if number.isascii() and number.isdecimal() and len(number) == 1 and 1 <= int(number) <= count:
            found[int(number) - 1].append(math.exp(log_probability))
    return [math.fsum(each) for each in found]
