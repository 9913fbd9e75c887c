"""Places within a row, and what they come to over rows. More is better; where less is, negate values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Standing:
    """A baseline over the complete rows of a table, those in which every baseline has a value.

    `mean_rank` is None where no row is complete. `wins` are the rows in which no other is better; all that share a
    first place have won.
    """

    baseline: str
    mean_rank: float | None
    wins: int
    rows: int


def ranks(values: Sequence[float | None]) -> list[float | None]:
    """The rank of each value that there is, 1 the best; those that are equal share the mean of their ranks, as is usual
    where ranks are averaged (Demšar 2006, JMLR 7, 1). Numbers that differ by rounding alone are equal."""
    order = sorted((at for at, value in enumerate(values) if value is not None), key=lambda at: -(values[at] or 0.0))
    found: list[float | None] = [None] * len(values)
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and is_same(values[order[start]], values[order[end]]):
            end += 1
        for at in order[start:end]:
            found[at] = (start + 1 + end) / 2
        start = end
    return found


def best(values: Sequence[float | None]) -> list[bool]:
    """Whether each value is one that none is better than."""
    known = [value for value in values if value is not None]
    return [value is not None and is_same(value, max(known)) for value in values]


def is_same(one: float | None, other: float | None) -> bool:
    """Whether two values are equal but for rounding."""
    return one is not None and other is not None and math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)


def standings(baselines: Sequence[str], rows: Sequence[Mapping[str, float | None]]) -> list[Standing]:
    """Each baseline's over the complete rows, in the order given; `rows` map baselines to values."""
    complete = [values for row in rows if None not in (values := [row.get(name) for name in baselines])]
    placed = [(ranks(values), best(values)) for values in complete]
    found = []
    for at, name in enumerate(baselines):
        places = [row[at] or 0.0 for row, _ in placed]
        mean = math.fsum(places) / len(places) if places else None
        found.append(Standing(name, mean, sum(won[at] for _, won in placed), len(places)))
    return found
