"""What recomputing summaries found, in the terminal: numbers that differ, and what could not be checked or is odd."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from amemgym import files
from amemgym.clean import clean
from amemgym.memorybench.verifying.verification import Difference, Remark, Verification, plural
from amemgym.report.archive.layout import one_line
from amemgym.report.archive.terminal import table_of
from amemgym.report.table import print_whole
from amemgym.report.wording import NONE

HEADER = ("cell", "number", "from", "cause", "published", "recomputed", "difference")
#: of how many cells' numbers the terminal shows; the file has all
ROWS = 100
#: how many cells a remark about several names
_NAMED = 3


def print_verification(console: Console, made: Verification) -> None:
    """Print the differences, at least so wide that nothing is cut off, then what else must be known."""
    rows = _rows(made.differences)
    if rows:
        print_whole(console, table_of(HEADER, rows[:ROWS], 4))
        if len(rows) > ROWS:
            _say(console, f"  and {len(rows) - ROWS} more rows; --json FILE has every number", "dim")
    _say(console, verdict(made), "bold")
    for title, remarks, style in (("not checked", made.unchecked, ""), ("warning", made.warnings, "yellow")):
        for line in together(remarks):
            _say(console, f"  {title}: {line}", style)
    for note in made.notes:
        _say(console, f"  note: {note}", "dim")


def verdict(made: Verification) -> str:
    """The outcome in a sentence."""
    if not made.numbers:
        return "no number could be checked"
    whole = f"{plural({'cell': made.cells, 'number': made.numbers})} recomputed to {made.tolerance:g}"
    if made.ok:
        return f"{whole}: all come out"
    explained = sum(one.explained for one in made.differences)
    differing = plural({"number": len(made.differences)})
    return f"{whole}: {differing} in {plural({'cell': len(made.differing)})} differ, {explained} of them explained"


def together(remarks: Sequence[Remark]) -> list[str]:
    """Remarks as lines, the same one about several cells once."""
    found: dict[str, list[str]] = {}
    for remark in remarks:
        found.setdefault(remark.text, []).extend([] if remark.cell is None else [str(remark.cell)])
    lines = []
    for text, cells in found.items():
        more = f" and {len(cells) - _NAMED} more" if len(cells) > _NAMED else ""
        lines.append(f"{', '.join(cells[:_NAMED])}{more}: {text}" if cells else text)
    return lines


def _rows(differences: Sequence[Difference]) -> list[tuple[str, ...]]:
    """A row for each of a set's metrics, and for the numbers of a data set that one cause explains together."""
    found: dict[tuple[object, ...], list[Difference]] = {}
    for one in differences:
        number = one.metric if one.dataset is None else ""
        found.setdefault((one.cell, one.dataset, number, one.source, one.cause), []).append(one)
    rows = []
    for of in sorted(found.values(), key=lambda of: (str(of[0].cell), of[0].dataset is not None)):
        first = of[0]
        more = f" and {len(of) - 1} more" if len(of) > 1 else ""
        name = " ".join(filter(None, (first.dataset, first.metric))) + more
        numbers = (_shown(value) for value in (first.published, first.recomputed, first.difference))
        rows.append((str(first.cell), name, first.source, first.cause, *numbers))
    return rows


def _shown(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:.6f}" if value == 0 or 1e-4 <= abs(value) < 1e6 else f"{value:.3g}"


def _say(console: Console, text: str, style: str = "") -> None:
    indent = "  " if text.startswith(" ") else ""
    console.print(indent + escape(one_line(text)), style=style, highlight=False, soft_wrap=True)


def write_verification(made: Verification, out: str | Path) -> Path:
    """Write everything found as JSON, whole or not at all; returns the file. Raises StorageError."""
    path = files.at_home(out)
    files.write_atomically(path, files.pretty_json(clean(made.as_dict())))
    return path
