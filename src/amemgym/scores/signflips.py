"""The sign-flip test: were two agents equal, each user's difference could as well have had the other sign.

So the observed sum over users is placed among the sums for all choices of signs. It needs no normal distribution, and
it shows plainly that few users cannot prove anything: three users have eight choices of signs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

#: choices of signs that are looked at: all where there are no more (up to 13 users), else this many at random
RESAMPLES = 9_999
SEED = 20

#: choices held in memory at a time
BATCH = 500


def sign_flip_p(rows: Sequence[Sequence[float]]) -> list[float | None]:
    """For each row (one difference a user) the two-sided p of its sum; None with fewer than two users.

    p is twice the share of sign choices whose sum is at least as far out on the observed side, at most 1 (Fisher, The
    Design of Experiments, section 21; `scipy.stats.permutation_test`). Exact while 2**users is at most `RESAMPLES`;
    beyond, with `RESAMPLES` seeded choices and the observed one counted among them (Phipson and Smyth 2010). A row's
    p does not depend on the other rows.
    """
    by_users: dict[int, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        by_users[len(row)].append(place)
    found: list[float | None] = [None] * len(rows)
    for users, places in by_users.items():
        if users < 2:
            continue
        for place, p in zip(places, _tested([rows[place] for place in places]), strict=True):
            found[place] = p
    return found


def smallest_p(users: int) -> float | None:
    """The smallest p that `sign_flip_p` can give for so many users; None with fewer than two.

    2 / 2**users where exact: of all choices of signs, one is as extreme on each side.
    """
    if users < 2:
        return None
    return 2 / 2**users if 2**users <= RESAMPLES else 2 / (RESAMPLES + 1)


def _tested(rows: Sequence[Sequence[float]]) -> list[float]:
    """All rows in one call: making the signs takes longer than adding them up."""
    import numpy as np
    from scipy.stats import permutation_test

    def total(values: Any, axis: int) -> Any:
        # rounded, for sums that are equal but for rounding must count as equal
        return np.round(np.sum(values, axis=axis), 9)

    result = permutation_test(
        (np.asarray(rows, dtype=float),),
        total,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=BATCH,
        axis=-1,
        random_state=np.random.default_rng(SEED),
    )
    return [float(p) for p in result.pvalue]
