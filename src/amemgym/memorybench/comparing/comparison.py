"""A table of results: a row for each model and set (or data set), a column for each memory system.

What is missing is None in every number, and stays so wherever the table is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from amemgym.memorybench.comparing.paired import Paired
from amemgym.memorybench.comparing.ranks import Standing
from amemgym.memorybench.entry import WITHOUT_MEMORY
from amemgym.memorybench.summary import Direction, direction


@dataclass(frozen=True)
class Place:
    """What a row is of. `dataset` is None in a table of whole sets."""

    exp: str
    model: str
    dataset_type: str
    set_name: str
    dataset: str | None = None

    def __str__(self) -> str:
        words = (self.exp, self.model, self.dataset_type, self.set_name, self.dataset)
        return "/".join(word for word in words if word is not None)


@dataclass(frozen=True)
class Gain:
    """A memory system's value less that of the one which all are compared with.

    `value` is the mean of the differences over the `n` items that have a value in both (of a memory score: the
    difference of the two ratios over them), with its 95% interval and p. Where it cannot be told from items, `n` is 0,
    `value` is `of_summaries`, the difference of the two values in the table, and `why` says what is lacking. `users`
    are those that the items are of, where they say it. `p_adjusted` is p after Benjamini and Hochberg over all gains of
    the table; `better` which of two values of the metric is, None where neither is.
    """

    value: float | None
    interval: tuple[float, float] | None
    p: float | None
    n: int
    of_summaries: float | None
    why: str | None = None
    p_adjusted: float | None = None
    users: int | None = None
    better: Direction = "more"

    @classmethod
    def told(cls, found: Paired, of_summaries: float | None) -> Gain:
        if found.value is None:
            return cls.untold(of_summaries, found.why or "")
        return cls(found.value, found.interval, found.p, found.n, of_summaries, found.why, None, found.users)

    @classmethod
    def untold(cls, of_summaries: float | None, why: str) -> Gain:
        return cls(of_summaries, None, None, 0, of_summaries, why)

    @property
    def verdict(self) -> str | None:
        """better, worse, or not shown to be better; None where the metric says nothing good or bad."""
        from amemgym.scores.verdict import verdict  # whoever only reads an archive need not load what plays and scores

        interval = self.interval
        if self.better is None:
            return None
        if interval is not None and self.better == "less":
            interval = -interval[1], -interval[0]
        return verdict(interval, self.p_adjusted)


@dataclass(frozen=True)
class TableCell:
    """One number: the value from the summary, over `n` items (None where that is not known), its place among the row's
    values, and its 95% `interval`: the summary's own, or where items were read theirs; `why` there is none where they
    were. `users` are those that the items are of. `gain` is None for the memory system that others are compared with,
    without a value, or where none was asked."""

    baseline: str
    value: float | None = None
    n: int | None = None
    rank: float | None = None
    is_best: bool = False
    gain: Gain | None = None
    interval: tuple[float, float] | None = None
    why: str | None = None
    users: int | None = None


@dataclass(frozen=True)
class TableRow:
    place: Place
    cells: tuple[TableCell, ...]

    def cell(self, baseline: str) -> TableCell:
        """Raises KeyError where the table has no such column."""
        found = next((cell for cell in self.cells if cell.baseline == baseline), None)
        if found is None:
            raise KeyError(baseline)
        return found


@dataclass(frozen=True)
class ResultTable:
    """Rows in order, each with a cell for every baseline in order; `notes` are what must be known to read it, first the
    `warnings`, which stand wherever its values do. `against` is what gains are over."""

    metric: str
    by_dataset: bool
    baselines: tuple[str, ...]
    rows: tuple[TableRow, ...]
    standings: tuple[Standing, ...]
    has_gains: bool
    notes: tuple[str, ...] = ()
    against: str = WITHOUT_MEMORY
    warnings: tuple[str, ...] = ()

    @property
    def better(self) -> Direction:
        """Whether more or less of the metric is better; None where it says nothing good or bad."""
        return direction(self.metric)

    @property
    def users(self) -> bool:
        """Whether its intervals are clustered by user."""
        cells = [cell for row in self.rows for cell in row.cells]
        return any(one is not None and one.users for cell in cells for one in (cell, cell.gain))

    @property
    def has_intervals(self) -> bool:
        """Whether a value has one."""
        return any(cell.interval is not None for row in self.rows for cell in row.cells)

    @property
    def words(self) -> tuple[str, ...]:
        """What the rows are told apart by: model, type and set, before them the experiment where there are several."""
        several = len({row.place.exp for row in self.rows}) > 1
        return (*(("exp",) if several else ()), "model", "dataset_type", "set_name", *self._dataset)

    @property
    def _dataset(self) -> tuple[str, ...]:
        return ("dataset",) if self.by_dataset else ()

    def named(self, place: Place) -> tuple[str, ...]:
        """A row's words."""
        return tuple(str(getattr(place, word)) for word in self.words)

    def without_gains(self) -> ResultTable:
        rows = tuple(replace(row, cells=tuple(replace(cell, gain=None) for cell in row.cells)) for row in self.rows)
        return replace(self, rows=rows, has_gains=False)

    def as_dict(self) -> dict[str, Any]:
        """JSON's own types, every number of the table."""
        return {
            "metric": self.metric,
            "by_dataset": self.by_dataset,
            "baselines": list(self.baselines),
            "against": self.against if self.has_gains else None,
            "rows": [{**asdict(row.place), "cells": [_cell(cell) for cell in row.cells]} for row in self.rows],
            "standings": [asdict(standing) for standing in self.standings],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }


def _cell(cell: TableCell) -> dict[str, Any]:
    found = asdict(cell) | {"interval": None if cell.interval is None else list(cell.interval)}
    if cell.gain is not None:
        interval = None if cell.gain.interval is None else list(cell.gain.interval)
        found["gain"] |= {"interval": interval, "verdict": cell.gain.verdict}
    return found


def ordered(baselines: Sequence[str]) -> list[str]:
    """Baselines as they are usually listed: the model without memory, the published ones, then others by name."""
    known = {name: at for at, name in enumerate(PUBLISHED)}
    return sorted(set(baselines), key=lambda name: (known.get(name, len(known)), name))


#: the order of columns
PUBLISHED = (
    "wo_memory",
    "bm25_message",
    "bm25_dialog",
    "embedder_message",
    "embedder_dialog",
    "a_mem",
    "mem0",
    "memoryos",
)
