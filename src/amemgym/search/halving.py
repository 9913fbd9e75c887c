"""Successive halving over users and periods: many configurations on little, the best of them on more, the last on all.

Each rung is a budget, the first users of a seeded order with their first periods, and all configurations of a rung are
played on the same. A rung has √eta times as many users and √eta times as many periods as the one before, so one
configuration costs about eta times as much, and one in eta goes on. The users and the periods of a rung are among those
of the next one, so what was asked in it need not be asked again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from amemgym.env import Rules
from amemgym.evaluate import variants_of
from amemgym.scenario import Dataset
from amemgym.seeds import permutation


@dataclass(frozen=True)
class Rung:
    """How many configurations are played on which users (ids, in the data's order) and how many periods."""

    configurations: int
    users: tuple[str, ...]
    periods: int


@dataclass(frozen=True)
class Bill:
    """What is asked at most, upper bound and probes included, and what of a smaller rung is taken instead of asked."""

    episodes: int = 0
    turns: int = 0
    exams: int = 0
    taken: int = 0

    def __add__(self, other: Bill) -> Bill:
        return Bill(
            self.episodes + other.episodes,
            self.turns + other.turns,
            self.exams + other.exams,
            self.taken + other.taken,
        )


def make_rungs(
    dataset: Dataset, training: Sequence[str], configurations: int, rungs: int, eta: int, seed: int
) -> list[Rung]:
    """The rungs for so many configurations, from small to all of the training users and periods.

    The last has two configurations or more, since one alone is chosen from nothing. A rung that would send on all it
    has, or is no larger than the one before, is left out.
    """
    lengths = {scenario.id: len(scenario.periods) for scenario in dataset}
    order = [training[place] for place in permutation(len(training), seed, "users of a rung")]
    longest = max(lengths[name] for name in training)
    found: list[Rung] = []
    for number in range(rungs):
        share = eta ** (-(rungs - 1 - number) / 2)
        chosen = set(order[: _part(len(order), share)])
        users = tuple(name for name in training if name in chosen)
        periods = min(_part(longest, share), max(lengths[name] for name in users))
        going = configurations if not found else min(configurations, max(2, math.ceil(configurations / eta**number)))
        rung = Rung(going, users, periods)
        if found and (found[-1].users, found[-1].periods) == (users, periods):
            continue
        if found and found[-1].configurations == going:
            found[-1] = rung
        else:
            found.append(rung)
    return found


def bill(dataset: Dataset, rungs: Sequence[Rung], held_out: Sequence[str], rules: Rules) -> Bill:
    """What a search asks at most: each configuration at its last rung, then two on the held-out users."""
    total = Bill()
    for number, rung in enumerate(rungs):
        one = _work(dataset.only(rung.users).limited(None, rung.periods), rules)
        after = rungs[number + 1].configurations if number + 1 < len(rungs) else 0
        asked = rung.configurations - after
        total += Bill(one.episodes * asked, one.turns * asked, one.exams * asked, one.exams * after)
    last = dataset.only(held_out)
    one = _work(last, rules)
    bounds = sum(len(variants_of(scenario)) for scenario in last)
    # each exam has its probe; the second takes the upper bound of the first
    return total + Bill(2 * one.episodes, 2 * one.turns, 4 * one.exams + bounds, bounds)


def _work(dataset: Dataset, rules: Rules) -> Bill:
    """One configuration, without probes and upper bound."""
    turns = sum(len(p.sessions) * rules.rounds(i) for scenario in dataset for i, p in enumerate(scenario.periods))
    return Bill(len(dataset), turns, sum(len(scenario.periods) * len(scenario.qas) for scenario in dataset))


def _part(whole: int, share: float) -> int:
    """A share of them, rounded up, and two or more where there are so many: what changes shows from period 1 on."""
    return max(min(2, whole), math.ceil(whole * share - 1e-9))
