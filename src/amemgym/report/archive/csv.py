"""A table of results as CSV, one row a cell: UTF-8 and RFC 4180, and no name is a formula to a spreadsheet."""

from __future__ import annotations

from amemgym.memorybench.comparing.comparison import ResultTable
from amemgym.report.archive.long import COLUMNS, long_rows
from amemgym.report.rows import csv_cell


def csv_table(table: ResultTable) -> str:
    lines = [",".join(COLUMNS), *(",".join(map(csv_cell, row.values())) for row in long_rows(table))]
    return "".join(f"{line}\r\n" for line in lines)
