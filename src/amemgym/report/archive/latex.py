"""A table of results as LaTeX: tabulars with booktabs' rules, to be put into a table of one's own.

Every name is escaped, so that it is text: it runs no command, ends no line and no cell, and opens no option.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amemgym.memorybench.comparing.comparison import ResultTable, TableCell
from amemgym.report.archive import layout
from amemgym.report.archive.layout import one_line
from amemgym.report.wording import NONE, interval, number, signed
from amemgym.scores.verdict import BETTER, WORSE

#: signs that mean something to LaTeX, and what shows them
_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    # after the end of a line these would open an option, or forbid a break
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    # doubled they would become another sign
    "-": "{-}",
    "'": "{'}",
    '"': r"\textquotedbl{}",
    "–": r"\textendash{}",
    "▲": r"$\uparrow$",
    "▼": r"$\downarrow$",
}
_MARKS = {BETTER: r" $\uparrow$", WORSE: r" $\downarrow$"}


def latex_table(table: ResultTable) -> str:
    """Values with the best in bold, gains where there are any, and standings; how to read them stands in comments."""
    return "\n".join(_lines(table)) + "\n"


def escaped(said: object) -> str:
    """Any text as one line of LaTeX that shows it."""
    return "".join(_SIGNS.get(sign, sign) for sign in one_line(said))


def _lines(table: ResultTable) -> Iterator[str]:
    words = len(table.words)
    header = list(map(escaped, layout.header(table)))
    yield r"% needs \usepackage{booktabs} and \usepackage[T1]{fontenc}; names in other scripts need LuaLaTeX or XeLaTeX"
    yield from (f"% {one_line(said)}" for said in (layout.title(table), *layout.remarks(table)))
    rows = [
        [*map(escaped, table.named(row.place)), *map(_value, row.cells), _plain(layout.row_n(row))]
        for row in table.rows
    ]
    yield from _tabular([*header, "$n$"], rows, words)
    if table.has_gains and (gaining := layout.gaining(table)):
        rows = [
            [
                *map(escaped, table.named(row.place)),
                *(_gain(row.cell(name)) for name in gaining),
                _plain(layout.gain_n(row)),
            ]
            for row in table.rows
        ]
        yield ""
        yield f"% gain over {one_line(table.against)}, with 95% intervals"
        yield from _tabular([*header[:words], *map(escaped, gaining), "$n$"], rows, words)
    if standings := [[escaped(name), *map(_plain, numbers)] for name, *numbers in layout.standings(table)]:
        yield ""
        yield "% over all rows"
        yield from _tabular(layout.STANDINGS, standings, 1)


def _tabular(header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> Iterator[str]:
    yield rf"\begin{{tabular}}{{{'l' * words}{'r' * (len(header) - words)}}}"
    yield r"\toprule"
    yield " & ".join(header) + r" \\"
    yield r"\midrule"
    yield from (" & ".join(row) + r" \\" for row in rows)
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _value(cell: TableCell) -> str:
    if cell.value is None:
        return _plain(NONE)
    shown, half = _math(number(cell.value)), layout.half(cell, r" \pm ").replace(" [", r"\ [").replace("−", "-")
    return rf"$\mathbf{{{shown}}}{half}$" if cell.is_best else f"${shown}{half}$"


def _gain(cell: TableCell) -> str:
    gain = cell.gain
    if gain is None or gain.value is None:
        return _plain(NONE)
    around = "" if gain.interval is None else f" ${_math(interval(gain.interval))}$"
    return f"${_math(signed(gain.value))}${around}{_MARKS.get(gain.verdict or '', '')}"


def _math(shown: str) -> str:
    """A number in math mode, where a hyphen is a minus."""
    return shown.replace("−", "-")


def _plain(number: str) -> str:
    return number.replace("–", r"\textendash{}")
