"""Memory systems beside each other: a row for each model and set (or data set), a column for each of them.

Values are the summaries', so that a table of a published archive shows what was published. Gains over the model without
memory are recomputed from the items, so that each has an interval; where the two do not agree, a note says so. More is
better in every metric of a summary. Values of one row are normalised by the statistics of one set and can be compared
with each other; those of different rows cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from amemgym.errors import DataError, UnknownName
from amemgym.memorybench.aggregating.archive_statistics import archive_statistics
from amemgym.memorybench.aggregating.metric import Metrics
from amemgym.memorybench.aggregating.normalization import Normalization, group_of, read_normalizations
from amemgym.memorybench.comparing.comparison import Gain, Place, ResultTable, TableCell, TableRow, ordered
from amemgym.memorybench.comparing.gains import (
    OWN,
    Details,
    Measure,
    count_values,
    gain,
    is_apart,
    read_details,
    reading,
)
from amemgym.memorybench.comparing.ranks import best, ranks, standings
from amemgym.memorybench.entry import WITHOUT_MEMORY, Cell
from amemgym.memorybench.items import ItemKey
from amemgym.memorybench.summary import AVERAGE, SUMMARY_METRICS, WEIGHTED, Z_SCORE, Summary

if TYPE_CHECKING:
    from amemgym.memorybench.reading.results import MemoryBenchResults

#: the metrics of a table by data sets
DATASET_METRICS = (OWN, AVERAGE, WEIGHTED, Z_SCORE)
#: of how many cells a note tells by name
_NAMED = 4


def compare(
    results: MemoryBenchResults,
    metric: str | None = None,
    *,
    exp: str | None = None,
    models: Sequence[str] | None = None,
    dataset_type: str | None = None,
    set_names: Sequence[str] | None = None,
    baselines: Sequence[str] | None = None,
    by_dataset: bool = False,
    normalization: str | Path | Mapping[tuple[str, str], Normalization] | None = None,
    metrics: Metrics | None = None,
    intervals: bool = True,
) -> ResultTable:
    """The table of one metric; see `ResultTable`.

    `metric` is one of the summaries' (weighted_average unless named); by data sets own_mean, the mean of the items' own
    values, or average, weighted_average (there the same: the mean of the min–max normalised values) or z_score.
    Columns stand in the order of `baselines`, else the model without memory first and then as they were published.
    `intervals` reads the items' values for gains; without it there are none. `normalization` (a file, or what
    `read_normalizations` returns) replaces the archive's own statistics; `metrics` names the items' metric, for all
    data sets or by data set.

    Rows are those of every experiment unless `exp` names one; each set that any memory system has results for has one.

    Raises UnknownName for a name or a metric that the archive does not have, and DataError where nothing has all that
    was chosen, or a statistics file cannot be read. A cell that cannot be read is missing, and a note says why.
    """
    there = results.select(exp, models, dataset_type, set_names)
    results.select(baselines=baselines)
    columns = list(dict.fromkeys(baselines)) if baselines else ordered([cell.baseline for cell in there])
    if not there:
        raise DataError(
            "no results have all that was chosen; choose less (amemgym memorybench show lists what there is)"
        )
    shown = [cell for cell in there if cell.baseline in columns]
    made = _Making(results, by_dataset, metrics)
    made.read(shown)
    chosen = made.check(metric or (OWN if by_dataset else WEIGHTED))
    rows = [_ranked(place, [made.cell(place, name, chosen) for name in columns]) for place in made.places(there)]
    if intervals:
        made.read([cell for cell in there if cell.baseline == WITHOUT_MEMORY and cell not in shown])
        rows = _adjusted(list(_with_gains(made, rows, chosen, _statistics(made, there, normalization))))
        if (wrong := [error for error in made.unknown if error is not None]) and len(wrong) == len(made.unknown):
            raise wrong[0]
        made.notes += _gain_notes(rows)
    values = [{cell.baseline: cell.value for cell in row.cells} for row in rows]
    return ResultTable(
        metric=chosen,
        by_dataset=by_dataset,
        baselines=tuple(columns),
        rows=tuple(rows),
        standings=tuple(standings(columns, values)),
        has_gains=intervals,
        notes=tuple(dict.fromkeys(made.notes)),
    )


@dataclass
class _Making:
    """What was read of the summaries: for each cell and data set (None: the whole set) the metrics, and n."""

    results: MemoryBenchResults
    by_dataset: bool
    metrics: Metrics | None
    scores: dict[Cell, dict[str | None, dict[str, float | None]]] = field(default_factory=dict)
    counts: dict[Cell, Mapping[str | None, int | None]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    #: for each group whose items were read, the error where what `metrics` names is none of its
    unknown: list[UnknownName | None] = field(default_factory=list)

    def read(self, cells: Sequence[Cell]) -> None:
        for cell, summary in self.results.summaries(cells).items():
            self.scores[cell], self.counts[cell] = {}, {}
            if summary is None:
                self.notes += [str(problem) for problem in self.results.problems if problem.place == str(cell)]
                continue
            self.scores[cell] = _by_dataset(summary) if self.by_dataset else {None: dict(summary.scores)}
            counts: Mapping[str | None, int | None] = _counts(summary)
            if not self.scores[cell]:
                self.notes.append(f"{cell}: its summary has no means of data sets")
            elif any(counts.get(dataset) is None for dataset in self.scores[cell]):
                counts = self._in_details(cell)
            self.counts[cell] = counts

    def _in_details(self, cell: Cell) -> Mapping[str | None, int | None]:
        """Over how many items, where the summary does not say."""
        try:
            found = count_values(self.results.items(cell), self.metrics)
        except DataError:
            return {}
        counts: dict[str | None, int | None] = {name: n for name, n in found.items()}
        return counts | {None: found.total()}

    def check(self, metric: str) -> str:
        """Raises UnknownName where no summary has the metric."""
        known = {name for found in self.scores.values() for row in found.values() for name in row}
        usual = DATASET_METRICS if self.by_dataset else SUMMARY_METRICS
        if metric not in known and (known or metric not in usual):
            hint = "It is a metric of data sets (--by-dataset)." if metric == OWN else ""
            raise UnknownName("metric", metric, sorted(known) or usual, hint)
        return metric

    def places(self, cells: Iterable[Cell]) -> list[Place]:
        """The rows, in order."""
        found = {
            Place(cell.exp, cell.model, cell.dataset_type, cell.set_name, dataset)
            for cell in cells
            for dataset in (self.scores.get(cell, {}) if self.by_dataset else (None,))
        }
        return sorted(found, key=lambda at: (at.exp, at.model, at.dataset_type, at.set_name, at.dataset or ""))

    def cell(self, place: Place, baseline: str, metric: str) -> TableCell:
        cell = cell_of(place, baseline)
        value = self.scores.get(cell, {}).get(place.dataset, {}).get(metric)
        return TableCell(baseline, value, None if value is None else self.counts[cell].get(place.dataset))


def cell_of(place: Place, baseline: str) -> Cell:
    return Cell(place.exp, place.model, place.dataset_type, place.set_name, baseline)


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


def _ranked(place: Place, cells: Sequence[TableCell]) -> TableRow:
    values = [cell.value for cell in cells]
    placed = zip(cells, ranks(values), best(values), strict=True)
    return TableRow(place, tuple(replace(cell, rank=rank, is_best=is_best) for cell, rank, is_best in placed))


# --- gains ---


def _statistics(
    made: _Making,
    cells: Iterable[Cell],
    given: str | Path | Mapping[tuple[str, str], Normalization] | None,
) -> Mapping[tuple[str, str], Normalization]:
    """By set: as given, else those in the archives' folders; of several archives' for a set, the first's."""
    if isinstance(given, Mapping):
        return given
    if given is not None:
        return read_normalizations(given)
    found: dict[tuple[str, str], Normalization] = {}
    for root in dict.fromkeys(Path(made.results.place_of(cell)) for cell in cells):
        try:
            found = {**archive_statistics(root)[1], **found}
        except DataError as error:
            made.notes.append(str(error))
    return found


