"""How well single states are remembered, from the probes: when new, now, and by how old and changeful they are.

Recall is corrected for guessing: with V possible values, a guess is right once in V, so what counts is
Σ(right − 1/V) / Σ(1 − 1/V), 0 for a guesser and 1 for all known (Cronbach's and Frary's formula score, pooled).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from amemgym.scores.groups import Column, Groups
from amemgym.scores.intervals import clipped
from amemgym.scores.metrics import Mean, ratio, share
from amemgym.scores.states import StateCell, States

#: ages, changes and lives beyond this are taken together, as too few to tell apart
MOST = 8
#: the lag of a change that was not found: above every age
NEVER = 1 << 30


#: states: columns, or cells where there are few
Some = States | Sequence[StateCell]


def recall(cells: Some) -> Mean:
    """Corrected recall over states, with the interval clustered by user."""
    states = States.of(cells)
    guess = 1 / states.values.astype(float)
    found = ratio(states.user, states.right - guess, 1 - guess)
    return replace(found, interval=clipped(found.interval, low=-1))  # of two values, none known is −1


def recall_by(cells: Some, number: Literal["age", "changes", "life"]) -> list[Mean]:
    """Corrected recall by a number: entry i for states whose number is i, the last for all from MOST on."""
    states = States.of(cells)
    numbers = np.minimum(getattr(states, number), MOST)
    return [recall(states.only(numbers == wanted)) for wanted in range(int(numbers.max(initial=-1)) + 1)]


@dataclass(frozen=True)
class UpdateLag:
    """How soon changes are known.

    `known` is the share of changes that a probe ever found known while they held, `mean` the periods until then, over
    those that were. `by_lag[L]` is the share known within L periods, of the changes that held so long. A change that
    was not found counts only if it was probed after each of these periods. Not corrected for guessing.
    """

    known: Mean
    mean: Mean
    by_lag: list[Mean]


def update_lag(cells: Some) -> UpdateLag:
    """The lag of every change after period 0."""
    states = States.of(cells)
    user, lag, life, probed = _changes(states.only(states.changes > 0))
    is_found = lag != NEVER
    # where a probe is missing before the one that found it, it may have been known earlier
    is_sure = is_found & (lag < probed)
    tells = is_found | (probed == life)
    longest = min(MOST, int(life.max(initial=0)))
    return UpdateLag(
        known=share(user[tells], is_found[tells]),
        mean=_not_below_zero(ratio(user[is_sure], lag[is_sure])),
        by_lag=[_known_within(within, user, lag, life, probed) for within in range(longest)],
    )


def _changes(states: States) -> tuple[Column, Column, Column, Column]:
    """For each change whose beginning was probed: its user, the first age at which it was known (else NEVER), its life,
    and the number of periods, from the first on, that it was probed after without a gap."""
    whose = (states.user, states.trial, states.question, states.variable, states.period - states.age)
    groups = Groups(*whose)
    lag = groups.least(np.where(states.right, states.age.astype(np.int64), NEVER))
    # of the ages there are, in order, those that are their own place come before the first gap
    ages = Groups(*whose, states.age)
    change = np.repeat(np.arange(len(groups)), np.asarray(Groups(*(key[ages.first] for key in whose)).sizes))
    starts = np.flatnonzero(np.diff(change, prepend=-1))
    rank = np.arange(len(change)) - starts[change]
    probed = np.bincount(change, weights=states.age[ages.first] == rank, minlength=len(groups)).astype(int)
    begun = probed > 0
    return states.user[groups.first][begun], lag[begun], states.life[groups.first][begun], probed[begun]


def _not_below_zero(mean: Mean) -> Mean:
    return replace(mean, interval=clipped(mean.interval, high=math.inf))


def _known_within(within: int, user: Column, lag: Column, life: Column, probed: Column) -> Mean:
    """The share known within so many periods, of the changes that held so long."""
    is_found = lag <= within
    seen = (life > within) & ((probed > within) | is_found)
    return share(user[seen], is_found[seen])
