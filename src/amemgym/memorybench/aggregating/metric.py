"""One number an item: which of an item's metrics is its value, in one place.

In this order: what the caller names; `llm_judge_score` where the data set's items have it; the one metric that the
benchmark takes for the data set; the only number an item has. Several numbers and no choice are no value: for some data
sets the original had a language model merge them into a number that stands only in summaries, not in the items.
A value that is null, NaN or absent is missing, and so is the 0 beside `judge_error`: it is an error's, not the reply's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from amemgym.errors import DataError, UnknownName
from amemgym.memorybench.aggregating.normalization import group_of
from amemgym.memorybench.items import key_of
from amemgym.memorybench.summary import JUDGE
from amemgym.memorybench.values import number

#: beside a judge's score: that it is none
JUDGE_ERROR = "judge_error"
#: a name for all data sets, or names by data set
Metrics = str | Mapping[str, str]
#: families of data sets whose items have one metric that counts
_KNOWN = {
    "DialSim": "accuracy",
    "HelloBench": "avg_score",
    "LexEval": "rougel",
    "Locomo": "f1",
    "NFCats": "score",
    "WritingBench": "score",
    "WritingPrompts": "meteor",
}
#: of how many metrics' names a message tells
_SHOWN = 12


def known_metric(dataset: str) -> str | None:
    """The one metric that the benchmark takes for the data set, None where it has several or is not known."""
    return _KNOWN.get(dataset.partition("-")[0])


def judge_failed(metrics: Mapping[str, Any]) -> bool:
    """Whether an item's metrics say that the judge failed: by anything but null, false, 0 or an empty text."""
    given = metrics.get(JUDGE_ERROR)
    if isinstance(given, str):
        return given.strip().lower() not in ("", "none", "null") and number(given) != 0
    return bool(given)


class Read(NamedTuple):
    """What one item has: its data set, and its value under the metric that was picked for it.

    `metric` is None where none could be picked; then `several` has the names between which there is no choice, if any.
    `failed` is that the judge failed; `present` are the metrics' names, for messages.
    """

    dataset: str
    metric: str | None
    value: float | None
    several: tuple[str, ...] = ()
    failed: bool = False
    present: tuple[str, ...] = ()


class Picker:
    """Reads items by a choice of metrics. Raises UnknownName (when asked to `check`) where a choice fits nothing."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        self._metrics = metrics
        self._datasets: set[str] = set()
        self._present: dict[str, None] = {}
        self._found = metrics is None

    def named(self, dataset: str) -> str | None:
        """The metric that the caller names for the data set, by its own name or the one it is aggregated under."""
        if self._metrics is None or isinstance(self._metrics, str):
            return self._metrics
        return self._metrics.get(dataset, self._metrics.get(group_of(dataset)))

    def read(self, item: Any, place: str) -> Read:
        """What an item has: a published detail (a mapping with `dataset` and `metrics`), or one with a `key`."""
        dataset, metrics = parts(item, place)
        self._datasets.add(dataset)
        present = tuple(metrics)
        if self._metrics is not None and not self._found:  # only then may a message have to list them
            self._present.update(dict.fromkeys(name for name in present if number(metrics[name]) is not None))
        failed = judge_failed(metrics)
        named = self.named(dataset)
        if named is not None:
            self._found |= named in metrics
            return self._of(dataset, metrics, named, failed, present)
        for name in (JUDGE, known_metric(dataset)):
            if name is not None and name in metrics:
                return self._of(dataset, metrics, name, failed, present)
        numeric = tuple(name for name in present if name != JUDGE_ERROR and number(metrics[name]) is not None)
        if len(numeric) == 1:
            return self._of(dataset, metrics, numeric[0], failed, present)
        return Read(dataset, None, None, numeric, failed, present)

    @staticmethod
    def _of(dataset: str, metrics: Mapping[str, Any], name: str, failed: bool, present: tuple[str, ...]) -> Read:
        failed = failed and name == JUDGE
        return Read(dataset, name, None if failed else number(metrics.get(name)), (), failed, present)

    def check(self, known: Iterable[str] = ()) -> None:
        """Raises UnknownName where the caller's metric is in no item, or a data set named is none of the items' or of
        those `known`."""
        if isinstance(self._metrics, Mapping):
            names = self._datasets | set(map(group_of, self._datasets)) | set(known)
            for dataset in self._metrics:
                if self._datasets and dataset not in names:
                    raise UnknownName("data set", dataset, sorted(names), "It was named to choose its metric.")
            return
        if not self._found and self._datasets:
            raise UnknownName("metric", str(self._metrics), [*self._present][:_SHOWN], "No item has it.")


@dataclass(frozen=True)
class Chosen:
    """The metric of a data set's items (None: there is no choice, and `why`)."""

    metric: str | None
    why: str | None = None


