"""How sure a mean or a gain is where items say whose they are: answers of one user are not independent.

Users are what is sampled, as in the scores of a run, whose formulas these are: a gain of an exported run is the
difference that its scores.json has of the pair, with the same interval and p. Items of one user, period and question in
several trials are one cell of a gain, their mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import TYPE_CHECKING

from amemgym.memorybench.comparing.paired import NO_ITEMS, NO_VALUES, Paired

if TYPE_CHECKING:  # whoever only reads an archive need not load what plays and scores
    from amemgym.scores.common import Place

NARROW = "the upper bound is not clearly above random"
Bounds = tuple[float, float]


def clustered(
    ours: Mapping[str, Mapping[Place, float]],
    theirs: Mapping[str, Mapping[Place, float]],
    *,
    equal: bool = False,
    bounds: Bounds = (-math.inf, math.inf),
) -> Paired:
    """The mean difference over the cells that both have, by data set, with its interval over users and p of sign flips
    over users. Every cell counts the same; with `equal`, every data set does. The interval is cut to `bounds`."""
    from amemgym.scores.common import by_user
    from amemgym.scores.intervals import clipped, ratio_interval
    from amemgym.scores.signflips import sign_flip_p

    common = {
        name: {place: value - of[place] for place, value in ours[name].items() if place in of}
        for name, of in theirs.items()
    }
    n = sum(map(len, common.values()))
    if not n:
        return Paired(None, None, None, 0, NO_ITEMS)
    cells: dict[Place, tuple[float, float]] = {}
    for at, of in enumerate(common.values()):
        weight = n / len(common) / len(of) if equal else 1.0
        cells |= {(*place, at): (weight * difference, weight) for place, difference in of.items()}
    users = [[cells[place] for place in places] for places in by_user(cells)]
    sums, counts = ([math.fsum(cell[part] for cell in of) for of in users] for part in (0, 1))
    interval = clipped(ratio_interval(sums, counts), *bounds)
    value = math.fsum(sums) / math.fsum(counts)
    return Paired(value, interval, sign_flip_p([sums])[0], n, _why(len(users)), len(users))


def clustered_score(
    ours: Sequence[Mapping[Place, float]], theirs: Sequence[Mapping[Place, float]], base: str
) -> Paired:
    """The difference of two memory scores (ratios of means) over the cells that both have. Each is what cells gained
    over random, and what was possible.

    p is that of sign flips over what users gained, which is the memory score's where both have the same upper bounds;
    there is none where they have not. `base` is the other's name, for words.
    """
    from amemgym.scores.common import by_user, differences, score_difference
    from amemgym.scores.signflips import sign_flip_p

    places = by_user(place for place in ours[0] if place in theirs[0])
    n = sum(map(len, places))
    if not n:
        return Paired(None, None, None, 0, NO_ITEMS)
    value, interval = score_difference(*ours, *theirs)
    if value is None:
        return Paired(None, None, None, n, f"{NARROW}, here or in {base}", len(places))
    rooms = [[math.fsum(of[1][place] for place in user) for user in places] for of in (ours, theirs)]
    sums = list(map(math.fsum, differences(ours[0], theirs[0])))
    p = sign_flip_p([sums])[0] if all(starmap(math.isclose, zip(*rooms, strict=True))) else None
    return Paired(value, interval, p, n, _why(len(places)), len(places))


def mean_by_user(
    sums: Mapping[int, float], counts: Mapping[int, float], n: int, *, is_share: bool, bounds: Bounds
) -> Paired:
    """Σ sums / Σ counts with its interval over users; of a share, one that holds where it is rare."""
    from amemgym.scores.intervals import clipped, ratio_interval, share_interval

    if not n:
        return Paired(None, None, None, 0, NO_VALUES)
    numerators, denominators = list(sums.values()), [counts[user] for user in sums]
    total = math.fsum(denominators)
    if total <= 0:
        return Paired(None, None, None, n, NARROW, len(sums))
    made = share_interval(numerators, denominators) if is_share else ratio_interval(numerators, denominators)
    return Paired(math.fsum(numerators) / total, clipped(made, *bounds), None, n, _why(len(sums)), len(sums))


def _why(users: int) -> str | None:
    from amemgym.scores.intervals import ONE_USER

    return ONE_USER if users < 2 else None
