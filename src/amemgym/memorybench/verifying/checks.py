"""One cell's summary recomputed: from the values and sums it holds itself, and from the group's items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from amemgym.memorybench.aggregating.aggregate import Aggregate, aggregate_sums
from amemgym.memorybench.aggregating.metric import Metrics
from amemgym.memorybench.aggregating.normalization import Normalization, group_of
from amemgym.memorybench.summary import (
    ACCURACY,
    JUDGE,
    MEAN_OF_RATIOS,
    MEMORY_SCORE,
    RANDOM,
    SUMMARY_METRICS,
    UPPER_BOUND,
    DatasetSummary,
    Summary,
)
from amemgym.memorybench.values import count, mapping, number
from amemgym.memorybench.verifying import causes, recompute
from amemgym.memorybench.verifying.causes import Deviation, items_
from amemgym.memorybench.verifying.gathered import Items
from amemgym.memorybench.verifying.recompute import MEAN, NULL, Case, Key, Numbers, Record, Way
from amemgym.memorybench.verifying.verification import ITEMS, OWN_SUMS, OWN_VALUES, CellFindings

#: the statistics of other sets that are tried as a cause, at most
_ALTERNATIVES = 12


@dataclass(frozen=True)
class Means:
    """How cells are checked: which metrics, by which statistics, and which others somebody may have normalised by."""

    metrics: Metrics | None
    normalization: Normalization | None
    others: Mapping[str, Normalization] = field(default_factory=dict)

    def alternatives(self, datasets: Iterable[str]) -> dict[str, Normalization]:
        """Other statistics that have one of these data sets, and other numbers for it."""
        own: Mapping[str, Any] = self.normalization or {}
        found: dict[str, Normalization] = {}
        for name, other in self.others.items():
            if any(dataset in other and other[dataset] != own.get(dataset) for dataset in datasets):
                found[name] = other
        return dict([*found.items()][:_ALTERNATIVES])


def published_numbers(summary: Summary) -> Numbers:
    """Every number that a summary over data sets holds."""
    found: Numbers = {Key(name): summary.scores[name] for name in SUMMARY_METRICS if name in summary.scores}
    for name, dataset in summary.datasets.items():
        found[Key(MEAN, name)] = dataset.mean
        for kind, sums in (("minmax", dataset.minmax), ("z", dataset.z)):
            found |= recompute.of_sums(kind, name, sums)
    return found


def check_sums(
    findings: CellFindings, summary: Summary, normalization: Normalization | None, *, implied: bool = False
) -> None:
    """The set's metrics from the data sets' sums, and each sum's mean; where nothing else tells of the data sets'
    means, also those that are `implied` by the sums."""
    sums = {name: (one.minmax, one.z) for name, one in summary.datasets.items()}
    if not any(one is not None and one.total is not None for pair in sums.values() for one in pair):
        return
    groups = set(map(group_of, sums))
    expected = [name for name in normalization or () if name not in groups]
    incomplete = bool(aggregate_sums(sums, expected).why)

    def compute(way: Way) -> Numbers:
        return recompute.sum_numbers(sums, expected, way) | (_implied(summary, normalization) if implied else {})

    absent = [name for name in dict.fromkeys([*sums, *expected]) if not any(sums.get(name, (None, None)))]
    findings.compare(
        OWN_SUMS,
        published_numbers(summary),
        compute(Way()),
        lambda key: f"the set is not complete, {', '.join(absent) or 'a data set'} has no sum",
        lambda: (compute, causes.of_sums(incomplete=incomplete)),
    )


def _implied(summary: Summary, normalization: Normalization | None) -> Numbers:
    """The data sets' means from their normalised sums, which are affine in them."""
    found: Numbers = {}
    for name, one in summary.datasets.items():
        statistics = None if normalization is None else normalization.get(group_of(name))
        if statistics is None or one.minmax is None or not one.minmax.n or one.minmax.total is None:
            continue
        if statistics.why_no_minmax is None:
            width = statistics.high - statistics.low
            found[Key(MEAN, name)] = number(one.minmax.total / one.minmax.n * width + statistics.low)
    return found


def check_values(findings: CellFindings, summary: Summary, means: Means) -> None:
    """The data sets' numbers from the values that the summary says it is of."""
    if summary.details is None:
        return
    records = [
        Record(dataset, value, NULL if value is None else "")
        for dataset, values in summary.details.items()
        for value in values
    ]
    case = _case(records, summary, means)
    ours = recompute.numbers(case)
    if any(group_of(name) != name for name in summary.datasets):
        apart = recompute.numbers(case, Way(ungrouped=True))
        ours |= {key: value for key, value in apart.items() if key.dataset in summary.datasets}
    if means.normalization is None:
        ours = {key: value for key, value in ours.items() if key.metric == MEAN}
        ours |= {Key(f"{kind} n", name): len(of) for name, of in case.values().items() for kind in ("minmax", "z")}
    ours = {key: value for key, value in ours.items() if key.dataset is not None}
    findings.compare(
        OWN_VALUES,
        published_numbers(summary),
        {key: value for key, value in ours.items() if value is not None},
        lambda key: "no value",
        lambda: (lambda way: recompute.numbers(case, way), causes.of_case(case, _means(summary), {})),
    )


