"""`amemgym memorybench verify`: whether an archive's summaries come out of its sums and items, and why one does not."""

from __future__ import annotations

from typing import Annotated

import typer

from amemgym.cli.console import Output
from amemgym.cli.memorybench.source import (
    Baselines,
    Choose,
    DatasetType,
    Exp,
    Models,
    Sets,
    check_given,
    chosen,
    metrics_of,
)
from amemgym.cli.report import show_paths


def verify_command(
    archives: Annotated[
        list[str],
        typer.Argument(
            help="archives, read as one: folders, or hub:OWNER/NAME[@REVISION] on Hugging Face (hub: the published"
            " one); or files of a summary over several baselines",
            metavar="ARCHIVE…",
            show_default=False,
        ),
    ],
    normalization: Annotated[
        str | None,
        typer.Option(help="statistics (default: those in the archive's folder or its configs/)", metavar="FILE"),
    ] = None,
    item_metric: Annotated[
        str | None,
        typer.Option(help="the items' metric, for all data sets or as DATASET=NAME,…", metavar="NAME"),
    ] = None,
    exp: Exp = None,
    models: Models = None,
    dataset_type: DatasetType = None,
    sets: Sets = None,
    baselines: Baselines = None,
    tolerance: Annotated[float, typer.Option(help="what counts as the same number", min=0)] = 1e-9,
    replies: Annotated[bool, typer.Option("--replies", help="also look for replies that are an error's words")] = False,
    json: Annotated[
        str | None, typer.Option("--json", help="also write all of it to this file", metavar="FILE")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="end with 1 where a number differs, or none could be checked")
    ] = False,
    choose: Choose = "latest",
) -> None:
    """Recompute every summary, and list the numbers that differ with their cause.

    Causes are tried, not guessed: one is named where the published number comes out under it. Ends with 0 also where
    numbers differ, unless --strict is given.
    """
    from amemgym.memorybench import verify
    from amemgym.report.archive.verification import print_verification, write_verification

    check_given(normalization=normalization, json=json)
    made = verify(
        archives,
        normalization,
        metrics=metrics_of(item_metric, "--item-metric"),
        tolerance=tolerance,
        replies=replies,
        **chosen(exp, models, dataset_type, sets, baselines),
        choose=choose,
    )
    print_verification(Output(), made)
    if json is not None:
        show_paths([write_verification(made, json)])
    if strict and not (made.ok and made.numbers):
        raise typer.Exit(1)
