"""A table of results as GitHub-flavoured Markdown; names are escaped, and make no cell and no markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amemgym.memorybench.comparing.comparison import ResultTable, TableCell
from amemgym.report.archive import layout
from amemgym.report.archive.layout import one_line
from amemgym.report.markdown import text
from amemgym.report.wording import NONE, interval, number, signed


def markdown_table(table: ResultTable) -> str:
    """Values with the best in bold, gains where there are any, standings, and how to read them."""
    return "\n\n".join(_parts(table)) + "\n"


def _parts(table: ResultTable) -> Iterator[str]:
    words = len(table.words)
    header = list(map(_text, layout.header(table)))
    rows = [[*map(_text, table.named(row.place)), *map(_value, row.cells), layout.row_n(row)] for row in table.rows]
    yield f"**{_text(layout.title(table))}**"
    yield _table([*header, "n"], rows, words)
    if table.has_gains and (gaining := layout.gaining(table)):
        rows = [
            [*map(_text, table.named(row.place)), *(_gain(row.cell(name)) for name in gaining), layout.gain_n(row)]
            for row in table.rows
        ]
        yield f"**Gain over {_text(table.against)}** [95% interval]"
        yield _table([*header[:words], *map(_text, gaining), "n"], rows, words)
    if standings := [[_text(name), *numbers] for name, *numbers in layout.standings(table)]:
        yield "**Over all rows**"
        yield _table(layout.STANDINGS, standings, 1)
    yield "\n".join(f"- {_text(remark)}" for remark in layout.remarks(table))


def _text(said: object) -> str:
    return text(one_line(said))


def _value(cell: TableCell) -> str:
    shown = _ascii(number(cell.value)) + _ascii(layout.half(cell, " ±"))
    return f"**{shown}**" if cell.is_best else shown


def _gain(cell: TableCell) -> str:
    if cell.gain is None or cell.gain.value is None:
        return NONE
    around = "" if cell.gain.interval is None else f" {interval(cell.gain.interval)}"
    return f"{_ascii(signed(cell.gain.value) + around)} {layout.mark(cell.gain)}".rstrip()


def _ascii(shown: str) -> str:
    """With the minus that other programs read."""
    return shown.replace("−", "-")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
    rule = ["---" if at < words else "---:" for at in range(len(header))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])
