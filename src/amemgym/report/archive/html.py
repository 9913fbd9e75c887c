"""A table of results as a page of its own: a heat map row by row, gains with their intervals, and how to read them."""

from __future__ import annotations

from amemgym.memorybench.comparing.comparison import ResultTable, TableRow
from amemgym.report.archive import layout
from amemgym.report.page import render
from amemgym.secrets import redact

#: characters of a column's name that need no break
SHORT = 10


def html_table(table: ResultTable) -> str:
    """The self-contained page, in HTML."""
    gaining = layout.gaining(table) if table.has_gains else []
    words = _spanned([table.named(row.place) for row in table.rows])
    values = [
        (spans, list(zip(row.cells, layout.heat(row), strict=True)), layout.row_n(row))
        for spans, row in zip(words, table.rows, strict=True)
    ]
    return render(
        "archive.html",
        table=table,
        title=layout.title(table),
        headings=[layout.HEADINGS[word] for word in table.words],
        values=values,
        columns=list(map(_parts, table.baselines)),
        gaining=list(map(_parts, gaining)),
        gains=[(spans, _gains(row, gaining), layout.gain_n(row)) for spans, row in zip(words, table.rows, strict=True)],
        reference=table.against,
        standings_header=layout.STANDINGS,
        standings=layout.standings(table),
        reading=list(layout.reading(table)),
        models=len({row.place.model for row in table.rows}),
        sets=len({(row.place.dataset_type, row.place.set_name) for row in table.rows}),
        datasets=len({(row.place.dataset_type, row.place.set_name, row.place.dataset) for row in table.rows}),
        missing=sum(cell.value is None for row in table.rows for cell in row.cells),
        rank=layout.rank,
        half=layout.half,
    )


def _parts(name: str) -> list[str]:
    """A long name in the parts between which it may be broken. Keys are struck out before they are in parts."""
    whole = redact(name)
    return whole.split("_") if len(whole) > SHORT else [whole]


def _gains(row: TableRow, gaining: list[str]) -> list[tuple[object, str]]:
    """Each gain with its sign."""
    gains = [row.cell(name).gain for name in gaining]
    return [(gain, layout.mark(gain)) for gain in gains]


def _spanned(rows: list[tuple[str, ...]]) -> list[list[tuple[str, int]]]:
    """Each row's words with the number of rows that a word stands for; a word that stands above is left out. The last
    one always stands for itself."""
    made: list[list[tuple[str, int]]] = []
    for at, words in enumerate(rows):
        found = []
        for place, word in enumerate(words):
            last = place == len(words) - 1
            if not last and at and rows[at - 1][: place + 1] == words[: place + 1]:
                continue
            span = 1
            while not last and rows[at + span : at + span + 1] and rows[at + span][: place + 1] == words[: place + 1]:
                span += 1
            found.append((word, span))
        made.append(found)
    return made
