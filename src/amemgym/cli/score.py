"""`amemgym score`: score what is finished in a run directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from amemgym import api
from amemgym.cli.run import show
from amemgym.evaluate import RunDirectory


def score_command(directory: Annotated[Path, typer.Argument(help="the run's directory")]) -> None:
    """Score the finished part of a run, print the table and write scores.json anew. Needs no data and no model."""
    report = api.score(directory, write=False)
    show(report, report=False)
    RunDirectory(directory).write_scores(report.scores)  # last, so that the table is there where it cannot be written
