"""`amemgym memorybench table`: memory systems beside each other, over models and sets."""

from __future__ import annotations

from typing import Annotated

import typer

from amemgym.cli.console import Output
from amemgym.cli.memorybench.problems import show_problems
from amemgym.cli.memorybench.source import (
    Archives,
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
from amemgym.errors import UsageError


def table_command(
    archives: Archives,
    metric: Annotated[
        str | None,
        typer.Option(
            help="a summary's metric [weighted_average, else accuracy; own_mean by data set]", show_default=False
        ),
    ] = None,
    exp: Exp = None,
    models: Models = None,
    dataset_type: DatasetType = None,
    sets: Sets = None,
    baselines: Baselines = None,
    by_dataset: Annotated[bool, typer.Option("--by-dataset", help="a row for each data set")] = False,
    gains: Annotated[
        bool, typer.Option("--gains", help="read the items: intervals of the values, and gains with intervals")
    ] = False,
    against: Annotated[
        str | None, typer.Option(help="the memory system that gains are over [wo_memory]", metavar="NAME")
    ] = None,
    normalization: Annotated[
        str | None, typer.Option(help="statistics for --gains (default: the archive's own)", metavar="FILE")
    ] = None,
    item_metric: Annotated[
        str | None,
        typer.Option(help="the items' metric for --gains, for all data sets or as DATASET=NAME,…", metavar="NAME"),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(help="text, md, latex, csv, json; html: a page; png, svg: a heat map (default: as --out ends)"),
    ] = None,
    out: Annotated[str | None, typer.Option(help="the file (default: printed; html, png, svg: in this folder)")] = None,
    choose: Choose = "latest",
) -> None:
    """Compare memory systems: a row for each model and set, a column for each system.

    The best of a row is marked, what is missing is a dash. Problems of the archive are told on standard error.
    """
    from amemgym.memorybench import compare, open_results
    from amemgym.report.archive import (
        FIGURES,
        TEXTS,
        check_result_table,
        format_of,
        print_result_table,
        result_table_text,
        write_result_table,
    )

    check_given(metric=metric, format=format, out=out)
    of_items = {"against": against, "normalization": normalization, "item_metric": item_metric}
    check_given(**of_items)
    if not gains and (given := [f"--{name.replace('_', '-')}" for name, text in of_items.items() if text is not None]):
        raise UsageError(f"{given[0]} goes with --gains, which reads the items; add --gains, or leave {given[0]} out")
    wanted = chosen(exp, models, dataset_type, sets, baselines)
    kind = format or format_of(out) or "text"
    check_result_table(kind, out, named=format is not None)
    results = open_results(archives, choose)
    table = compare(
        results,
        metric,
        **wanted,
        by_dataset=by_dataset,
        normalization=normalization,
        metrics=metrics_of(item_metric, "--item-metric"),
        intervals=gains,
        against=against,
    )
    if out is not None or kind not in TEXTS:
        archive = results.repo_id if results.local_root is None else results.local_root.resolve()
        show_paths([write_result_table(table, kind, out, archive)])
    elif kind == "text":
        print_result_table(Output(), table)
    else:
        typer.echo(result_table_text(table, kind), nl=False)
    if table.has_gains and kind in FIGURES:
        typer.echo(
            "note: the figure has the values with their intervals and no gains; text, md or html has them", err=True
        )
    show_problems(results, table.notes if out is None and kind == "text" else ())
