"""The table that people want in one line: a metric of the summaries, over models and sets by memory system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from amemgym.errors import DataError, MissingPackage, UnknownName
from amemgym.memorybench.entry import Cell
from amemgym.memorybench.summary import SUMMARY_METRICS

if TYPE_CHECKING:
    import pandas

    from amemgym.memorybench.reading.results import MemoryBenchResults


def rows(
    results: MemoryBenchResults,
    metric: str,
    *,
    exp: str | None = None,
    dataset_type: str | None = None,
    set_name: str | None = None,
    baselines: str | Sequence[str] | None = None,
    models: str | Sequence[str] | None = None,
    missing_value: Any = None,
) -> tuple[list[dict[str, Any]], list[str]]:
    """(rows, names of the columns) of `MemoryBenchResults.summary_table`. Raises UnknownName."""
    exp = results.experiment(exp)
    if baselines is None:
        columns = results.list_baselines(exp=exp, dataset_type=dataset_type, set_name=set_name)
    else:
        columns = list(dict.fromkeys([baselines] if isinstance(baselines, str) else baselines))
    # a row stands for a set that any baseline has, so that it does not vanish where those asked for have none
    cells = results.select(exp, models, dataset_type, set_name)
    results.select(baselines=columns)
    of_rows = sorted({(cell.model, cell.dataset_type, cell.set_name) for cell in cells})
    wanted = [cell for cell in cells if cell.baseline in columns]
    summaries = results.summaries(wanted)
    known = {name for summary in summaries.values() if summary is not None for name in summary.scores}
    if wanted and all(map(results.is_unscored, wanted)):
        raise DataError(results.no_scores(wanted))
    if metric not in known and (known or metric not in SUMMARY_METRICS):
        raise UnknownName("metric", metric, sorted(known) or SUMMARY_METRICS, _elsewhere(results, metric, exp))
    named = ["model"] if dataset_type is not None and set_name is not None else ["model", "dataset_type", "set_name"]
    table = []
    for model, kind, name in of_rows:
        row: dict[str, Any] = dict(zip(named, (model, kind, name), strict=False))
        for baseline in columns:
            summary = summaries.get(Cell(exp, model, kind, name, baseline))
            value = None if summary is None else summary.scores.get(metric)
            row[baseline] = missing_value if value is None else value
        table.append(row)
    return table, [*named, *columns]


def _elsewhere(results: MemoryBenchResults, metric: str, exp: str) -> str:
    """Which other experiments have the metric, and how they are asked for."""
    found = results.summaries([cell for cell in results.select() if cell.exp != exp])
    having = sorted({cell.exp for cell, summary in found.items() if summary is not None and metric in summary.scores})
    if not having:
        return ""
    return f"These are of {exp}; '{metric}' is a metric of {', '.join(having)}: give exp='{having[0]}'."


def frame(table: Sequence[dict[str, Any]], columns: Sequence[str], missing_value: Any = None) -> pandas.DataFrame:
    """The rows as a DataFrame; scores are float64 unless `missing_value` is no number. Raises MissingPackage."""
    try:
        import pandas
    except ImportError:
        raise MissingPackage(
            "a DataFrame needs pandas: pip install 'amemgym[pandas]', or ask for plain rows with as_pandas=False"
        ) from None
    made = pandas.DataFrame(list(table), columns=list(columns))
    if missing_value is None or isinstance(missing_value, int | float):
        scores = [name for name in columns if name not in ("model", "dataset_type", "set_name")]
        made = made.astype(dict.fromkeys(scores, "float64"))
    return made
