"""A set's scores from its items: average, weighted average and z-score, as the published formulas have them.

With m = (s − min) / (max − min), not clipped, and z = (s − μ) / σ by the statistics of an item's data set: `average` is
the mean over data sets of the mean m, `weighted_average` is Σm / n over all items, `z_score` is Σz / n (MemoryBench,
section on metrics; the published summaries recompute to 1e-9 by them). What is missing is left out and counted, never
0. A set of which a data set has no value at all has no score, as in the published file over all baselines; the reason
is told, and `partial` takes those that are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from amemgym.memorybench.aggregating.metric import (
    JUDGE_ERROR,
    Chosen,
    Metrics,
    Picker,
    Read,
    choose,
    judge_failed,
    numbered,
)
from amemgym.memorybench.aggregating.normalization import Normalization, Statistics, group_of
from amemgym.memorybench.aggregating.sums import ExactSum
from amemgym.memorybench.summary import AVERAGE, JUDGE, SUMMARY_METRICS, WEIGHTED, Z_SCORE, Sums
from amemgym.memorybench.values import number, total

#: how many metrics' names are kept of a data set, for messages
_PRESENT = 20


@dataclass(frozen=True)
class MetricMean:
    """The mean of one metric over the items that have it."""

    mean: float | None
    n: int
    missing: int


@dataclass(frozen=True)
class DatasetAggregate:
    """One data set: `n` items with a value, `missing` ones without (`failed` of them since their judge failed), the
    mean in the metric's own unit, and the normalised sums. `why` has the reasons for what is None: `value`, `minmax`,
    `z`; and `metric` where its items leave it open which is theirs. `lowest` and `highest` are the extreme values."""

    n: int
    missing: int
    mean: float | None
    minmax: Sums
    z: Sums
    metric: str | None = None
    failed: int = 0
    lowest: float | None = None
    highest: float | None = None
    why: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Overall:
    """The three metrics of a set, and by metric why one is None."""

    average: float | None
    weighted_average: float | None
    z_score: float | None
    why: dict[str, str]

    def as_dict(self) -> dict[str, float | None]:
        """The metrics by their published names."""
        return {AVERAGE: self.average, WEIGHTED: self.weighted_average, Z_SCORE: self.z_score}


@dataclass(frozen=True)
class Aggregate(Overall):
    """A set's scores with what they stand on. `n` and `missing` count items; `absent` are data sets that the statistics
    or the items have, without any value; `metrics` are the means of every metric, of items without statistics."""

    n: int
    missing: int
    datasets: dict[str, DatasetAggregate]
    absent: tuple[str, ...]
    metrics: dict[str, MetricMean]

    @property
    def complete(self) -> bool:
        """Whether every data set of the set has a value."""
        return not self.absent

    def as_dict(self, details: Mapping[str, list[float | None]] | None = None) -> dict[str, Any]:
        """summary.json in the published legacy shape, null for what is None; `details` are the items' values."""
        if self.metrics:
            return {"summary": {name: made.mean for name, made in self.metrics.items()}}
        made = {
            "summary": Overall.as_dict(self),
            "average": {name: one.mean for name, one in self.datasets.items()},
            "minmax_normalized_average": {name: _listed(one.minmax) for name, one in self.datasets.items()},
            "z_normalized_average": {name: _listed(one.z) for name, one in self.datasets.items()},
        }
        return made if details is None else {**made, "details": {name: list(of) for name, of in details.items()}}


def summarize(
    details: Iterable[Any] | Mapping[str, Iterable[Any]],
    normalization: Any,
    *,
    metrics: Metrics | None = None,
    partial: bool = False,
) -> Aggregate:
    """The scores of one set from its items, in one pass and flat memory, whatever their order.

    `details` are published details (`{"test_idx", "dataset", "metrics"}`), items of an archive, or values by data set;
    `normalization` the set's statistics in any published form, or None for a set of one data set: then the means of
    its metrics. `metrics` is a metric's name for all data sets or by data set, where it is not clear (see `metric`).
    `partial` scores a set of which data sets are absent by the others. Raises DataError and UnknownName.
    """
    statistics = None if normalization is None else Normalization.from_published(normalization)
    tallies = Tallies(statistics, metrics)
    if isinstance(details, Mapping):
        for dataset, values in details.items():
            for value in values:
                tallies.add_value(str(dataset), number(value))
    else:
        for place, item in numbered(details):
            tallies.add(item, place)
    return tallies.aggregate(partial=partial)


