"""The statistics that the values of a set's data sets are normalised by, and which data sets count as one.

They are the smallest and largest value, the mean and the standard deviation of each data set over the runs that the
benchmark's authors had. A value may lie outside: nothing is clipped. Where the statistics of a data set allow no
normalised value (largest not above smallest, no spread), there is none; the original wrote 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.errors import DataError
from amemgym.memorybench.reading.stream import read_json
from amemgym.memorybench.values import number

_LOCOMO = re.compile(r"Locomo(?:-\d+)?")
#: the published tables, and other names under which one data set's statistics are found
_TABLES = {"low": "dataset_min", "high": "dataset_max", "mu": "dataset_mu", "sigma": "dataset_sigma"}
_NAMES = {"low": ("min",), "high": ("max",), "mu": ("mu", "mean"), "sigma": ("sigma", "std")}
_NEEDED = ("low", "high")


@lru_cache(maxsize=1024)
def group_of(dataset: str) -> str:
    """The name that a data set is aggregated under: Locomo-0 … Locomo-9 are Locomo, every other is itself."""
    return "Locomo" if _LOCOMO.fullmatch(dataset) else dataset


@dataclass(frozen=True)
class Statistics:
    """Of one data set, in the metric's own unit. `mu` and `sigma` are None where the file has none."""

    low: float
    high: float
    mu: float | None
    sigma: float | None

    @property
    def why_no_minmax(self) -> str | None:
        """Why no value can be put between smallest and largest, or None."""
        return None if self.high > self.low else f"its largest value {self.high:g} is not above its smallest"

    @property
    def why_no_z(self) -> str | None:
        """Why no value can be put in standard deviations, or None."""
        if self.mu is None or self.sigma is None:
            return "its statistics have no mean or no standard deviation"
        return None if self.sigma > 0 else f"its standard deviation is {self.sigma:g}"

    def minmax(self, value: float) -> float | None:
        """(value − low) / (high − low), not clipped; None where `why_no_minmax` says why."""
        return (value - self.low) / (self.high - self.low) if self.high > self.low else None

    def z(self, value: float) -> float | None:
        """(value − mu) / sigma; None where `why_no_z` says why."""
        if self.mu is None or self.sigma is None or self.sigma <= 0:
            return None
        return (value - self.mu) / self.sigma


class Normalization(Mapping[str, Statistics]):
    """One set's statistics, by the name that a data set is aggregated under. `name` is the set's, for messages."""

    def __init__(self, datasets: Mapping[str, Statistics], name: str = "") -> None:
        self._datasets, self.name = dict(datasets), name

    def __getitem__(self, dataset: str) -> Statistics:
        return self._datasets[dataset]

    def __iter__(self) -> Iterator[str]:
        return iter(self._datasets)

    def __len__(self) -> int:
        return len(self._datasets)

    def __repr__(self) -> str:
        return f"Normalization({self._datasets!r}, {self.name!r})"

    @classmethod
    def from_published(cls, value: Any, name: str = "") -> Normalization:
        """From any published form: `{"dataset_min": {ds: x}, …}`, `{"summary": {those}}`, or
        `{ds: {"min", "max", "mu" or "mean", "sigma" or "std"}}`; `name` is the set's. Raises DataError."""
        if isinstance(value, Normalization):
            return value
        place = f"set {name}" if name else "normalization"
        tables = value.get("summary", value) if isinstance(value, Mapping) else value
        if not isinstance(tables, Mapping) or not tables:
            raise DataError(f"{place}: no statistics; there should be {_FORM}")
        rows = _by_dataset(tables) if _is_tabled(tables) else tables
        return cls({str(dataset): _statistics(row, place, str(dataset)) for dataset, row in rows.items()}, name)


_FORM = (
    'an object {"dataset_min": {data set: number}, "dataset_max": …, "dataset_mu": …, "dataset_sigma": …}, or one'
    ' {data set: {"min": number, "max": …, "mu": …, "sigma": …}}'
)


def read_normalizations(path: str | Path) -> dict[tuple[str, str], Normalization]:
    """The statistics of every set in a published file (type → set → …), by (type, set). Raises DataError."""
    value = read_json(files.at_home(path), str(path))
    if not isinstance(value, Mapping) or not value or _is_tabled(value) or "summary" in value:
        raise DataError(f"{path}: not the statistics of several sets; it should be {{type: {{set: {_FORM}}}}}")
    found = {}
    for dataset_type, sets in value.items():
        if not isinstance(sets, Mapping):
            raise DataError(f"{path}: '{dataset_type}' should hold sets by name, and is {type(sets).__name__}")
        for set_name, tables in sets.items():
            try:
                made = Normalization.from_published(tables, f"{dataset_type}/{set_name}")
            except DataError as error:
                raise DataError(f"{path}: {error}") from None
            found[str(dataset_type), str(set_name)] = made
    return found


def _is_tabled(value: Mapping[str, Any]) -> bool:
    return any(table in value for table in _TABLES.values())


def _by_dataset(tables: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The published tables, data set by data set; each row with the tables' names."""
    given = {table: value for table in _TABLES.values() if isinstance(value := tables.get(table), Mapping)}
    names = dict.fromkeys(name for table in given.values() for name in table)
    return {name: {table: rows[name] for table, rows in given.items() if name in rows} for name in names}


def _statistics(row: Any, place: str, dataset: str) -> Statistics:
    if not isinstance(row, Mapping):
        raise DataError(f"{place}, data set '{dataset}': no statistics; there should be {_FORM}")
    found: dict[str, float | None] = {}
    for part, table in _TABLES.items():
        given = next((row[name] for name in (table, *_NAMES[part]) if name in row), None)
        found[part] = number(given)
        if found[part] is None and part in _NEEDED:
            said = "no" if given is None else f"'{str(given)[:40]}' is no number as"
            raise DataError(
                f"{place}, data set '{dataset}': {said} {table}; without its smallest and largest value nothing can be"
                " normalised: complete the file, or take the data set out of it"
            )
    low, high = found["low"], found["high"]
    assert low is not None and high is not None
    return Statistics(low, high, found["mu"], found["sigma"])