def check_items(
    findings: CellFindings, summary: Summary, items: Items, means: Means, again: Callable[[], Items]
) -> None:
    """The summary of a set from its items. `again` reads them once more with those that repeat a key, for causes."""
    published, aggregate = published_numbers(summary), items.aggregate
    ours = _numbers_of(aggregate)
    undecided = {name: one.why["metric"] for name, one in aggregate.datasets.items() if "metric" in one.why}
    for name, one in summary.datasets.items():
        if _has_number(one) and not any(group_of(name) == group_of(other) for other in aggregate.datasets):
            undecided[name] = "evaluate_details.json has no items of it"
    for name, why in undecided.items():
        findings.unchecked(f"data set {name}: {why}")
    for name, score in summary.scores.items():
        if score is not None and name not in SUMMARY_METRICS:
            findings.unchecked(f"metric {name}: no formula for it over data sets is known")
    if means.normalization is None:
        findings.unchecked("normalised values: there are no statistics (give the file of them)")
        ours = {key: value for key, value in ours.items() if key.metric == MEAN or key.metric.endswith(" n")}
    else:
        unknown = [name for name, one in aggregate.datasets.items() if one.n and name not in means.normalization]
        if unknown:
            findings.unchecked(f"normalised values: there are no statistics of {', '.join(unknown)}")
            ours = {key: value for key, value in ours.items() if value is not None or key.dataset not in unknown}
        if unknown or undecided:
            metrics = [key.metric for key, value in published.items() if key.dataset is None and value is not None]
            if metrics and any(ours[Key(name)] is None for name in metrics):
                findings.unchecked(f"{', '.join(metrics)}: {', '.join([*undecided, *unknown])} cannot be recomputed")
            ours = {key: value for key, value in ours.items() if value is not None or key.dataset is not None}
    ours = {key: value for key, value in ours.items() if key.dataset not in undecided}
    records: list[Record] = []

    def case() -> Case:
        records[:] = records or again().records()
        return _case(records, summary, means)

    if any(group_of(name) != name for name in summary.datasets):
        apart = recompute.numbers(case(), Way(ungrouped=True))
        ours |= {key: value for key, value in apart.items() if key.dataset in summary.datasets}

    def hypotheses() -> tuple[Callable[[Way], Numbers], list[Deviation]]:
        made = case()
        found = causes.of_case(made, _means(summary), summary.details or {})
        omitted = [name for name in aggregate.datasets if name not in summary.datasets]
        if omitted and summary.datasets:
            found.append(causes.omitted(made, omitted))
        return lambda way: recompute.numbers(made, way), found

    findings.compare(ITEMS, published, ours, lambda key: _reason(key, aggregate), hypotheses)


def check_single(findings: CellFindings, summary: Summary, items: Items, again: Callable[[], Items]) -> None:
    """The means of the metrics of a set of one data set from its items, and the memory score."""
    names = [name for name, value in summary.scores.items() if value is not None]
    known = items.aggregate.metrics
    scores, whys = memory_scores(summary.scores, known, items)
    ours: Numbers = {Key(MEAN, name): value for name, value in scores.items()}
    for name in names:
        if name in scores:
            continue
        if name in known:
            ours[Key(MEAN, name)] = known[name].mean
        elif (made := harmonic(name, known)) is not None:
            ours[Key(MEAN, name)] = made
        elif any(name in metrics for _, metrics in items.every):
            ours[Key(MEAN, name)] = None
        else:
            findings.unchecked(f"metric {name}: {whys.get(name, 'no item has a value of it')}")

    def hypotheses() -> tuple[Callable[[Way], Numbers], list[Deviation]]:
        case = Case(again().by_metric([name for name in names if name not in scores]), None)
        whole = {Key(MEAN, name): value for name, value in scores.items()}

        def compute(way: Way) -> Numbers:
            return {key: value for key, value in recompute.numbers(case, way).items() if key.metric == MEAN} | whole

        return compute, causes.of_case(case, {}, {})

    def why(key: Key) -> str:
        return whys.get(str(key.dataset), "no item has a value of it")

    published: Numbers = {Key(MEAN, name): value for name, value in summary.scores.items()}
    findings.compare(ITEMS, published, ours, why, hypotheses, single=True)


