"""A table of results in the terminal: values, gains where they were asked for, and who is best over all rows."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from amemgym.memorybench.comparing.comparison import ResultTable, TableCell
from amemgym.report.archive import layout
from amemgym.report.archive.layout import one_line
from amemgym.report.table import print_whole
from amemgym.report.wording import NONE


def print_result_table(console: Console, table: ResultTable) -> None:
    """Print it, at least so wide that nothing is cut off, and what must be known not to misread it."""
    console.print(escape(one_line(layout.title(table))), highlight=False, style="bold", soft_wrap=True)
    words = len(table.words)
    values = [[*table.named(row.place), *map(_value, row.cells), layout.row_n(row)] for row in table.rows]
    print_whole(console, table_of([*layout.header(table), "n"], values, words))
    if table.has_gains and (gaining := layout.gaining(table)):
        console.print(
            f"\ngain over {escape(one_line(table.against))} (± or \\[low, high]: 95% interval)",
            highlight=False,
            style="bold",
        )
        header = [*layout.header(table)[:words], *gaining, "n"]
        rows = [
            [*table.named(row.place), *(_gain(row.cell(name)) for name in gaining), layout.gain_n(row)]
            for row in table.rows
        ]
        print_whole(console, table_of(header, rows, words))
    if standings := layout.standings(table):
        console.print("\nover all rows", highlight=False, style="bold")
        print_whole(console, table_of(layout.STANDINGS, standings, 1))
    for remark in (*layout.brief(table), *table.notes):
        console.print(f"  {escape(one_line(remark))}", highlight=False, style="dim", soft_wrap=True)


def table_of(header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> Table:
    """A table whose first columns are words and the others numbers; nothing in it is markup."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for at, name in enumerate(header):
        made.add_column(escape(one_line(name)), no_wrap=True, justify="left" if at < words else "right")
    for row in rows:
        made.add_row(*(_styled(text, at >= words) for at, text in enumerate(row)))
    return made


def _styled(text: str, is_number: bool) -> str:
    if not is_number:
        return escape(one_line(text))
    return f"[bold]{text}[/bold]" if text.endswith("*") else escape(text)


def _value(cell: TableCell) -> str:
    """A star marks the best, also where nothing is bold; a space holds its place."""
    return f"{layout.around(cell.value, cell.interval)}{'*' if cell.is_best else ' '}"


def _gain(cell: TableCell) -> str:
    if cell.gain is None:
        return f"{NONE} "
    return f"{layout.around(cell.gain.value, cell.gain.interval, '+')} {layout.mark(cell.gain) or ' '}"
