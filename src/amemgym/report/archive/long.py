"""A table of results with one row a cell and every number: what the CSV file and the long data frame hold."""

from __future__ import annotations

from collections.abc import Iterator

from amemgym.clean import clean
from amemgym.memorybench.comparing.comparison import Gain, Place, ResultTable, TableCell
from amemgym.report.rows import Row

#: every column and its type, in order; null is missing
COLUMNS: dict[str, type] = {
    "exp": str,
    "model": str,
    "dataset_type": str,
    "set_name": str,
    "dataset": str,
    "baseline": str,
    "metric": str,
    "value": float,
    "low": float,
    "high": float,
    "n": int,
    "users": int,
    "why_no_interval": str,
    "rank": float,
    "is_best": bool,
    "gain": float,
    "gain_low": float,
    "gain_high": float,
    "gain_p": float,
    "gain_p_adjusted": float,
    "gain_n": int,
    "gain_users": int,
    "gain_of_summaries": float,
    "gain_verdict": str,
    "gain_why": str,
    "against": str,
}


def long_rows(table: ResultTable) -> Iterator[Row]:
    """The cells row by row, also those without a value."""
    for row in table.rows:
        for cell in row.cells:
            found = {**_place(row.place), "metric": table.metric, **_numbers(cell), **_gain(cell.gain)}
            found["against"] = table.against if cell.gain is not None and table.has_gains else None
            yield {name: clean(found.get(name)) for name in COLUMNS}


def _place(place: Place) -> Row:
    return {
        "exp": place.exp,
        "model": place.model,
        "dataset_type": place.dataset_type,
        "set_name": place.set_name,
        "dataset": place.dataset,
    }


def _numbers(cell: TableCell) -> Row:
    is_best = cell.is_best if cell.rank is not None else None
    low, high = cell.interval or (None, None)
    return {
        "baseline": cell.baseline,
        "value": cell.value,
        "low": low,
        "high": high,
        "n": cell.n,
        "users": cell.users,
        "why_no_interval": cell.why,
        "rank": cell.rank,
        "is_best": is_best,
    }


def _gain(gain: Gain | None) -> Row:
    if gain is None:
        return {}
    low, high = gain.interval or (None, None)
    return {
        "gain": gain.value,
        "gain_low": low,
        "gain_high": high,
        "gain_p": gain.p,
        "gain_p_adjusted": gain.p_adjusted,
        "gain_n": gain.n,
        "gain_users": gain.users,
        "gain_of_summaries": gain.of_summaries,
        "gain_verdict": gain.verdict,
        "gain_why": gain.why,
    }