def _with_gains(
    made: _Making, rows: Sequence[TableRow], metric: str, statistics: Mapping[tuple[str, str], Normalization]
) -> Iterator[TableRow]:
    """The rows with gains. Those of one set's data sets stand together: each group's items are read once for all."""
    sets: dict[Place, list[TableRow]] = {}
    for row in rows:
        sets.setdefault(replace(row.place, dataset=None), []).append(row)
    for place, of_set in sets.items():
        measure = Measure(metric, statistics.get((place.dataset_type, place.set_name)))
        keys: dict[ItemKey, int] = {}
        without = cell_of(place, WITHOUT_MEMORY)
        reference = _details(made, without, keys, is_reference=True)
        found = list(of_set)
        for at, baseline in enumerate(cell.baseline for cell in of_set[0].cells):
            if baseline == WITHOUT_MEMORY or all(row.cells[at].value is None for row in of_set):
                continue
            details = reference if isinstance(reference, str) else _details(made, cell_of(place, baseline), keys)
            for number, row in enumerate(found):
                cell = row.cells[at]
                if cell.value is None:
                    continue
                base = made.cell(row.place, WITHOUT_MEMORY, metric).value
                of_summaries = None if base is None else cell.value - base
                datasets = None if row.place.dataset is None else [group_of(row.place.dataset)]
                told = gain(details, reference, measure, of_summaries, datasets)
                cells = (*row.cells[:at], replace(cell, gain=told), *row.cells[at + 1 :])
                found[number] = replace(row, cells=cells)
        yield from found


