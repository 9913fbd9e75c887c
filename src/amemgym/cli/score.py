"""`amemgym score`: score what is finished in a run directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from amemgym import api
from amemgym.cli.run import field_help, show
from amemgym.evaluate import RunDirectory


def score_command(
    directory: Annotated[Path, typer.Argument(help="the run's directory")],
    prices: Annotated[str | None, typer.Option(help=field_help("prices"), metavar="FILE")] = None,
) -> None:
    """Score the finished part of a run, print the table and write scores.json anew. Needs no data and no model."""
    report = api.score(directory, prices=prices, write=False)
    show(report, report=False)
    place = RunDirectory(directory)  # written last, so that the table is there where it cannot be
    if prices is not None:
        place.write_prices(report.scores["cost"]["prices"])
    place.write_scores(report.scores)
