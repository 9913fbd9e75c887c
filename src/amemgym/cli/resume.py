"""`amemgym resume`: continue a run from its directory alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from amemgym import api
from amemgym.cli.evolve import show_evolution
from amemgym.cli.progress import ProgressBars
from amemgym.cli.run import show, showing
from amemgym.evaluate.claimed import kind_of
from amemgym.evolution import EVOLUTION
from amemgym.evolving import resume_evolution


def resume_command(
    directory: Annotated[Path, typer.Argument(help="the run's directory")],
    concurrency: Annotated[int | None, typer.Option(help="calls under way at once")] = None,
    timeout: Annotated[float | None, typer.Option(help="seconds without an answer after which a call failed")] = None,
    attempts: Annotated[int | None, typer.Option(help="tries of a call where trying again can help")] = None,
    report: Annotated[bool, typer.Option(help="write the report when the run ends")] = True,
) -> None:
    """Continue a run or an evolution: what is finished stays, what was interrupted is played on from its journal."""
    named = {"concurrency": concurrency, "timeout": timeout, "attempts": attempts}
    given = {name: value for name, value in named.items() if value is not None}
    if kind_of(directory) == EVOLUTION:
        with ProgressBars() as bars:
            evolved = resume_evolution(directory, watcher=bars, **given)
        show_evolution(evolved)
        return
    with showing(report), ProgressBars() as bars:
        outcome = api.resume(directory, watcher=bars, **given)
    show(outcome, report)
