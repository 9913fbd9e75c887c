"""How sure a value is, and a gain over another memory system: from the per-item details, gains paired by item.

Items that say whose they are are clustered by user (`clustered`), others have data sets as strata (`paired`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from amemgym.errors import DataError
from amemgym.memorybench.comparing.clustered import Bounds, clustered, clustered_score, mean_by_user
from amemgym.memorybench.comparing.comparison import Gain
from amemgym.memorybench.comparing.details import Details, Values
from amemgym.memorybench.comparing.measure import Measure
from amemgym.memorybench.comparing.paired import Paired, mean_of, paired
from amemgym.memorybench.summary import AVERAGE

SOME = "some of its items have a user and some have none"
NO_USERS = "its items say no user"


def gain(
    of: Details | str,
    reference: Details | str,
    measure: Measure,
    of_summaries: float | None,
    base: str,
    datasets: Iterable[str] | None = None,
) -> Gain:
    """A group's gain over the reference; each is a reason in words where its details cannot be read. `datasets` are
    those of the gain; None means all that either has. `base` is the reference's name."""
    for details in (reference, of):
        if isinstance(details, str):
            return Gain.untold(of_summaries, details)
    assert isinstance(of, Details) and isinstance(reference, Details)
    wanted = (
        sorted({*of.datasets, *reference.datasets, *of.why, *reference.why}) if datasets is None else list(datasets)
    )
    for dataset in wanted:
        if why := _why_not_both(dataset, of, reference, measure, base):
            return Gain.untold(of_summaries, why)
    both = [[details.datasets[dataset] for dataset in wanted] for details in (of, reference)]
    users = [_users(values) for values in both]
    if None in users:
        return Gain.untold(of_summaries, SOME)
    if users[0] != users[1]:
        return Gain.untold(of_summaries, f"the items here or of {base} say no user")
    if measure.is_memory_score:
        if not users[0]:
            return Gain.untold(of_summaries, NO_USERS)
        ours, theirs = (_rooms(values) for values in both)
        found = clustered_score(ours, theirs, base)
    elif users[0]:
        cells = [
            {dataset: _by_place(values, measure, dataset) for dataset, values in zip(wanted, side, strict=True)}
            for side in both
        ]
        low, high = _bounds([*both[0], *both[1]], measure)
        found = clustered(*cells, equal=measure.metric == AVERAGE, bounds=(low - high, high - low))
    else:
        differences = {
            dataset: _differences(ours, theirs, measure, dataset)
            for dataset, ours, theirs in zip(wanted, *both, strict=True)
        }
        if lacking := next((dataset for dataset, values in differences.items() if not values), None):
            return Gain.untold(of_summaries, f"{lacking}: no item has a value in both")
        found = paired(differences, equal=measure.metric == AVERAGE)
    return Gain.told(found, of_summaries)


def spread(of: Details | str, measure: Measure, datasets: Iterable[str] | None = None) -> Paired:
    """The mean of a group's values with its interval: of each data set's items, data sets being strata, or clustered
    by user; `datasets` as in `gain`."""
    if isinstance(of, str):
        return Paired(None, None, None, 0, of)
    wanted = sorted({*of.datasets, *of.why}) if datasets is None else list(datasets)
    for dataset in wanted:
        why = of.why.get(dataset) or measure.scale(dataset)[1]
        if why or dataset not in of.datasets:
            return Paired(None, None, None, 0, f"{dataset}: {why}" if why in of.why.values() else why or "no items")
    side = [of.datasets[dataset] for dataset in wanted]
    users, equal = _users(side), measure.metric == AVERAGE
    if users is None:
        return Paired(None, None, None, 0, SOME)
    if measure.is_memory_score and not users:
        return Paired(None, None, None, 0, NO_USERS)
    scaled = {dataset: _scaled(values, measure, dataset) for dataset, values in zip(wanted, side, strict=True)}
    if not users:
        from amemgym.scores.intervals import clipped

        found = mean_of(scaled, equal=equal)
        return replace(found, interval=clipped(found.interval, *_bounds(side, measure)))
    n = sum(map(len, scaled.values()))
    sums: dict[int, list[float]] = {}
    counts: dict[int, list[float]] = {}
    for values, made in zip(side, scaled.values(), strict=True):
        weight = n / len(side) / len(made) if equal and made else 1.0
        for at, value in enumerate(made):
            user = values.users[at]
            sums.setdefault(user, []).append(weight * value)
            counts.setdefault(user, []).append(values.rooms[at] if values.rooms else weight)
    return mean_by_user(
        {user: math.fsum(of) for user, of in sums.items()},
        {user: math.fsum(of) for user, of in counts.items()},
        n,
        is_share=measure.is_share,
        bounds=_bounds(side, measure),
    )