def aggregate_sums(
    sums: Mapping[str, tuple[Sums | None, Sums | None]], expected: Iterable[str] = (), *, partial: bool = False
) -> Overall:
    """The three metrics from each data set's min-max and z sums, as summaries hold them. A data set without them, or
    of those `expected` and not there, is absent."""
    found = {name: pair for name, pair in sums.items() if any(one is not None and one.n for one in pair)}
    absent = [name for name in dict.fromkeys([*expected, *sums]) if name not in found]
    whys: dict[str, dict[str, str]] = {
        "minmax": {name: "it has no min-max sum" for name, (one, _) in found.items() if _lacks(one)},
        "z": {name: "it has no z sum" for name, (_, one) in found.items() if _lacks(one)},
    }
    minmax = {name: one for name, (one, _) in found.items() if one is not None and not _lacks(one)}
    z = {name: one for name, (_, one) in found.items() if one is not None and not _lacks(one)}
    return overall(minmax, z, whys, dict.fromkeys(absent, "there are no sums of it"), partial=partial)


def overall(
    minmax: Mapping[str, Sums],
    z: Mapping[str, Sums],
    whys: Mapping[str, Mapping[str, str]],
    absent: Mapping[str, str],
    *,
    partial: bool = False,
) -> Overall:
    """The published formulas, over the sums of the data sets that have them. `whys` and `absent` say of the others why
    they have none; any such makes a metric None, unless `partial`."""
    why: dict[str, str] = {}
    for name, kind in ((AVERAGE, "minmax"), (WEIGHTED, "minmax"), (Z_SCORE, "z")):
        lacking = {**absent, **whys[kind]}
        if not (minmax if kind == "minmax" else z):
            why[name] = _sentence(lacking) or "there are no items"
        elif lacking and not partial:
            why[name] = _sentence(lacking)
    means = [one.total / one.n if one.total is not None and one.n else one.mean for one in minmax.values()]
    found = {AVERAGE: _over(means, len(means)), WEIGHTED: _ratio(minmax), Z_SCORE: _ratio(z)}
    for name in SUMMARY_METRICS:
        if name not in why and found[name] is None:
            why[name] = "a sum is too large for a number"
    made = {name: None if name in why else found[name] for name in SUMMARY_METRICS}
    return Overall(made[AVERAGE], made[WEIGHTED], made[Z_SCORE], why)


class _Tally:
    """The sums of one data set under one metric."""

    def __init__(self) -> None:
        self.raw, self.minmax, self.z = ExactSum(), ExactSum(), ExactSum()

    def add(self, value: float, statistics: Statistics | None) -> None:
        self.raw.add(value)
        if statistics is not None:
            for into, scaled in ((self.minmax, statistics.minmax(value)), (self.z, statistics.z(value))):
                if scaled is not None:
                    into.add(scaled)


@dataclass
class _Group:
    """What was seen of one data set's items: sums by the metric that was picked for each."""

    items: int = 0
    tallies: dict[str, _Tally] = field(default_factory=dict)
    several: dict[str, None] = field(default_factory=dict)
    failed: int = 0
    named: bool = False
    present: dict[str, None] = field(default_factory=dict)


