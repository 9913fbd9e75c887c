"""`amemgym merge`: the shards of one run as the run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from amemgym.cli.progress import ProgressBars
from amemgym.cli.run import show
from amemgym.merging import merge


def merge_command(
    directories: Annotated[list[Path], typer.Argument(help="the shards' run directories", metavar="DIR…")],
    out: Annotated[
        Path | None, typer.Option(help="run directory (default: where the run would be if it were not sharded)")
    ] = None,
    report: Annotated[bool, typer.Option(help="write the report")] = True,
) -> None:
    """Bring the shards of one run together (run --shard i/n), score the whole and print the table."""
    with ProgressBars() as bars:
        merged = merge(directories, out=out, watcher=bars)
    show(merged, report)
