"""`amemgym report`: the report of a run, for people or for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from amemgym import api
from amemgym.cli.console import Output
from amemgym.evaluate import RunWatcher
from amemgym.secrets import redact


class Remarks(RunWatcher):
    """Prints remarks to standard error."""

    def said(self, sentence: str) -> None:
        Console(stderr=True, highlight=False).print(f"note: {redact(sentence)}", markup=False, soft_wrap=True)


def report_command(
    directory: Annotated[Path, typer.Argument(help="the run's directory")],
    format: Annotated[
        str, typer.Option(help="html or md: a report; csv or parquet: one row an exam; png or svg: figures")
    ] = "html",
    out: Annotated[
        str | None, typer.Option(help="the file, or for figures the folder (default: in the run's directory)")
    ] = None,
    user: Annotated[
        list[str] | None,
        typer.Option(
            help="only this user, by id (html, csv, parquet; may be repeated); to a file of its own", metavar="ID"
        ),
    ] = None,
) -> None:
    """Write a report of what is finished in a run, or of an evolution, and print where. Needs no data and no model."""
    written = api.write_report(directory, format, out, user or None, watcher=Remarks())
    show_paths(written)


def show_paths(paths: list[Path]) -> None:
    """Print each path on a line of its own."""
    for path in paths:
        Output().print(str(path), markup=False, highlight=False, soft_wrap=True)