class Tallies:
    """Items counted one by one: see `summarize`, which is the way to use it."""

    def __init__(self, normalization: Normalization | None, metrics: Metrics | None = None) -> None:
        self._normalization = normalization
        self.picker = Picker(metrics)
        self._groups: dict[str, _Group] = {}
        self._means: dict[str, ExactSum] = {}
        self._items = 0

    def add(self, item: Any, place: str) -> None:
        """Count an item; `place` says which it is. Raises DataError."""
        self.add_read(self.picker.read(item, place), item)

    def add_read(self, read: Read, item: Any) -> None:
        """Count an item that the picker has read."""
        name = group_of(read.dataset)
        group = self._group(name)
        group.failed += read.failed
        group.named |= self.picker.named(read.dataset) is not None
        if read.several:
            group.several.update(dict.fromkeys(read.several))
        if len(group.present) < _PRESENT and read.value is None:
            group.present.update(dict.fromkeys(read.present))
        if read.metric is not None:
            self._count(name, group, read.metric, read.value)
        if self._normalization is None:
            self._count_all(item)

    def add_value(self, dataset: str, value: float | None) -> None:
        """Count a value whose metric is not known."""
        name = group_of(dataset)
        self._count(name, self._group(name), "", value)

    def _group(self, name: str) -> _Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group()
        group.items += 1
        self._items += 1
        return group

    def _count(self, name: str, group: _Group, metric: str, value: float | None) -> None:
        tally = group.tallies.get(metric)
        if tally is None:
            tally = group.tallies[metric] = _Tally()
        if value is not None:
            tally.add(value, None if self._normalization is None else self._normalization.get(name))

    def _count_all(self, item: Any) -> None:
        metrics: Mapping[str, Any] = item["metrics"] if isinstance(item, Mapping) else item.metrics
        failed = judge_failed(metrics)
        for name, given in metrics.items():
            value = number(given)
            if name == JUDGE_ERROR or value is None or (name == JUDGE and failed):
                continue
            self._means.setdefault(str(name), ExactSum()).add(value)

    def aggregate(self, *, partial: bool = False, known: Iterable[str] = ()) -> Aggregate:
        """The scores of what was counted. Raises UnknownName, for a data set unless it is one of those `known`."""
        self.picker.check([*(self._normalization or ()), *known])
        datasets = {name: self._dataset(name, group) for name, group in sorted(self._groups.items())}
        absent = {name: one.why.get("value", "no item has a value") for name, one in datasets.items() if not one.n}
        absent.update(dict.fromkeys((name for name in self._normalization or () if name not in datasets), "no items"))
        whys = {
            kind: {name: one.why[kind] for name, one in datasets.items() if one.n and kind in one.why}
            for kind in ("minmax", "z")
        }
        if self._normalization is None:
            made = Overall(None, None, None, dict.fromkeys(SUMMARY_METRICS, "there are no statistics to normalise by"))
        else:
            minmax = {name: one.minmax for name, one in datasets.items() if not _lacks(one.minmax)}
            z = {name: one.z for name, one in datasets.items() if not _lacks(one.z)}
            made = overall(minmax, z, whys, absent, partial=partial)
        return Aggregate(
            made.average,
            made.weighted_average,
            made.z_score,
            made.why,
            n=sum(one.n for one in datasets.values()),
            missing=sum(one.missing for one in datasets.values()),
            datasets=datasets,
            absent=tuple(absent),
            metrics={
                name: MetricMean(one.mean, one.n, self._items - one.n) for name, one in sorted(self._means.items())
            },
        )

    def _dataset(self, name: str, group: _Group) -> DatasetAggregate:
        chosen = choose(name, group.tallies, group.several, named=group.named)
        tally = group.tallies.get(chosen.metric or "") if chosen.why is None else None
        raw = ExactSum() if tally is None else tally.raw
        why = _whys(name, chosen, group, raw.n, self._normalization)
        if self._normalization is not None and tally is not None and raw.n:
            for kind, scaled in (("minmax", tally.minmax), ("z", tally.z)):
                if scaled.total is None:
                    why.setdefault(kind, "its sum is too large for a number")
        return DatasetAggregate(
            n=raw.n,
            missing=group.items - raw.n,
            mean=raw.mean,
            minmax=_sums(None if tally is None else tally.minmax, raw.n),
            z=_sums(None if tally is None else tally.z, raw.n),
            metric=chosen.metric or None,
            failed=group.failed,
            lowest=raw.lowest if raw.n else None,
            highest=raw.highest if raw.n else None,
            why=why,
        )


def _whys(name: str, chosen: Chosen, group: _Group, n: int, normalization: Normalization | None) -> dict[str, str]:
    """Why a data set has no value, or no normalised one."""
    why: dict[str, str] = {}
    if not n:
        has = ", ".join(map(str, [*group.present][:12]))
        named = f"no item has a value under '{chosen.metric}' (they have: {has})" if group.named and has else None
        why["value"] = chosen.why or named or "no item has a value"
        if group.several or len(group.tallies) > 1:
            why["metric"] = why["value"]
        return why
    if normalization is None:
        return why
    statistics = normalization.get(name)
    if statistics is None:
        why["minmax"] = why["z"] = "there are no statistics of it"
        return why
    for kind, reason in (("minmax", statistics.why_no_minmax), ("z", statistics.why_no_z)):
        if reason is not None:
            why[kind] = reason
    return why


def _sums(of: ExactSum | None, n: int) -> Sums:
    return Sums(None, n, None) if of is None else Sums(of.total, n, of.mean)


def _listed(sums: Sums) -> list[float | int | None]:
    return [sums.total, sums.n, sums.mean]


def _lacks(one: Sums | None) -> bool:
    """Whether there is nothing to aggregate in it."""
    return one is None or not one.n or (one.total is None and one.mean is None)


def _ratio(sums: Mapping[str, Sums]) -> float | None:
    """Σ totals over Σ n; a total that is not there is mean × n."""
    totals = [
        one.total if one.total is not None else one.mean * (one.n or 0) if one.mean is not None else None
        for one in sums.values()
        if one.n
    ]
    return _over(totals, sum(one.n or 0 for one in sums.values()))


def _over(values: Iterable[float | None], n: int) -> float | None:
    """The sum over n; None where any is missing, as n counts that too."""
    given = list(values)
    found = [value for value in given if value is not None]
    whole = total(found) if found and len(found) == len(given) else None
    return whole / n if n and whole is not None else None


def _sentence(lacking: Mapping[str, str]) -> str:
    """The data sets that have no value, those of one reason together."""
    reasons: dict[str, list[str]] = {}
    for name, reason in lacking.items():
        reasons.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
