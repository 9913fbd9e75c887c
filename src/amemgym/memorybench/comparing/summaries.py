"""What a table takes from summaries: for each cell and data set the metrics, and over how many items they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from amemgym.errors import DataError, UnknownName
from amemgym.memorybench.comparing.comparison import Place, TableCell
from amemgym.memorybench.comparing.details import count_rooms, count_values
from amemgym.memorybench.comparing.measure import OWN, Measure
from amemgym.memorybench.entry import Cell
from amemgym.memorybench.problems import Problem, some, together
from amemgym.memorybench.summary import ACCURACY, AVERAGE, SUMMARY_METRICS, WEIGHTED, Z_SCORE, Summary

if TYPE_CHECKING:
    from amemgym.memorybench.reading.results import MemoryBenchResults

#: the metrics of a table by data sets
DATASET_METRICS = (OWN, AVERAGE, WEIGHTED, Z_SCORE)
#: of how many metrics' names a note tells
_NAMED = 12


def cell_of(place: Place, baseline: str) -> Cell:
    return Cell(place.exp, place.model, place.dataset_type, place.set_name, baseline)


@dataclass
class Summaries:
    """`scores` and `counts` are by data set (None: the whole set)."""

    results: MemoryBenchResults
    by_dataset: bool
    scores: dict[Cell, dict[str | None, dict[str, float | None]]] = field(default_factory=dict)
    found: dict[Cell, Summary] = field(default_factory=dict)
    counts: dict[Cell, dict[str | None, int | None]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def read(self, cells: Sequence[Cell]) -> None:
        """Raises DataError where a table by data sets would be empty."""
        lacking: list[Problem] = []
        for cell, summary in self.results.summaries(cells).items():
            self.scores[cell] = {}
            if summary is None:
                lacking += [one for one in self.results.problems if one.place == str(cell)]
                continue
            self.found[cell] = summary
            self.scores[cell] = _by_dataset(summary) if self.by_dataset else {None: dict(summary.scores)}
        if unscored := [cell for cell in cells if self.results.is_unscored(cell)]:
            self.notes.append(self.results.no_scores(unscored))
        self.notes += together(lacking)
        without = [cell for cell in cells if cell in self.found and not self.scores[cell]]
        if without and len(without) == len(self.found):
            raise DataError(
                "there are no rows by data set, since these summaries say nothing of single data sets (those of a set"
                " of one data set never do); leave by_dataset (--by-dataset) out"
            )
        if without:
            sets = ", ".join(sorted({cell.set_name for cell in without})[:_NAMED])
            self.notes.append(f"no means of data sets in {len(without)} summaries ({sets})")

    def metric(self, asked: str | None) -> str:
        """The metric that was asked for; if none was, weighted_average (by data set own_mean), accuracy where no
        summary has that, or the only one. Raises UnknownName where no summary has it."""
        known = Counter(name for found in self.scores.values() for row in found.values() for name in row)
        usual = DATASET_METRICS if self.by_dataset else SUMMARY_METRICS
        first = OWN if self.by_dataset else WEIGHTED
        if asked is None and known and first not in known:
            if ACCURACY not in known and len(known) > 1:
                raise UnknownName(
                    "metric", first, sorted(known), "Name one (--metric), as no summary has the usual one."
                )
            chosen = ACCURACY if ACCURACY in known else next(iter(known))
            more = ", ".join(sorted(name for name in known if name != chosen)[:_NAMED])
            self.notes.append(f"other metrics (--metric): {more}" if more else "it is the only metric")
            return chosen
        chosen = first if asked is None else asked
        if chosen not in known and (known or chosen not in usual):
            hint = "It is a metric of data sets (--by-dataset)." if chosen == OWN else ""
            raise UnknownName("metric", chosen, sorted(known) or usual, hint)
        return chosen

    def having(self, places: Sequence[Place], metric: str) -> list[Place]:
        """The places without those whose summaries all have other metrics, which are told."""
        lacking: dict[Place, list[Cell]] = {}
        some_have = set[Place]()
        for cell, rows in self.scores.items():
            place = Place(*cell[:4])
            if any(metric in row for row in rows.values()):
                some_have.add(place)
            elif rows:
                lacking.setdefault(place, []).append(cell)
        for is_left_out in (True, False):
            of = {place: cells for place, cells in lacking.items() if is_left_out is (place not in some_have)}
            cells = [cell for row in of.values() for cell in row]
            names = sorted({name for cell in cells for row in self.scores[cell].values() for name in row})
            there = list(map(str, of)) if is_left_out else list(map(str, cells))
            if there:
                begun = "left out, as no summary has" if is_left_out else "no"
                self.notes.append(f"{begun} {metric}: {some(there, _NAMED)}; --metric has {', '.join(names[:_NAMED])}")
        return [at for at in places if (place := replace(at, dataset=None)) in some_have or place not in lacking]

    def places(self, cells: Iterable[Cell]) -> list[Place]:
        """The rows, in order."""
        found = {
            Place(cell.exp, cell.model, cell.dataset_type, cell.set_name, dataset)
            for cell in cells
            for dataset in (self.scores.get(cell, {}) if self.by_dataset else (None,))
        }
        return sorted(found, key=lambda at: (at.exp, at.model, at.dataset_type, at.set_name, at.dataset or ""))

    def value(self, place: Place, baseline: str, metric: str) -> float | None:
        return self.scores.get(cell_of(place, baseline), {}).get(place.dataset, {}).get(metric)

    def cell(self, place: Place, baseline: str, measure: Measure) -> TableCell:
        """The value with its n, and the interval that the summary itself has."""
        value = self.value(place, baseline, measure.metric)
        if value is None:
            return TableCell(baseline)
        cell = cell_of(place, baseline)
        summary = self.found[cell]
        if cell not in self.counts:
            self.counts[cell] = self._counts(cell, summary, measure)
        n = self.counts[cell].get(place.dataset)
        if place.dataset is not None:
            return TableCell(baseline, value, n)
        interval = summary.intervals.get(measure.metric)
        why = None if interval else summary.why_no_interval
        return TableCell(baseline, value, n, interval=interval, why=why, users=summary.users)

    def _counts(self, cell: Cell, summary: Summary, measure: Measure) -> dict[str | None, int | None]:
        """As the summary says; where it does not, as many items as have a value."""
        if not self.by_dataset and measure.metric in summary.counts:
            return {None: summary.counts[measure.metric]}
        counts = _counts(summary)
        if summary.datasets and all(counts.get(dataset) is not None for dataset in self.scores[cell]):
            return counts
        try:
            if measure.is_memory_score:
                return {None: count_rooms(self.results.items(cell))}
            found = count_values(self.results.items(cell), measure.of_items)
        except DataError:
            return {}
        # a metric that no item has is a number of the summary alone
        counts = {name: n for name, n in found.items()}
        counts[None] = found.total() or None
        return counts


def _by_dataset(summary: Summary) -> dict[str | None, dict[str, float | None]]:
    found: dict[str | None, dict[str, float | None]] = {}
    for name, dataset in summary.datasets.items():
        minmax = None if dataset.minmax is None else dataset.minmax.mean
        z = None if dataset.z is None else dataset.z.mean
        found[name] = {OWN: dataset.mean, AVERAGE: minmax, WEIGHTED: minmax, Z_SCORE: z}
    return found


def _counts(summary: Summary) -> dict[str | None, int | None]:
    """Over how many items each data set's means are, and (None) all of them; None where the summary does not say."""
    counts: dict[str | None, int | None] = {}
    for name, dataset in summary.datasets.items():
        counts[name] = next(
            (one.n for one in (dataset.minmax, dataset.z) if one is not None and one.n is not None), None
        )
    known = [n for n in counts.values() if n is not None]
    return {**counts, None: sum(known) if known and len(known) == len(counts) else None}
