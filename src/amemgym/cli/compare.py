"""`amemgym compare`: two runs over the same exams, agent by agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from amemgym import api
from amemgym.cli.console import Output
from amemgym.cli.report import show_paths
from amemgym.report.comparison import check_comparison, print_comparison, write_comparison


def compare_command(
    on: Annotated[
        Path, typer.Argument(help="a run's directory, such as one of conversations of their own", metavar="ON")
    ],
    off: Annotated[Path, typer.Argument(help="the other run's, such as one with --off-policy ON", metavar="OFF")],
    out: Annotated[str | None, typer.Option(help="the file (default: in OFF)")] = None,
    format: Annotated[str, typer.Option(help="html: a page; png or svg: the slope chart alone")] = "html",
) -> None:
    """Compare two runs over the same data: each agent's scores in both, the change, and its rank in each.

    Prints the table and writes a page. Says what reused conversations change, or another model.
    """
    check_comparison(format, out)
    comparison = api.compare(on, off)
    print_comparison(Output(), comparison)
    show_paths([write_comparison(comparison, off, format, out)])
