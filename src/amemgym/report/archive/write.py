"""In which formats a table of results can be had, and where the file goes."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from amemgym import files
from amemgym.clean import clean
from amemgym.errors import UnknownName, UsageError
from amemgym.memorybench.comparing.comparison import ResultTable
from amemgym.report.archive.csv import csv_table
from amemgym.report.archive.figure import heat_map
from amemgym.report.archive.html import html_table
from amemgym.report.archive.latex import latex_table
from amemgym.report.archive.markdown import markdown_table
from amemgym.report.archive.terminal import print_result_table
from amemgym.report.ink import check_figures
from amemgym.report.write import is_folder, place_of
from amemgym.secrets import redact


def _json(table: ResultTable) -> str:
    return files.pretty_json(clean(table.as_dict()))


def _text(table: ResultTable) -> str:
    file = io.StringIO()
    print_result_table(Console(file=file, width=80), table)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


_TEXTS: Mapping[str, Callable[[ResultTable], str]] = {
    "text": _text,
    "md": markdown_table,
    "latex": latex_table,
    "csv": csv_table,
    "json": _json,
    "html": html_table,
}
#: formats that are figures
FIGURES = ("png", "svg")
FORMATS = (*_TEXTS, *FIGURES)
#: formats that can be printed
TEXTS = ("text", "md", "latex", "csv", "json")
#: how a file's name ends
_ENDINGS = {"text": "txt", "latex": "tex"}
_FORMATS = {_ENDINGS.get(format, format): format for format in FORMATS} | {"htm": "html", "markdown": "md"}


def result_table_text(table: ResultTable, format: str = "md") -> str:
    """The table as text, md, latex, csv, json or html. Raises UnknownName for another format."""
    if format not in _TEXTS:
        raise UnknownName("format", format, _TEXTS)
    return redact(_TEXTS[format](table))


def write_result_table(
    table: ResultTable, format: str | None = None, out: str | Path | None = None, archive: str | Path | None = None
) -> Path:
    """Write the table, whole or not at all, to `out`, else into the working folder, under a name that has the archive's
    (`archive` is where that is, so that no two take each other's place); returns the file. Without a format, the file's
    name says it. Raises UsageError and StorageError."""
    named = format is not None
    format = format or format_of(out) or "html"
    check_result_table(format, out, named=named)
    path = place_of(out, Path(), f"{_name(archive)}.{_ENDINGS.get(format, format)}")
    if format in FIGURES:
        files.write_bytes_atomically(path, heat_map(table, format))
    else:
        files.write_atomically(path, result_table_text(table, format))
    return path


def _name(archive: str | Path | None) -> str:
    if archive is None:
        return "memorybench-table"
    whole = str(archive)
    # the readable part is the last of its path, the hash is of all of it
    readable = files.slug(Path(whole).name).rpartition("-")[0]
    return "-".join(filter(None, ("memorybench-table", readable, files.slug(whole)[-8:])))


def format_of(out: str | Path | None) -> str | None:
    """The format that a file's name says, None where it says none."""
    return None if out is None or is_folder(out) else _FORMATS.get(Path(out).suffix[1:].lower())


def check_result_table(format: str, out: str | Path | None = None, *, named: bool = True) -> None:
    """Raises UsageError where the format is none, cannot be had here, or the file's name says another; where nobody has
    named it, also where the name has an ending that is no format's."""
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    said = format_of(out)
    if said is None and not named and out is not None and not is_folder(out) and (ending := Path(out).suffix[1:]):
        hint = f"--out {out} ends in .{ending}; with --format, a file's name may end as it likes."
        raise UnknownName("format", ending, FORMATS, hint)
    if said not in (None, format):
        raise UsageError(
            f"--out {out} ends in {Path(str(out)).suffix}, but the format is {format}; add --format {said}"
        )
    if format in FIGURES:
        check_figures()
