"""Where a report goes, in which format, and what must be there before it is made."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.errors import RunDirectoryError, UnknownName, UsageError
from amemgym.evaluate import RunDirectory
from amemgym.report.figures import draw_figures
from amemgym.report.ink import check_figures
from amemgym.report.markdown import markdown_report
from amemgym.report.rows import check_parquet, rows, write_csv, write_parquet
from amemgym.secrets import redact

#: the formats of a report, and what each is called in the run's directory
REPORTS = {
    "html": "report.html",
    "md": "report.md",
    "csv": "results.csv",
    "parquet": "results.parquet",
    "png": "figures",
    "svg": "figures",
}
#: formats of several files in a folder
FOLDERS = ("png", "svg")
#: formats that can be of some users alone
OF_USERS = ("html", "csv", "parquet")
_CHECKS: Mapping[str, Callable[[], None]] = {"parquet": check_parquet, "png": check_figures, "svg": check_figures}


def check_report(format: str, out: str | Path | None, users: Sequence[str] | None) -> None:
    """Raises UsageError where the format is none, cannot be had here, or does not go with the rest."""
    if format not in REPORTS:
        raise UnknownName("format", format, REPORTS)
    if users and format not in OF_USERS:
        raise UsageError(f"--user goes with {', '.join(OF_USERS)}; {format} is about all users")
    check_out(format, out, REPORTS, several=format in FOLDERS)
    if format in _CHECKS:
        _CHECKS[format]()


def check_out(format: str, out: str | Path | None, formats: Collection[str], several: bool = False) -> None:
    """Raises UsageError where the name of the file says another format, or where it should name a folder."""
    ending = "" if out is None or is_folder(out) else Path(out).suffix[1:].lower()
    if ending not in formats:
        return
    if several:
        raise UsageError(f"--out {out}: {format} writes several figures, so --out names the folder for them")
    if ending != format:
        raise UsageError(f"--out {out} ends in .{ending}, but the format is {format}; add --format {ending}")


def place_of(out: str | Path | None, directory: Path, name: str) -> Path:
    """Where a file goes: to `out`, into it where that is a folder, or into the run's directory."""
    if out is None:
        return directory / name
    path = files.at_home(out)
    return path / name if is_folder(out) else path


def is_folder(out: str | Path) -> bool:
    """Whether it is one, or is written as one."""
    return str(out).endswith(("/", os.sep)) or files.at_home(out).is_dir()


def name_of(format: str, users: Sequence[str] | None) -> str:
    """What a report is called in the run's directory; one of some users alone does not take the whole one's place."""
    name = Path(REPORTS[format])
    return f"{name.stem}-{files.slug(' '.join(sorted(set(users))))}{name.suffix}" if users else name.name


def write_files(
    place: RunDirectory, scores: Mapping[str, Any], format: str, out: str | Path | None, users: Sequence[str] | None
) -> list[Path]:
    """Make the report and write it, each file whole or not at all; returns the files. Raises AMemGymError."""
    if format in FOLDERS:
        folder = place.path / REPORTS[format] if out is None else files.at_home(out)
        figures = draw_figures(scores, format)
        if not figures:
            raise RunDirectoryError(f"{place.path} has no exam with an answer, so there is nothing to draw")
        for name, data in figures.items():
            files.write_bytes_atomically(folder / f"{name}.{format}", data)
        return [folder / f"{name}.{format}" for name in figures]
    path = place_of(out, place.path, name_of(format, users))
    if format == "csv":
        write_csv(path, rows(place, users))
    elif format == "parquet":
        write_parquet(path, rows(place, users))
    elif format == "md":
        files.write_atomically(path, markdown_report(scores, place.manifest()))
    else:
        from amemgym.report.html import html_report

        files.write_atomically(path, redact(html_report(place, scores, users)))
    return [path]
