"""One test item of a group: what a memory system answered to it, and how that was judged.

An item is known by its data set and its number there; neither alone is unique in a set. The two files of a group are
joined by that key, each read once and neither held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from amemgym.memorybench.problems import Problems


class ItemKey(NamedTuple):
    """What an item is known by; `test_idx` as it stands in the files, usually a whole number."""

    dataset: str
    test_idx: int | str

    def __str__(self) -> str:
        return f"{self.dataset} {self.test_idx}"


@dataclass(frozen=True)
class Item:
    """A line of evaluate_details.json; `metrics` as they stand in the file (NaN as None). `user`, `period` and
    `question` are of one of our runs, None where the line has none; its trials are items of the same three."""

    key: ItemKey
    metrics: Mapping[str, Any]
    user: str | None = None
    period: int | None = None
    question: int | None = None

    @classmethod
    def of(cls, key: ItemKey, record: Mapping[str, Any]) -> Item:
        metrics = record.get("metrics")
        user, period, question = (record.get(name) for name in ("user", "period", "question"))
        return cls(
            key,
            metrics if isinstance(metrics, dict) else {},
            str(user) if isinstance(user, str | int) and not isinstance(user, bool) and user != "" else None,
            period if type(period) is int else None,
            question if type(question) is int else None,
        )


@dataclass(frozen=True)
class Joined:
    """An item's line of predict.json and that of evaluate_details.json; None where that file has none for it."""

    key: ItemKey
    predict: Mapping[str, Any] | None
    details: Mapping[str, Any] | None


def key_of(record: Mapping[str, Any], only_dataset: str | None = None) -> ItemKey | None:
    """The item a record is of; None where it does not say. `only_dataset` is that of a group that has but one."""
    dataset, index = record.get("dataset") or only_dataset, record.get("test_idx")
    if isinstance(index, float) and index.is_integer():
        index = int(index)
    if not isinstance(dataset, str) or not dataset or isinstance(index, bool) or not isinstance(index, int | str):
        return None
    return ItemKey(dataset, index)


def keyed(
    records: Iterable[Any], place: str, problems: Problems, only_dataset: str | None = None
) -> Iterator[tuple[ItemKey, dict[str, Any]]]:
    """The records with their keys, each key once. What is no object, has no key or repeats one is left out and told."""
    seen: dict[str, set[int | str]] = {}  # smaller than a set of keys
    faults: dict[str, list[str]] = {}
    try:
        for number, record in enumerate(records):
            key = key_of(record, only_dataset) if isinstance(record, dict) else None
            if key is None:
                fault = "are no objects with a 'dataset' and a 'test_idx'"
                faults.setdefault(fault, []).append(f"element {number}")
            elif key.test_idx in seen.setdefault(key.dataset, set()):
                faults.setdefault("have the dataset and test_idx of an earlier one", []).append(str(key))
            else:
                seen[key.dataset].add(key.test_idx)
                yield key, record
    except GeneratorExit:  # not read to its end, so how many there are is not known
        faults.clear()
        raise
    finally:
        for fault, found in faults.items():
            problems.tell(place, f"left out {len(found)} of its elements, which {fault} (the first: {found[0]})")


def joined(
    predicts: Iterable[tuple[ItemKey, dict[str, Any]]],
    details: Iterable[tuple[ItemKey, dict[str, Any]]],
    tell: Callable[[int], None],
) -> Iterator[Joined]:
    """Every item of either, as soon as both files have told of it; those that only one has come last.

    Both are read side by side, so that of files in the same order nothing is held. `tell` is given how many pairs are
    none only since one file has numbers as text ("0" is not 0), if any.
    """
    waiting: tuple[dict[ItemKey, dict[str, Any]], dict[ItemKey, dict[str, Any]]] = ({}, {})
    for pair in zip_longest(predicts, details):
        for side, found in enumerate(pair):
            if found is None:
                continue
            key, record = found
            other = waiting[1 - side].pop(key, None)
            if other is None:
                waiting[side][key] = record
            else:
                yield Joined(key, record, other) if side == 0 else Joined(key, other, record)
    texts = {(key.dataset, str(key.test_idx)) for key in waiting[1]}
    if alike := sum((key.dataset, str(key.test_idx)) in texts for key in waiting[0]):
        tell(alike)
    yield from (Joined(key, record, None) for key, record in waiting[0].items())
    yield from (Joined(key, None, record) for key, record in waiting[1].items())
