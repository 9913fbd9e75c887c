"""`amemgym resume`: continue a run from its directory alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from amemgym import api
from amemgym.cli.evolve import show_evolution
from amemgym.cli.progress import ProgressBars
from amemgym.cli.run import field_help, show, showing
from amemgym.evaluate import FREE_SETTINGS
from amemgym.evaluate.claimed import kind_of
from amemgym.evolution import EVOLUTION
from amemgym.evolving import resume_evolution


def resume_command(
    directory: Annotated[Path, typer.Argument(help="the run's directory")],
    concurrency: Annotated[int | None, typer.Option(help=field_help("concurrency"))] = None,
    timeout: Annotated[float | None, typer.Option(help=field_help("timeout"))] = None,
    attempts: Annotated[int | None, typer.Option(help=field_help("attempts"))] = None,
    rpm: Annotated[int | None, typer.Option(help=field_help("rpm"))] = None,
    tpm: Annotated[int | None, typer.Option(help=field_help("tpm"))] = None,
    episode_timeout: Annotated[float | None, typer.Option(help=field_help("episode_timeout"))] = None,
    budget: Annotated[str | None, typer.Option(help=field_help("budget"), metavar="USD|TOKENS")] = None,
    prices: Annotated[str | None, typer.Option(help=field_help("prices"), metavar="FILE")] = None,
    executor: Annotated[str | None, typer.Option(help=field_help("executor"))] = None,
    workers: Annotated[int | None, typer.Option(help=field_help("workers"))] = None,
    report: Annotated[bool, typer.Option(help="write the report when the run ends")] = True,
) -> None:
    """Continue a run or an evolution: what is finished stays, what was interrupted is played on from its journal."""
    given = {name: value for name, value in locals().items() if name in FREE_SETTINGS and value is not None}
    if kind_of(directory) == EVOLUTION:
        with ProgressBars() as bars:
            evolved = resume_evolution(directory, watcher=bars, **given)
        show_evolution(evolved)
        return
    with showing(report), ProgressBars() as bars:
        outcome = api.resume(directory, watcher=bars, **given)
    show(outcome, report)
