"""Gains over the model without memory, from the per-item details of both, paired by item.

Details are streamed. Of the model without memory, which every other in the row is compared with, each item's key and
value are held; of the others, two arrays of numbers. Which of an item's metrics is its value, and how values are
normalised, is told in `metric` and `normalization` alone.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from amemgym.errors import DataError, UnknownName
from amemgym.memorybench.aggregating.metric import Metrics, Picker, choose
from amemgym.memorybench.aggregating.normalization import Normalization, group_of
from amemgym.memorybench.comparing.comparison import Gain
from amemgym.memorybench.comparing.paired import paired
from amemgym.memorybench.items import Item, ItemKey
from amemgym.memorybench.summary import AVERAGE, SUMMARY_METRICS, Z_SCORE

#: by data set, the mean of the items' own values
OWN = "own_mean"


@dataclass(frozen=True)
class Values:
    """The values of a data set's items under one metric, and each item's place in the reference's list of keys."""

    metric: str
    places: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))


@dataclass(frozen=True)
class Details:
    """A group's values by data set, as aggregated; `why` has the data sets without any. `unknown` is the error where
    the metric or data set that the caller names is none of the group's, which may be another group's."""

    datasets: dict[str, Values]
    why: dict[str, str]
    unknown: UnknownName | None = None


def read_details(
    items: Iterable[Item], metrics: Metrics | None, keys: dict[ItemKey, int], *, is_reference: bool
) -> Details:
    """The values of a group's items. The reference adds its items to `keys`; of others, only what is there is kept.

    Raises DataError.
    """
    picker = Picker(metrics)
    found: dict[str, dict[str, Values]] = {}
    several: dict[str, set[str]] = {}
    named: set[str] = set()
    for item in items:
        place = keys.setdefault(item.key, len(keys)) if is_reference else keys.get(item.key, -1)
        read = picker.read(item, str(item.key))
        group = group_of(read.dataset)
        by_metric = found.setdefault(group, {})
        several.setdefault(group, set()).update(read.several)
        if picker.named(read.dataset) is not None:
            named.add(group)
        if read.metric is None:
            continue
        values = by_metric.setdefault(read.metric, Values(read.metric))
        if read.value is not None and place >= 0:
            values.places.append(place)
            values.values.append(read.value)
    datasets, why = {}, {}
    for group, by_metric in found.items():
        chosen = choose(group, by_metric, several[group], named=group in named)
        if chosen.metric is None:
            why[group] = chosen.why or ""
        else:
            datasets[group] = by_metric.get(chosen.metric, Values(chosen.metric))
    try:
        picker.check()
    except UnknownName as error:
        return Details(datasets, why, error)
    return Details(datasets, why)


def count_values(items: Iterable[Item], metrics: Metrics | None) -> Counter[str]:
    """How many items of each data set have a value."""
    picker = Picker(metrics)
    counts: Counter[str] = Counter()
    for item in items:
        read = picker.read(item, str(item.key))
        counts[group_of(read.dataset)] += read.value is not None
    return counts


@dataclass(frozen=True)
class Measure:
    """How items' values become the table's metric. `normalization` is None where the set has none."""

    metric: str
    normalization: Normalization | None = None

    @property
    def is_normalised(self) -> bool:
        return self.metric in SUMMARY_METRICS

    def scale(self, dataset: str) -> tuple[Callable[[float], float | None], str | None]:
        """What makes of an item's own value the one that is averaged, and why there can be none."""
        if not self.is_normalised:
            return lambda value: value, None
        if self.normalization is None:
            return (
                lambda value: None,
                "no statistics to normalise the items' values by; name their file (normalization, --normalization)",
            )
        if (statistics := self.normalization.get(dataset)) is None:
            return lambda value: None, f"{dataset}: no statistics to normalise the items' values by"
        is_z = self.metric == Z_SCORE
        why = statistics.why_no_z if is_z else statistics.why_no_minmax
        return (statistics.z if is_z else statistics.minmax), None if why is None else f"{dataset}: {why}"


def gain(
    of: Details | str,
    reference: Details | str,
    measure: Measure,
    of_summaries: float | None,
    datasets: Iterable[str] | None = None,
) -> Gain:
    """A group's gain over the reference; each is a reason in words where its details cannot be read. `datasets` are
    those of the gain; None means all that either has."""
    for details in (reference, of):
        if isinstance(details, str):
            return Gain.untold(of_summaries, details)
    assert isinstance(of, Details) and isinstance(reference, Details)
    wanted = (
        sorted({*of.datasets, *reference.datasets, *of.why, *reference.why}) if datasets is None else list(datasets)
    )
    differences: dict[str, list[float]] = {}
    for dataset in wanted:
        found = _differences(dataset, of, reference, measure)
        if isinstance(found, str):
            return Gain.untold(of_summaries, found)
        differences[dataset] = found
    return Gain.told(paired(differences, equal=measure.metric == AVERAGE), of_summaries)


def _differences(dataset: str, of: Details, reference: Details, measure: Measure) -> list[float] | str:
    """Of the items that have a value in both; or why there is none that would be part of the metric."""
    for details in (reference, of):
        if why := details.why.get(dataset):
            return f"{dataset}: {why}"
    ours, theirs = of.datasets.get(dataset), reference.datasets.get(dataset)
    if ours is None or theirs is None:
        return f"{dataset}: only one of the two has items of it"
    if ours.metric != theirs.metric:
        return f"{dataset}: {ours.metric} here, {theirs.metric} without memory"
    scale, why_not = measure.scale(dataset)
    if why_not is not None:
        return why_not
    known = dict(zip(theirs.places, theirs.values, strict=True))
    found = []
    for place, value in zip(ours.places, ours.values, strict=True):
        if place in known:
            mine, other = scale(value), scale(known[place])
            if mine is not None and other is not None:
                found.append(mine - other)
    return found if found else f"{dataset}: no item has a value in both"


def is_apart(gain: Gain) -> bool:
    """Whether the gain by items and the difference of the summaries differ by more than can be seen in a table."""
    if gain.n == 0 or gain.value is None or gain.of_summaries is None:
        return False
    return not math.isclose(gain.value, gain.of_summaries, abs_tol=5e-4)


def reading(read: Callable[[], Details]) -> Details | str:
    """The details, or in words why they cannot be read."""
    try:
        return read()
    except DataError as error:
        return str(error)
