"""A summary's numbers from its items, by the published formulas or with known deviations from them.

A deviation is what somebody's code may have done differently (null counted as 0, values clipped, …). Whether it was
done is found out by doing it: `numbers` with that `Way` must give the number that was published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from amemgym.memorybench.aggregating.aggregate import Overall, overall
from amemgym.memorybench.aggregating.normalization import Normalization, Statistics, group_of
from amemgym.memorybench.summary import AVERAGE, SUMMARY_METRICS, WEIGHTED, Sums
from amemgym.memorybench.values import number, total


class Key(NamedTuple):
    """Which number: a metric of the set (`dataset` None), or one of a data set's numbers."""

    metric: str
    dataset: str | None = None


Numbers = dict[Key, float | None]
MEAN = "mean"
#: what a data set's sums are called: by the field of a summary and the part of it
_PARTS = ("sum", "n", "mean")

#: why an item has no plain value
NUMPY, NULL, JUDGED = "numpy", "null", "judge"
#: which of the items with one key count
FIRST, LAST, EACH = "first", "last", "each"


#: a published n further above the items than this is no count of items
MOST_FILLED = 100_000


@dataclass(frozen=True)
class Record:
    """One item as its file has it. `kind` is "" of a plain value, NUMPY of a numpy number written as text, NULL of
    none, JUDGED of one whose judge failed. Of the items with one key it may be the `first`, the `last`, or both;
    without a key (`keyed`) it is neither.
    """

    dataset: str
    value: float | None
    kind: str = ""
    first: bool = True
    last: bool = True
    keyed: bool = True


@dataclass(frozen=True)
class Way:
    """How to aggregate. The default is the published formulas over each item once, what is missing left out."""

    zeros: frozenset[str] = frozenset()
    repeats: str = FIRST
    unkeyed: bool = False
    partial: bool = False
    flat_as_zero: bool = False
    clipped: bool = False
    ungrouped: bool = False
    unscaled: bool = False
    swapped: bool = False
    filled: bool = False
    statistics: str = ""
    values: str = ""


DEFAULT = Way()


@dataclass(frozen=True)
class Case:
    """What a cell is recomputed from. `alternatives` are other statistics by name, `published` the n of each data set
    as published, `replaced` other values by the name of a replacement and data set."""

    records: Sequence[Record]
    normalization: Normalization | None
    alternatives: Mapping[str, Normalization] = field(default_factory=dict)
    published: Mapping[str, int] = field(default_factory=dict)
    replaced: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def groups(self, *, ungrouped: bool = False) -> dict[str, list[Record]]:
        """The records by the data set that they are aggregated under."""
        found: dict[str, list[Record]] = {}
        for record in self.records:
            found.setdefault(record.dataset if ungrouped else group_of(record.dataset), []).append(record)
        return found

    def values(self, way: Way = DEFAULT) -> dict[str, list[float]]:
        """The values by data set that the way counts."""
        found = {name: _counted(records, way) for name, records in self.groups(ungrouped=way.ungrouped).items()}
        found.update({name: list(of) for name, of in self.replaced.get(way.values, {}).items()})
        if way.filled:
            for name, values in found.items():
                lacking = self.published.get(name, 0) - len(values)
                values += [0.0] * (lacking if lacking <= MOST_FILLED else 0)
        return found


def numbers(case: Case, way: Way = DEFAULT) -> Numbers:
    """Every number of the summary, None where the way gives none."""
    values = case.values(way)
    found: Numbers = {}
    sums: dict[str, dict[str, Sums]] = {"minmax": {}, "z": {}}
    whys: dict[str, dict[str, str]] = {"minmax": {}, "z": {}}
    absent = {name: "" for name, of in values.items() if not of}
    if case.normalization is not None and not way.ungrouped:
        absent.update(dict.fromkeys((name for name in case.normalization if name not in values), ""))
    for name, of in values.items():
        found[Key(MEAN, name)] = _mean(of)
        for kind, scale in _scales(case, way, name).items():
            if not of:
                continue
            if scale is None:
                whys[kind][name] = ""
            else:
                scaled = [scale(value) for value in of]
                sums[kind][name] = Sums(total(scaled), len(scaled), _mean(scaled))
                found.update(of_sums(kind, name, sums[kind][name]))
    made = overall(sums["minmax"], sums["z"], whys, absent, partial=way.partial)
    return found | of_overall(made, {kind: [*of.values()] for kind, of in sums.items()}, swapped=way.swapped)


