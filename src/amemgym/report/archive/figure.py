"""A table of results as a picture: a heat map in which each row has a colour scale of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amemgym.errors import UsageError
from amemgym.memorybench.comparing.comparison import Place, ResultTable, TableCell
from amemgym.report.archive import layout
from amemgym.report.ink import INK, LINE, QUIET, check_figures, drawn, footnote, plain, width_of
from amemgym.report.wording import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: more rows than a picture can show
MOST = 250
#: from the lowest to the highest of a row, one hue that gets darker: the colour-blind see it as everybody does, and
#: dark ink stays readable on all of it
LIGHT, DARK = (0.965, 0.978, 0.992), (0.42, 0.66, 0.87)
#: inches of a cell; of one with an interval below its value
ROW, COLUMN = 0.27, 0.72
WITH_INTERVALS = 0.36
#: inches of a line of the footnote
LINE_OF_NOTE = 0.125


def heat_map(table: ResultTable, format: str) -> bytes:
    """The figure as png or svg. Raises UsageError where there are too many rows, or where matplotlib is not
    installed."""
    check_figures()
    if len(table.rows) > MOST:
        raise UsageError(
            f"a figure of {len(table.rows)} rows cannot be read (at most {MOST}); choose some with --models or --sets"
        )
    return drawn(lambda figure: _draw(figure, table), format)


def _draw(figure: Figure, table: ResultTable) -> None:
    """In units of cells: columns to the right, rows downward."""
    names = [_named(table, row.place) for row in table.rows]
    high = WITH_INTERVALS if table.has_intervals else ROW
    columns, rows = len(table.baselines), len(table.rows)
    beside = (max(map(width_of, names), default=0) + 0.1) / COLUMN
    counts = [layout.row_n(row) for row in table.rows]
    n_width = max(map(width_of, counts), default=0) * 6.5 / 7.5 / COLUMN + 0.4
    above = max((width_of(plain(name)) for name in table.baselines), default=0) * 0.6 / high + 0.9 * ROW / high
    of = "data set" if table.by_dataset else "set"
    title = f"{plain(table.metric)} of each memory system, by model and {of}"
    # few columns are drawn wider, so that the title has room; its letters are larger than those that are measured
    width, told = max((beside + columns + n_width) * COLUMN, width_of(title) * 10.5 / 7.5) + 0.3, _told(table)
    # the title above and the footnote below stand beside the axes' own height
    figure.set_size_inches(width, (above + max(rows, 1)) * high + 0.5 + LINE_OF_NOTE * (len(told) / width / 20 + 1))
    axes = figure.subplots()
    for at, (row, name) in enumerate(zip(table.rows, names, strict=True)):
        axes.text(-0.1, at + 0.5, name, ha="right", va="center", fontsize=7.5)
        for column, (cell, share) in enumerate(zip(row.cells, layout.heat(row), strict=True)):
            _cell(axes, column, at, cell, share)
        axes.text(columns + n_width - 0.1, at + 0.5, counts[at], ha="right", va="center", fontsize=6.5, color=QUIET)
    for column, name in enumerate(table.baselines):
        axes.text(column + 0.45, -0.2, plain(name), ha="left", va="bottom", rotation=40, fontsize=7.5)
    axes.text(columns + n_width - 0.1, -0.2, "n", ha="right", va="bottom", fontsize=6.5, color=QUIET)
    axes.set(xlim=(-beside, columns + n_width), ylim=(max(rows, 1), -above))
    axes.axis("off")
    axes.set_title(title)
    footnote(figure, told)


def _told(table: ResultTable) -> str:
    said = [next(layout.reading(table)), "Colour: from the row's lowest value to its highest"]
    said += ["In a frame: the row's best"] if table.better else []
    said += [f"± or [low, high]: 95% interval, {layout.sampled(table)}"] if table.has_intervals else []
    said += ["Values of different rows are scaled by different statistics"] if layout.is_scaled(table) else []
    return " ".join(f"{one.rstrip('.')}." for one in (*said, *table.warnings))


def _cell(axes: Axes, x: int, y: int, cell: TableCell, share: float | None) -> None:
    from matplotlib.patches import Rectangle

    if share is None:
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor="white", edgecolor=LINE, hatch="////", lw=0))
    else:
        colour = tuple(low + share * (high - low) for low, high in zip(LIGHT, DARK, strict=True))
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", lw=1.2))
    if cell.is_best:
        axes.add_patch(Rectangle((x + 0.04, y + 0.07), 0.92, 0.86, fill=False, edgecolor=INK, lw=1))
    weight, half = "bold" if cell.is_best else "normal", layout.half(cell, "±")
    at = 0.36 if half else 0.5
    axes.text(x + 0.5, y + at, number(cell.value), ha="center", va="center", fontsize=7.5, weight=weight, color=INK)
    if half:
        axes.text(
            x + 0.5, y + 0.74, half, ha="center", va="center", fontsize=4.8 if half.startswith("[") else 5.5, color=INK
        )


def _named(table: ResultTable, place: Place) -> str:
    return "  ".join(plain(word) for word in table.named(place))