def memory_scores(
    published: Iterable[str], known: Mapping[str, Any], items: Items
) -> tuple[dict[str, float | None], dict[str, str]]:
    """The memory scores that are published and no metric of the items, as far as items tell; and why one is None or not
    told. They are None where they are undefined."""
    wanted = [name for name in (MEMORY_SCORE, MEAN_OF_RATIOS) if name in published and name not in known]
    if not wanted or not items.bounded:
        lacking = f"no item has {ACCURACY}, {RANDOM} and {UPPER_BOUND}"
        # no upper bound was measured: undefined, and null
        is_none = all(name in known for name in (ACCURACY, RANDOM))
        return (dict.fromkeys(wanted) if is_none else {}), dict.fromkeys(wanted, lacking)
    import numpy as np

    from amemgym.scores.metrics import memory_score_of  # takes its time, so only where it is wanted

    users = {user: at for at, user in enumerate(dict.fromkeys(item.user for item in items.bounded))}
    columns = ((users[one.user], one.period or 0, one.gained, one.possible) for one in items.bounded)
    user, period, gained, possible = map(np.array, zip(*columns, strict=True))
    made = memory_score_of(user, period, gained, possible)
    found = {MEMORY_SCORE: made.ratio_of_means, MEAN_OF_RATIOS: made.mean_of_ratios}
    whys = dict.fromkeys(wanted, made.why_undefined or "")
    if any(one.user is None or one.period is None for one in items.bounded):
        del found[MEAN_OF_RATIOS]
        whys[MEAN_OF_RATIOS] = "its items do not say their user and period"
    return {name: found[name] for name in wanted if name in found}, whys


def harmonic(name: str, means: Mapping[str, Any]) -> float | None:
    """An f1 that no item has, of a data set's mean precision and mean recall; None where it is another metric."""
    if not name.endswith("_f1"):
        return None
    pair = [means.get(name.removesuffix("f1") + part) for part in ("recall", "precision")]
    recall, precision = (None if one is None else one.mean for one in pair)
    if recall is None or precision is None or recall + precision <= 0:
        return None
    return float(2 * recall * precision / (recall + precision))


def warn_of_items(findings: CellFindings, items: Items, means: Means) -> None:
    """What is odd about a cell's items, whether or not its numbers come out."""
    aggregate = items.aggregate
    if items.unreadable:
        findings.warn(f"{items_(items.unreadable)} left out that cannot be read ({items.fault})")
    failed = sum(one.failed for one in aggregate.datasets.values())
    if failed:
        findings.warn(f"{items_(failed)} without a score since the judge failed")
    lacking = {name: one.missing - one.failed for name, one in aggregate.datasets.items() if one.n}
    if missing := sum(lacking.values()):
        where = ", ".join(name for name, n in lacking.items() if n)
        findings.warn(f"{items_(missing)} without a value (null, NaN or no such metric), left out: {where}")
    for name, one in aggregate.datasets.items():
        statistics = None if means.normalization is None else means.normalization.get(name)
        if statistics is None or one.lowest is None or one.highest is None:
            continue
        is_outside = one.highest < statistics.low or one.lowest > statistics.high
        if is_outside or (one.metric == JUDGE and one.highest <= 1 < statistics.high):
            findings.warn(
                f"data set {name}: its values ({one.lowest:g} to {one.highest:g}) are normalised by statistics of"
                f" another scale ({statistics.low:g} to {statistics.high:g})"
            )


def warn_of_cases(findings: CellFindings, summary: Summary, items: Items) -> None:
    """Where `case_statistics` (of the set, or of each data set) count other cases than there are items."""
    datasets = items.aggregate.datasets
    for name, given in {"": summary.cases, **mapping(summary.cases)}.items():
        counted = [one for dataset, one in datasets.items() if name in ("", dataset)]
        total, failed = (count(mapping(given).get(key)) for key in ("total", "failed"))
        if total is None or not counted:
            continue
        n, missing = sum(one.n for one in counted), sum(one.missing for one in counted)
        is_open = any("metric" in one.why for one in counted)  # nobody knows which of these items have a value
        if total == n + missing and (failed in (None, missing) or is_open):
            continue
        of = f" of data set {name}" if name else ""
        lost = "" if failed is None else f", {failed} failed"
        findings.warn(
            f"case_statistics{of}: {total} in total{lost}, where evaluate_details.json has {items_(n + missing)},"
            f" {missing} without a value"
        )


def _numbers_of(aggregate: Aggregate) -> Numbers:
    found: Numbers = {Key(name): getattr(aggregate, name) for name in SUMMARY_METRICS}
    for name, one in aggregate.datasets.items():
        found[Key(MEAN, name)] = one.mean
        for kind, sums in (("minmax", one.minmax), ("z", one.z)):
            found |= recompute.of_sums(kind, name, sums)
    return found


def _reason(key: Key, aggregate: Aggregate) -> str:
    if key.dataset is None:
        return aggregate.why.get(key.metric, "")
    why = aggregate.datasets[key.dataset].why
    return why.get("value") or why.get(key.metric.partition(" ")[0]) or "no value"


def _has_number(dataset: DatasetSummary | None) -> bool:
    return dataset is not None and (dataset.mean is not None or dataset.minmax is not None)


def _case(records: list[Record], summary: Summary, means: Means) -> Case:
    ns = {name: one.minmax.n for name, one in summary.datasets.items() if one.minmax is not None and one.minmax.n}
    datasets = {group_of(record.dataset) for record in records}
    return Case(records, means.normalization, means.alternatives(datasets), ns)


def _means(summary: Summary) -> dict[str, float]:
    return {name: one.mean for name, one in summary.datasets.items() if one.mean is not None}