def is_apart(one: float | None, other: float | None) -> bool:
    """Whether what items give and what summaries say differ by more than can be seen in a table."""
    return one is not None and other is not None and not math.isclose(one, other, abs_tol=5e-4)


def reading(read: Callable[[], Details]) -> Details | str:
    """The details, or in words why they cannot be read."""
    try:
        return read()
    except DataError as error:
        return str(error)


def _why_not_both(dataset: str, of: Details, reference: Details, measure: Measure, base: str) -> str | None:
    for details in (reference, of):
        if why := details.why.get(dataset):
            return f"{dataset}: {why}"
    ours, theirs = of.datasets.get(dataset), reference.datasets.get(dataset)
    if ours is None or theirs is None:
        return f"{dataset}: only one of the two has items of it"
    if ours.metric != theirs.metric:
        return f"{dataset}: {ours.metric} here, {theirs.metric} in {base}"
    return measure.scale(dataset)[1]


def _users(values: Sequence[Values]) -> bool | None:
    """Whether all items say their user; None where some do and some do not."""
    known = {user >= 0 for of in values for user in of.users}
    return None if len(known) > 1 else True in known


def _bounds(values: Sequence[Values], measure: Measure) -> Bounds:
    """What a mean of them can be, as far as it is known: shares lie in 0..1."""
    if measure.is_normalised or measure.is_memory_score or any(not 0 <= v <= 1 for of in values for v in of.values):
        return -math.inf, math.inf
    return 0.0, 1.0


def _scaled(values: Values, measure: Measure, dataset: str) -> list[float]:
    """The values as they are averaged; `measure` has statistics of the data set."""
    scale, _ = measure.scale(dataset)
    return [made for value in values.values if (made := scale(value)) is not None]


def _by_place(values: Values, measure: Measure, dataset: str) -> dict[tuple[int, ...], float]:
    return _means(values, _scaled(values, measure, dataset))


def _rooms(values: Sequence[Values]) -> list[dict[tuple[int, ...], float]]:
    """What each cell gained, and what was possible, over all data sets."""
    gained: dict[tuple[int, ...], float] = {}
    possible: dict[tuple[int, ...], float] = {}
    for of in values:
        gained |= _means(of, of.values)
        possible |= _means(of, of.rooms)
    return [gained, possible]


def _means(values: Values, numbers: Iterable[float]) -> dict[tuple[int, ...], float]:
    """By user and place, of the items that the reference has."""
    from amemgym.scores.common import means_by_place

    placed = zip(values.users, values.places, numbers, strict=True)
    return means_by_place(((user, place), number) for user, place, number in placed if place >= 0)


def _differences(ours: Values, theirs: Values, measure: Measure, dataset: str) -> list[float]:
    """Of the items that have a value in both."""
    scale, _ = measure.scale(dataset)
    known = dict(zip(theirs.places, theirs.values, strict=True))
    found = []
    for place, value in zip(ours.places, ours.values, strict=True):
        if place in known:
            mine, other = scale(value), scale(known[place])
            if mine is not None and other is not None:
                found.append(mine - other)
    return found
