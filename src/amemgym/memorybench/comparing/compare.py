"""Memory systems beside each other: a row for each model and set (or data set), a column for each of them.

Values are the summaries', so that a table of a published archive shows what was published. Their intervals, and gains
over the model without memory, are recomputed from the items; where the two do not agree, a note says so. Values of one
row are normalised by the statistics of one set and can be compared with each other; those of different rows cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from amemgym.errors import DataError
from amemgym.memorybench.aggregating.archive_statistics import archive_statistics
from amemgym.memorybench.aggregating.metric import Metrics
from amemgym.memorybench.aggregating.normalization import Normalization, read_normalizations
from amemgym.memorybench.comparing.cautions import cautions
from amemgym.memorybench.comparing.comparison import Place, ResultTable, TableCell, TableRow, ordered
from amemgym.memorybench.comparing.measure import Measure
from amemgym.memorybench.comparing.measured import Measured, interval_notes
from amemgym.memorybench.comparing.ranks import best, ranks, standings
from amemgym.memorybench.comparing.summaries import Summaries
from amemgym.memorybench.entry import WITHOUT_MEMORY, Cell
from amemgym.memorybench.summary import direction

if TYPE_CHECKING:
    from amemgym.memorybench.reading.results import MemoryBenchResults


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
    against: str | None = None,
) -> ResultTable:
    """The table of one metric; see `ResultTable`.

    `metric` is one of the summaries'. Unless named it is weighted_average, or, where no summary has that (sets of one
    data set, as our runs are exported), accuracy; by data sets own_mean, the mean of the items' own values (average and
    weighted_average are the same there, the mean of the min–max normalised values). Columns stand in the order of
    `baselines`, else the model without memory first and then as they were published.

    `intervals` reads the items' values for intervals and for gains over `against`, a baseline (the model without memory
    unless named); without it there are only the intervals that summaries hold. `normalization` (a file, or what
    `read_normalizations` returns) replaces the archive's own statistics; `metrics` names the items' metric, for all
    data sets or by data set. Rows are those of every experiment unless `exp` names one; each set that any memory system
    has results for has one.

    Raises UnknownName for a name or a metric that the archive does not have, and DataError where nothing has all that
    was chosen, or a statistics file cannot be read. A cell that cannot be read is missing, and a note says why.
    """
    there = results.select(exp, models, dataset_type, set_names)
    results.select(baselines=baselines)
    if against is not None:
        results.select(baselines=[against])
    columns = list(dict.fromkeys(baselines)) if baselines else ordered([cell.baseline for cell in there])
    if not there:
        raise DataError(
            "no results have all that was chosen; choose less (amemgym memorybench show lists what there is)"
        )
    shown = [cell for cell in there if cell.baseline in columns]
    if shown and all(map(results.is_unscored, shown)):
        raise DataError(results.no_scores(shown))
    made = Summaries(results, by_dataset)
    made.read(shown)
    chosen = made.metric(metric)
    places = made.having(made.places(there), chosen)
    if not baselines:  # those of the rows that are left
        kept = {replace(at, dataset=None) for at in places}
        columns = ordered([cell.baseline for cell in there if Place(*cell[:4]) in kept])
    measure, base = Measure(chosen, metrics=metrics), against or WITHOUT_MEMORY
    rows = [_ranked(TableRow(at, tuple(made.cell(at, name, measure) for name in columns)), chosen) for at in places]
    has_gains = intervals and any(cell.baseline == base for cell in there)
    if intervals:
        made.read([cell for cell in there if cell.baseline == base and cell not in shown])
    careful = cautions(made, rows, chosen, base)
    if intervals:
        statistics = _statistics(made, there, normalization)
        rows = Measured(made, base, metrics, careful.other_questions).rows(rows, chosen, statistics)
        if not has_gains:
            named = ", ".join(ordered([cell.baseline for cell in there]))
            made.notes.append(f"no gains: there is no {base}; name what they are over with --against ({named})")
        made.notes += interval_notes(rows, gains=has_gains)
    elif any(cell.value is not None and cell.interval is None and not cell.why for row in rows for cell in row.cells):
        made.notes.append("intervals need the items: --gains reads them")
    better = [{cell.baseline: _better(cell, chosen) for cell in row.cells} for row in rows]
    return ResultTable(
        metric=chosen,
        by_dataset=by_dataset,
        baselines=tuple(columns),
        rows=tuple(rows),
        standings=tuple(standings(columns, better)) if direction(chosen) else (),
        has_gains=has_gains,
        notes=tuple(dict.fromkeys([*careful.notes, *made.notes])),
        against=base,
        warnings=tuple(careful.notes),
    )


def _ranked(row: TableRow, metric: str) -> TableRow:
    if direction(metric) is None:
        return row
    values = [_better(cell, metric) for cell in row.cells]
    placed = zip(row.cells, ranks(values), best(values), strict=True)
    return replace(row, cells=tuple(replace(cell, rank=rank, is_best=is_best) for cell, rank, is_best in placed))


def _better(cell: TableCell, metric: str) -> float | None:
    """The value such that more is better."""
    return -cell.value if cell.value is not None and direction(metric) == "less" else cell.value


def _statistics(
    made: Summaries,
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
