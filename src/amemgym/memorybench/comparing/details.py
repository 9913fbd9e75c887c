"""The values of a group's items, in little memory.

Details are streamed. Of the memory system that every other in the row is compared with, each item's key and value are
held; of the others, arrays of numbers. Which of an item's metrics is its value is told in `metric` alone.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from amemgym.errors import UnknownName
from amemgym.memorybench.aggregating.metric import Metrics, Picker, choose
from amemgym.memorybench.aggregating.normalization import group_of
from amemgym.memorybench.items import Item
from amemgym.memorybench.summary import ACCURACY, MEMORY_SCORE, RANDOM, UPPER_BOUND
from amemgym.memorybench.values import number


@dataclass(frozen=True)
class Values:
    """A data set's values under one metric. Beside each stand its item's place among the reference's (-1: it has none
    there) and its user (-1: the item says none); of a memory score the values are accuracy − random, and `rooms` upper
    bound − random."""

    metric: str
    places: array[int] = field(default_factory=lambda: array("q"))
    users: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    rooms: array[float] = field(default_factory=lambda: array("d"))

    def add(self, place: int, user: int, value: float, room: float | None = None) -> None:
        self.places.append(place)
        self.users.append(user)
        self.values.append(value)
        if room is not None:
            self.rooms.append(room)


@dataclass(frozen=True)
class Details:
    """A group's values by data set, as aggregated; `why` has the data sets without any. `unknown` is the error where
    the metric or data set that the caller names is none of the group's, which may be another group's."""

    datasets: dict[str, Values]
    why: dict[str, str]
    unknown: UnknownName | None = None


class Places:
    """The items of the memory system that others are compared with, and the users of all, by number in order."""

    def __init__(self) -> None:
        self._items: dict[Hashable, int] = {}
        self._users: dict[str, int] = {}

    def of(self, item: Item, *, is_reference: bool) -> tuple[int, int]:
        """An item's place and user, each -1 where there is none."""
        if item.user is None or item.period is None or item.question is None:
            key: Hashable = (item.key, item.user)
        else:  # trials of one are one
            key = (item.key.dataset, item.user, item.period, item.question)
        place = self._items.setdefault(key, len(self._items)) if is_reference else self._items.get(key, -1)
        return place, -1 if item.user is None else self._users.setdefault(item.user, len(self._users))


def read_details(items: Iterable[Item], metrics: Metrics | None, places: Places, *, is_reference: bool) -> Details:
    """The values of a group's items; the reference's are added to `places`. Raises DataError."""
    picker = Picker(metrics)
    found: dict[str, dict[str, Values]] = {}
    several: dict[str, set[str]] = {}
    named: set[str] = set()
    for item in items:
        at = places.of(item, is_reference=is_reference)
        read = picker.read(item, str(item.key))
        group = group_of(read.dataset)
        by_metric = found.setdefault(group, {})
        several.setdefault(group, set()).update(read.several)
        if picker.named(read.dataset) is not None:
            named.add(group)
        if read.metric is None:
            continue
        values = by_metric.setdefault(read.metric, Values(read.metric))
        if read.value is not None:
            values.add(*at, read.value)
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


def read_rooms(items: Iterable[Item], places: Places, *, is_reference: bool) -> Details:
    """What a group's items gained over random and what was possible, of those that have accuracy, random and upper
    bound. Raises DataError."""
    found: dict[str, Values] = {}
    for item in items:
        at = places.of(item, is_reference=is_reference)
        values = found.setdefault(group_of(item.key.dataset), Values(MEMORY_SCORE))
        right, random, bound = (number(item.metrics.get(name)) for name in (ACCURACY, RANDOM, UPPER_BOUND))
        if right is not None and random is not None and bound is not None:
            values.add(*at, right - random, bound - random)
    lacking = f"no item has {ACCURACY}, {RANDOM} and {UPPER_BOUND}"
    return Details(
        {name: of for name, of in found.items() if of.values},
        {name: lacking for name, of in found.items() if not of.values},
    )


def count_values(items: Iterable[Item], metrics: Metrics | None) -> Counter[str]:
    """How many items of each data set have a value."""
    picker = Picker(metrics)
    counts: Counter[str] = Counter()
    for item in items:
        read = picker.read(item, str(item.key))
        counts[group_of(read.dataset)] += read.value is not None
    return counts


def count_rooms(items: Iterable[Item]) -> int:
    """How many items have what a memory score is of."""
    names = (ACCURACY, RANDOM, UPPER_BOUND)
    return sum(all(number(item.metrics.get(name)) is not None for name in names) for item in items)