def sum_numbers(sums: Mapping[str, tuple[Sums | None, Sums | None]], expected: Iterable[str], way: Way) -> Numbers:
    """The set's metrics from each data set's sums as published, and each sum's mean."""
    found: Numbers = {}
    kept: dict[str, dict[str, Sums]] = {"minmax": {}, "z": {}}
    for name, pair in sums.items():
        for kind, one in zip(kept, pair, strict=True):
            if one is not None and one.n and one.total is not None:
                kept[kind][name] = Sums(one.total, one.n, one.total / one.n)
                found[Key(f"{kind} mean", name)] = one.total / one.n
    absent = {name: "" for name in (*sums, *expected) if name not in kept["minmax"] and name not in kept["z"]}
    lacking = {kind: {n: "" for n in sums if n not in of and n not in absent} for kind, of in kept.items()}
    made = overall(kept["minmax"], kept["z"], lacking, absent, partial=way.partial)
    return found | of_overall(made, {kind: [*of.values()] for kind, of in kept.items()}, swapped=way.swapped)


def of_overall(made: Overall, sums: Mapping[str, Sequence[Sums]], *, swapped: bool = False) -> Numbers:
    """The three metrics; swapped, each mean over data sets is one over items, and the other way round."""
    found: Numbers = {Key(name): value for name, value in made.as_dict().items()}
    if swapped:
        z = [one.mean for one in sums["z"] if one.mean is not None]
        mean_of_means = _mean(z) if "z_score" not in made.why else None
        found = {
            Key(AVERAGE): made.weighted_average,
            Key(WEIGHTED): made.average,
            Key(SUMMARY_METRICS[2]): mean_of_means,
        }
    return found


def of_sums(kind: str, name: str, sums: Sums | None) -> Numbers:
    """A data set's sum, n and mean, those that are there."""
    if sums is None:
        return {}
    return {Key(f"{kind} {part}", name): value for part, value in zip(_PARTS, _triple(sums), strict=True)}


def _triple(sums: Sums) -> tuple[float | None, float | None, float | None]:
    return sums.total, sums.n, sums.mean


def _counted(records: Iterable[Record], way: Way) -> list[float]:
    found = []
    for record in records:
        if not _counts(record, way):
            continue
        if record.kind in way.zeros:
            found.append(0.0)
        elif record.value is not None:
            found.append(record.value)
    return found


def _counts(record: Record, way: Way) -> bool:
    if not record.keyed:
        return way.unkeyed
    return record.first if way.repeats == FIRST else record.last if way.repeats == LAST else True


def _scales(case: Case, way: Way, name: str) -> dict[str, Callable[[float], float] | None]:
    """How the data set's values are normalised, by kind; None where its statistics do not allow it."""
    if way.unscaled:
        return {"minmax": float, "z": float}
    found = _statistics(case, way, name)
    if found is None:
        return {"minmax": None, "z": None}
    scales: dict[str, Callable[[float], float] | None] = {
        "minmax": None if found.why_no_minmax else lambda value: _sure(found.minmax(value)),
        "z": None if found.why_no_z else lambda value: _sure(found.z(value)),
    }
    if way.flat_as_zero:
        # the original takes a spread of at most 1e-6 for none
        flat = {"minmax": found.high <= found.low, "z": found.sigma is None or found.sigma <= 1e-6}
        scales = {kind: (lambda value: 0.0) if flat[kind] else scale for kind, scale in scales.items()}
    if way.clipped and (minmax := scales["minmax"]) is not None:
        scales["minmax"] = lambda value: min(max(minmax(value), 0.0), 1.0)
    return scales


def _statistics(case: Case, way: Way, name: str) -> Statistics | None:
    found = case.alternatives[way.statistics] if way.statistics else case.normalization
    return None if found is None else found.get(group_of(name))


def _sure(value: float | None) -> float:
    """What is no missing value, as the statistics allow one."""
    assert value is not None
    return value


def _mean(values: Sequence[float]) -> float | None:
    whole = total(values)
    return whole / len(values) if values and whole is not None else None


def kind_of(value: Any) -> str:
    """What is odd about a value as it stands in a file."""
    if number(value) is None:
        return NULL
    return NUMPY if isinstance(value, str) and value.strip().startswith(("np.", "numpy.")) else ""