def _details(made: _Making, cell: Cell, keys: dict[ItemKey, int], is_reference: bool = False) -> Details | str:
    """A group's values, or why there are none."""
    if not made.results.has(cell):
        return f"the archive has no results of {cell.baseline} for {cell.exp}/{cell.model}/{cell.set_name}"
    details = reading(lambda: read_details(made.results.items(cell), made.metrics, keys, is_reference=is_reference))
    if isinstance(details, Details):
        made.unknown.append(details.unknown)
    return details


def _adjusted(rows: Sequence[TableRow]) -> list[TableRow]:
    """With each gain's p for all gains that were looked at together."""
    from amemgym.scores.pairs import adjusted_ps  # whoever only reads an archive need not load what plays and scores

    ps = iter(adjusted_ps([cell.gain.p for row in rows for cell in row.cells if cell.gain is not None]))
    return [
        replace(row, cells=tuple(cell if cell.gain is None else _told(cell, cell.gain, next(ps)) for cell in row.cells))
        for row in rows
    ]


def _told(cell: TableCell, gain: Gain, p_adjusted: float | None) -> TableCell:
    return replace(cell, gain=replace(gain, p_adjusted=p_adjusted))


def _gain_notes(rows: Sequence[TableRow]) -> Iterator[str]:
    """Why gains have no interval, and where the summaries say something else than the items."""
    why: dict[str, list[str]] = {}
    apart = []
    for row in rows:
        for cell in row.cells:
            if cell.gain is not None and cell.gain.why:
                why.setdefault(cell.gain.why, []).append(f"{row.place}/{cell.baseline}")
            if cell.gain is not None and is_apart(cell.gain):
                apart.append(f"{row.place}/{cell.baseline} {cell.gain.value:+.3f} and {cell.gain.of_summaries:+.3f}")
    for reason, where in why.items():
        yield f"{_counted(len(where), 'gain has', 'gains have')} no interval: {reason} ({_some(where)})"
    if apart:
        yield (
            f"{_counted(len(apart), 'gain differs', 'gains differ')} from what the summaries say, which may leave out"
            f" or miscount items; amemgym memorybench verify looks into it ({_some(apart)})"
        )


def _counted(n: int, one: str, several: str) -> str:
    return f"{n} {one if n == 1 else several}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f", and {more} more" if more > 0 else "")
