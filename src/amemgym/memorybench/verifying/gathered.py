"""A group's items in one pass: their aggregate, and enough of each to try causes on it afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from amemgym.errors import DataError
from amemgym.memorybench.aggregating.aggregate import Aggregate, Tallies
from amemgym.memorybench.aggregating.metric import Metrics, judge_failed, parts
from amemgym.memorybench.aggregating.normalization import Normalization, group_of
from amemgym.memorybench.items import Item, ItemKey, key_of
from amemgym.memorybench.summary import ACCURACY, JUDGE, RANDOM, UPPER_BOUND
from amemgym.memorybench.values import number
from amemgym.memorybench.verifying.recompute import JUDGED, NULL, Record, kind_of


class Bounded(NamedTuple):
    """Accuracy − random and upper bound − random of an item; its user and period, None where it does not say."""

    user: str | None
    period: int | None
    gained: float
    possible: float

    @classmethod
    def of(cls, record: Any, metrics: Mapping[str, Any]) -> Iterator[Bounded]:
        """None, or the one."""
        right, random, bound = (number(metrics.get(name)) for name in (ACCURACY, RANDOM, UPPER_BOUND))
        if right is not None and random is not None and bound is not None:
            item = Item.of(ItemKey("", 0), record if isinstance(record, Mapping) else {})
            yield cls(item.user, item.period, right - random, bound - random)


@dataclass
class Items:
    """What one pass over a group's items gave: the aggregate, and enough of each item to try causes on it."""

    aggregate: Aggregate
    kept: list[tuple[ItemKey | None, str, str | None, float | None, str]] = field(default_factory=list)
    every: list[tuple[ItemKey | None, Mapping[str, Any]]] = field(default_factory=list)
    unreadable: int = 0
    fault: str = ""
    datasets: set[str] = field(default_factory=set)
    #: of a set of one data set, the items that have what a memory score is of
    bounded: list[Bounded] = field(default_factory=list)

    def keys(self) -> set[ItemKey]:
        """The items that have a key."""
        kept = {row[0] for row in self.kept if row[0] is not None}
        return kept | {key for key, _ in self.every if key is not None}

    def scored(self) -> Iterator[tuple[ItemKey, float]]:
        """The items that have a key and a value, with it; of a set of one data set, the first of their metrics."""
        yield from ((key, value) for key, _, _, value, _ in self.kept if key is not None and value is not None)
        for key, metrics in self.every:
            value = next((found for one in metrics.values() if (found := number(one)) is not None), None)
            if key is not None and value is not None:
                yield key, value

    def records(self) -> list[Record]:
        """Every item under its data set's metric."""
        chosen = {name: one.metric for name, one in self.aggregate.datasets.items()}
        rows: list[tuple[Any, Record]] = []
        for key, dataset, metric, value, kind in self.kept:
            is_of = metric is not None and metric == chosen[group_of(dataset)]
            rows.append((key, Record(dataset, value if is_of else None, kind if is_of or kind == JUDGED else NULL)))
        return _marked(rows)

    def by_metric(self, names: Iterable[str]) -> list[Record]:
        """Every item under each of the metrics, which stands for the data set."""
        rows: list[tuple[Any, Record]] = []
        for name in names:
            for key, metrics in self.every:
                failed = name == JUDGE and judge_failed(metrics)
                value = None if failed else number(metrics.get(name))
                place = None if key is None else (name, key)
                rows.append((place, Record(name, value, JUDGED if failed else kind_of(metrics.get(name)))))
        return _marked(rows)


def _marked(rows: list[tuple[Any, Record]]) -> list[Record]:
    """The records with which is the first and the last of its key, and which has none."""
    last = {key: at for at, (key, _) in enumerate(rows)}
    seen: set[Any] = set()
    made = []
    for at, (key, record) in enumerate(rows):
        is_keyed = key is not None
        first, is_last = is_keyed and key not in seen, is_keyed and last[key] == at
        made.append(Record(record.dataset, record.value, record.kind, first, is_last, is_keyed))
        seen.add(key)
    return made


def read_items(
    records: Iterable[Any], metrics: Metrics | None, normalization: Normalization | None, *, single: str | None = None
) -> Items:
    """One pass over a group's items; each counts once, the first of its key (`items.key_of`), and none without a key.
    `single` is the one data set's name."""
    tallies = Tallies(None if single is not None else normalization, metrics)
    items = Items(tallies.aggregate())
    seen: set[ItemKey] = set()
    for at, record in enumerate(records):
        place = f"element {at} of evaluate_details.json"
        if single is not None and isinstance(record, Mapping) and not record.get("dataset"):
            record = {**record, "dataset": single}
        try:
            dataset, values = parts(record, place)
        except DataError as error:
            items.unreadable += 1
            items.fault = items.fault or str(error)
            continue
        read = tallies.picker.read(record, place)
        items.datasets.add(dataset)
        key = key_of(record) if isinstance(record, Mapping) else record.key
        if key is not None and key not in seen:
            seen.add(key)
            tallies.add_read(read, record)
            if single is not None:
                items.bounded += Bounded.of(record, values)
        if single is not None:
            items.every.append((key, values))
            continue
        kind = JUDGED if read.failed else kind_of(values.get(read.metric)) if read.metric else NULL
        items.kept.append((key, dataset, read.metric, read.value, kind))
    # whether a data set that the caller named is anywhere is for whoever reads every cell
    items.aggregate = tallies.aggregate(known=metrics if isinstance(metrics, Mapping) else ())
    return items