def choose(dataset: str, picked: Iterable[str], several: Iterable[str], *, named: bool = False) -> Chosen:
    """The data set's metric from those picked for its items, so that one data set is never a mixture of metrics.
    `named` is that the caller named it for an item at least."""
    names = list(dict.fromkeys(picked))
    for name in () if named else (JUDGE, known_metric(dataset)):
        if name is not None and name in names:
            return Chosen(name)
    several = sorted(map(str, dict.fromkeys([*several, *(names if len(names) > 1 else ())])))
    if several:
        return Chosen(
            None,
            f"its items have several metrics ({', '.join(several[:_SHOWN])}{', …' if len(several) > _SHOWN else ''})"
            " which a model merged into one number that the items do not hold; name one to take it",
        )
    return Chosen(names[0]) if names else Chosen(None, "no item has a value")


@dataclass(frozen=True)
class ItemValues:
    """One number an item, by (data set, test_idx); None where it is missing. `metrics` are those of the data sets, as
    aggregated; `why` has the data sets that have none. Of items with one key the first counts."""

    values: dict[tuple[str, int | str], float | None]
    metrics: dict[str, str]
    why: dict[str, str]


def item_values(items: Iterable[Any], metrics: Metrics | None = None) -> ItemValues:
    """One number an item, of published details or items with a key. Raises DataError and UnknownName."""
    picker = Picker(metrics)
    reads: dict[tuple[str, int | str], Read] = {}
    for place, item in numbered(items):
        read = picker.read(item, place)
        reads.setdefault((read.dataset, _index(item, place)), read)
    picker.check()
    groups: dict[str, list[Read]] = {}
    for read in reads.values():
        groups.setdefault(group_of(read.dataset), []).append(read)
    chosen = {
        group: choose(
            group,
            (read.metric for read in of if read.metric is not None),
            (name for read in of for name in read.several),
            named=any(picker.named(read.dataset) is not None for read in of),
        )
        for group, of in groups.items()
    }
    return ItemValues(
        {
            key: read.value if read.metric == chosen[group_of(read.dataset)].metric else None
            for key, read in reads.items()
        },
        {group: made.metric for group, made in chosen.items() if made.metric is not None},
        {group: made.why for group, made in chosen.items() if made.why is not None},
    )


def numbered(items: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Each item with the words that say which it is."""
    for at, item in enumerate(items):
        yield f"item {at} of the details", item


def parts(item: Any, place: str) -> tuple[str, Mapping[str, Any]]:
    """An item's data set and metrics. Raises DataError where it has none."""
    if isinstance(item, dict) or isinstance(item, Mapping):  # the first is quick  # noqa: SIM101
        dataset, metrics = item.get("dataset"), item.get("metrics")
    else:
        dataset, metrics = getattr(getattr(item, "key", None), "dataset", None), getattr(item, "metrics", None)
    if not isinstance(dataset, str) or not dataset:
        raise DataError(f"{place}: no 'dataset'; each item should be {_ITEM}")
    if not (isinstance(metrics, dict) or isinstance(metrics, Mapping)):  # noqa: SIM101
        raise DataError(f"{place}, data set '{dataset}': 'metrics' is no object; each item should be {_ITEM}")
    return dataset, metrics


_ITEM = '{"test_idx": 3, "dataset": "NFCats", "metrics": {"score": 4}}'


def _index(item: Any, place: str) -> int | str:
    key = key_of(item) if isinstance(item, Mapping) else item.key
    if key is None:
        raise DataError(f"{place}: no 'test_idx'; each item should be {_ITEM}")
    return key.test_idx
