"""A table of results as a page of its own: a heat map row by row, gains with their intervals, and how to read them."""

from __future__ import annotations

from amemgym.memorybench.comparison import ResultTable, TableRow
from amemgym.memorybench.entry import WITHOUT_MEMORY
from amemgym.report.archive import layout
from amemgym.report.page import render


def html_table(table: ResultTable) -> str:
    """The self-contained page, in HTML."""
    gaining = layout.gaining(table) if table.has_gains else []
    values = [
        (table.named(row.place), list(zip(row.cells, layout.heat(row), strict=True)), layout.row_n(row))
        for row in table.rows
    ]
    return render(
        "archive.html",
        table=table,
        title=layout.title(table),
        headings=[layout.HEADINGS[word] for word in table.words],
        values=values,
        gaining=gaining,
        gains=[(table.named(row.place), _gains(row, gaining), layout.gain_n(row)) for row in table.rows],
        reference=WITHOUT_MEMORY,
        standings_header=layout.STANDINGS,
        standings=layout.standings(table),
        reading=list(layout.reading(table)),
        models=len({row.place.model for row in table.rows}),
        sets=len({(row.place.dataset_type, row.place.set_name) for row in table.rows}),
        datasets=len({(row.place.dataset_type, row.place.set_name, row.place.dataset) for row in table.rows}),
        missing=sum(cell.value is None for row in table.rows for cell in row.cells),
        rank=layout.rank,
    )


def _gains(row: TableRow, gaining: list[str]) -> list[tuple[object, str]]:
    """Each gain with its sign."""
    gains = [row.cell(name).gain for name in gaining]
    return [(gain, layout.mark(gain)) for gain in gains]
