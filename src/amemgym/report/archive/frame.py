"""A table of results as a data frame of pandas; what is missing is NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amemgym.clean import clean
from amemgym.errors import UsageError
from amemgym.memorybench.comparing.comparison import ResultTable
from amemgym.report.archive.long import COLUMNS, long_rows

if TYPE_CHECKING:
    from pandas import DataFrame


def result_frame(table: ResultTable, long: bool = False) -> DataFrame:
    """One row a row of the table, with the values in a column for each memory system (columns model, dataset_type and
    set_name before them); or, with `long`, one row a cell with every number.

    Raises UsageError where pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise UsageError("data frames need pandas; install it with: pip install 'amemgym[pandas]'") from None
    if not long:
        names = [*table.words, *table.baselines]
        # by position, as a memory system may have the name of a column
        wide = pandas.DataFrame(
            [[*map(clean, table.named(row.place)), *(cell.value for cell in row.cells)] for row in table.rows],
            columns=range(len(names)),
        )
        wide = wide.astype({at: "float64" for at in range(len(table.words), len(names))})
        wide.columns = pandas.Index(list(map(clean, names)))
        return wide
    kinds = {str: "object", float: "float64", int: "Int64", bool: "boolean"}
    rows = list(long_rows(table))
    return pandas.DataFrame(
        {name: pandas.Series([row[name] for row in rows], dtype=kinds[kind]) for name, kind in COLUMNS.items()}
    )
