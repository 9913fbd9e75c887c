"""`amemgym memorybench show`: what an archive has, or one cell of it."""

from __future__ import annotations

from typing import Annotated

import typer

from amemgym.cli.console import Output
from amemgym.cli.memorybench.source import (
    Archives,
    Baselines,
    Choose,
    DatasetType,
    Exp,
    Models,
    Sets,
    chosen,
)
from amemgym.errors import DataError, UsageError


def show_command(
    archives: Archives,
    exp: Exp = None,
    models: Models = None,
    dataset_type: DatasetType = None,
    sets: Sets = None,
    baselines: Baselines = None,
    items: Annotated[
        int, typer.Option(min=0, help="of one cell, also its first items: prompt, reply, metrics", metavar="N")
    ] = 0,
    choose: Choose = "latest",
) -> None:
    """List what archives have: names, numbers of cells, metrics, missing cells, problems.

    With options that leave one cell, shows that cell: its files, scores, data sets and configuration.
    """
    from amemgym.memorybench import open_results
    from amemgym.memorybench.comparing.contents import contents
    from amemgym.report.archive import print_cell, print_contents

    wanted = chosen(exp, models, dataset_type, sets, baselines)
    results = open_results(archives, choose)
    cells = results.select(**wanted)
    if not cells:
        raise DataError("no results have all that was chosen; choose less")
    if len(cells) == 1:
        print_cell(Output(), results, cells[0], items)
    elif items:
        raise UsageError(
            f"--items shows the items of one cell, and {len(cells)} are chosen; name one with --models, --sets and"
            " --baselines (and --exp, --dataset-type where there are several)"
        )
    else:
        print_contents(Output(), results, contents(results, cells))
