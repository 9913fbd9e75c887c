"""The sign-flip test: were two agents equal, each user's difference could as well have had the other sign.

So the observed sum over users is placed among the sums for all choices of signs. It needs no normal distribution, and
it shows plainly that few users cannot prove anything: three users have eight choices of signs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

#: choices of signs that are looked at: all where there are no more (up to 13 users), else this many at random
RESAMPLES = 9_999
SEED = 20

#: choices held in memory at a time
BATCH = 500


def sign_flip_p(rows: Sequence[Sequence[float]]) -> list[float | None]:
    """For each row (one difference a user) the two-sided p of its sum; None with fewer than two users.

    p is twice the share of sign choices whose sum is at least as far out on the observed side, at most 1 (Fisher, The
    Design of Experiments, section 21), as by `scipy.stats.permutation_test` with the same seed. Exact while 2**users is
    at most `RESAMPLES`; beyond, with `RESAMPLES` seeded choices and the observed one counted among them (Phipson and
    Smyth 2010). A row's p does not depend on the other rows.
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
    """All rows in one call: making the signs takes longer than adding them up. The draws and the tolerance are those of
    `scipy.stats.permutation_test`, which takes a second to be imported."""
    import numpy as np

    values = np.asarray(rows, dtype=float)
    observed = np.round(values.sum(axis=1), 9)
    near = np.abs(observed) * np.finfo(float).eps * 100
    below, above, choices = np.zeros(len(rows), dtype=int), np.zeros(len(rows), dtype=int), 0
    for signs in _signs(values.shape[1]):
        sums = np.zeros((len(signs), len(rows)))
        for of_user, differences in zip(signs.T, values.T, strict=True):
            sums += np.outer(of_user, differences)
        sums = np.round(sums, 9)  # for sums that are equal but for rounding must count as equal
        below += np.count_nonzero(sums <= observed + near, axis=0)
        above += np.count_nonzero(sums >= observed - near, axis=0)
        choices += len(signs)
    itself = 0 if choices == 2 ** values.shape[1] else 1
    return [float(p) for p in np.minimum((np.minimum(below, above) + itself) / (choices + itself) * 2, 1.0)]


def _signs(users: int) -> Iterator[Any]:
    """Arrays (choices, users) of 1 and -1, at most `BATCH` choices each: all there are, or `RESAMPLES` at random."""
    import numpy as np

    if (every := 2**users) <= RESAMPLES:
        for start in range(0, every, BATCH):
            numbers = np.arange(start, min(start + BATCH, every))
            yield 1.0 - 2.0 * (numbers[:, None] >> np.arange(users) & 1)
        return
    chance, pairs = np.random.default_rng(SEED), np.tile(np.arange(2), (BATCH, users, 1))
    for start in range(0, RESAMPLES, BATCH):
        yield 1.0 - 2.0 * chance.permuted(pairs, axis=-1)[: RESAMPLES - start, :, 0]
